package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.RoleName;
import dev.polis.fixtures.Await;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.plugins.HistoryRequest;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.plugins.StageHeader;
import dev.polis.wire.plugins.StageRequest;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapRequest;
import io.grpc.stub.BlockingClientCall;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;

/**
 * Orders, as the owner of a node that is HOME, swaps of its leaf organs through its swap engine,
 * and a role from a bundle that is no module of this project.
 */
@ContainerTest
public class OwnerContainerTest {
  private static final int MANAGEMENT_PORT = 7839;
  private static final List<String> LEAVES = List.of("management", "debug", "metrics");

  private static final RoleName ROLE = new RoleName("NightlyBackup");

  private static final ContainedNode node = new ContainedNode();

  /** The next versions of the organs, with their manifests. */
  private static final Map<String, Path> versions = new HashMap<>();

  private static final Map<String, DistributionManifest> manifests = new HashMap<>();

  /** Creates a cluster of one node, with a plugin store as the launcher makes it. */
  @BeforeAll
  public static void bringHome() throws Exception {
    node.create();
    List<String> digests = new ArrayList<>();
    for (String organ : LEAVES) {
      Path file = OtherVersion.file(ContainedNode.bundle(organ));
      DistributionManifest manifest =
          DistributionManifest.of(
              PluginPacker.describe(
                  file, PackOptions.providing(List.of(new Provided.Organ(organ)))));
      versions.put(organ, file);
      manifests.put(organ, manifest);
      digests.add(manifest.digest().hex());
    }
    seed();
    Bundles.configure(
        "dev.polis.plugins",
        Map.of(
            "store",
            node.plugins().toString(),
            "healthy.ms",
            250L,
            "distribution",
            digests.toArray(String[]::new)));
    for (String organ : LEAVES) {
      ContainedNode.bundle(organ).start();
    }
  }

  private static void seed() throws Exception {
    Path distribution = Path.of(System.getProperty("polis.distribution"));
    Path list = distribution.resolve("bundles.list");
    PluginStore store = PluginStore.open(node.plugins());
    List<StoredPlugin> plugins = new ArrayList<>();
    for (String line : Files.readAllLines(list)) {
      String[] words = line.split(" ", 4);
      StoredPlugin plugin = new StoredPlugin(words[0], words[1], new Digest(words[2]));
      store.put(plugin, distribution.resolve("bundles").resolve(words[3]));
      plugins.add(plugin);
    }
    store.commit(Digest.of(list), plugins);
  }

  /** Ends the node. */
  @AfterAll
  public static void powerOff() throws Exception {
    for (String organ : LEAVES) {
      ContainedNode.bundle(organ).stop();
    }
    node.powerOff();
  }

  @Test
  @DisplayName("management, debug and metrics are swapped under calls, and none of the calls fails")
  public void leavesAreSwapped() throws Exception {
    Queue<String> failed = new ConcurrentLinkedQueue<>();
    AtomicLong calls = new AtomicLong();
    try (OwnerSession session = node.session(MANAGEMENT_PORT)) {
      awaitAnswer(session);
      Thread caller = Thread.ofVirtual().name("caller").start(() -> call(session, calls, failed));
      try {
        for (String organ : LEAVES) {
          SwapProgress end = swap(session, organ);
          assertEquals(SwapProgress.Outcome.OUTCOME_APPLIED, end.getOutcome(), end::getText);
          Bundle bundle = ContainedNode.bundle(organ);
          assertEquals(Bundle.ACTIVE, bundle.getState(), organ);
          assertEquals(1, bundle.getVersion().getMicro(), organ);
        }
      } finally {
        caller.interrupt();
        caller.join();
      }
      assertEquals(List.of(), List.copyOf(failed));
      assertTrue(calls.get() > LEAVES.size(), "few calls: " + calls);
      List<String> outcomes =
          PluginsGrpc.newBlockingV2Stub(session.channel())
              .history(HistoryRequest.getDefaultInstance())
              .getSwapsList()
              .stream()
              .map(swap -> swap.getOutcome())
              .toList();
      assertEquals(List.of("applied", "applied", "applied"), outcomes);
    }
    node.awaitHome("after the swaps");
  }

  private static void awaitAnswer(OwnerSession session) throws Exception {
    Await.until(
        Bundles.PATIENCE,
        "the health service to answer",
        () -> {
          health(session);
          return true;
        });
  }

  private static void call(OwnerSession session, AtomicLong calls, Queue<String> failed) {
    while (!Thread.currentThread().isInterrupted()) {
      try {
        health(session);
        calls.incrementAndGet();
        LockSupport.parkNanos(NodeLoad.PAUSE);
      } catch (InterruptedException end) {
        return;
      } catch (Exception e) {
        if (Thread.currentThread().isInterrupted()) {
          return;
        }
        failed.add(e.toString());
      }
    }
  }

  private static void health(OwnerSession session) throws Exception {
    HealthGrpc.newBlockingV2Stub(session.channel())
        .withWaitForReady()
        .withDeadlineAfter(Bundles.PATIENCE.toSeconds(), TimeUnit.SECONDS)
        .getHealth(GetHealthRequest.getDefaultInstance());
  }

  /** Stages the next version of an organ and swaps it in; returns the outcome. */
  private static SwapProgress swap(OwnerSession session, String organ) throws Exception {
    PluginsGrpc.PluginsBlockingV2Stub plugins =
        PluginsGrpc.newBlockingV2Stub(session.channel())
            .withDeadlineAfter(Bundles.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    byte[] content = Files.readAllBytes(versions.get(organ));
    String digest = Digest.of(content).hex();
    var stage = plugins.stage();
    stage.write(
        StageRequest.newBuilder()
            .setHeader(
                StageHeader.newBuilder()
                    .setDigest(digest)
                    .setSize(content.length)
                    .setManifest(manifests.get(organ).encode()))
            .setData(ByteString.copyFrom(content))
            .build());
    stage.halfClose();
    assertTrue(stage.read().getComplete(), organ + " was not staged whole");
    BlockingClientCall<?, SwapProgress> swap =
        plugins.swap(SwapRequest.newBuilder().setDigest(digest).build());
    SwapProgress last = swap.read();
    while (last.getOutcome() == SwapProgress.Outcome.OUTCOME_NONE) {
      last = swap.read();
    }
    return last;
  }

  @Test
  @DisplayName(
      "an outside role runs when the record names it, its program outlives its code, and it ends when it is removed")
  public void aRoleFromOutside() throws Exception {
    Path made = OutsideBundle.make("example-role");
    Bundle bundle = Bundles.context().installBundle(made.toUri().toString());
    bundle.start();
    assertTrue(child().isEmpty(), "it runs although the record does not name it");

    node.changeRole(ROLE, true);
    awaitRunning(true);
    // The record exists before the program starts.
    Await.until(
        Bundles.PATIENCE,
        "its program to run",
        () -> child().filter(record -> alive(record.pid())).isPresent());
    Path folder = node.data().resolve("nightly-backup");
    assertEquals("rwx------", permissions(folder));
    assertEquals("started\n", Files.readString(folder.resolve("journal.txt")));
    long pid = child().orElseThrow().pid();

    bundle.stop();
    assertEquals("CODE_REPLACED\n", Files.readString(folder.resolve("journal.txt")));
    assertTrue(alive(pid), () -> "its program " + pid + " ended with its code");
    bundle.start();
    awaitRunning(true);
    assertEquals(pid, child().orElseThrow().pid(), "its program was not adopted");

    node.changeRole(ROLE, false);
    awaitRunning(false);
    Await.until(Bundles.PATIENCE, "its program to end with the role", () -> !alive(pid));
    Await.until(Bundles.PATIENCE, "its record to be deleted", () -> child().isEmpty());
    // The plugin ends after its program; its folder stays.
    Await.until(
        Bundles.PATIENCE,
        "the plugin to note why it was stopped",
        () -> Files.readString(folder.resolve("journal.txt")).equals("ROLE_REMOVED\n"));
    bundle.uninstall();
  }

  private static String permissions(Path folder) throws Exception {
    return java.nio.file.attribute.PosixFilePermissions.toString(
        Files.getPosixFilePermissions(folder));
  }

  private static void awaitRunning(boolean wanted) throws Exception {
    Await.until(
        Bundles.PATIENCE,
        ROLE + (wanted ? " to run" : " to have ended"),
        () ->
            Bundles.ask(
                LocalRoleServer.class,
                server -> server.running().peek().orElseThrow().contains(ROLE) == wanted));
  }

  private static Optional<ProcessRecord> child() throws Exception {
    return Bundles.ask(
        ProcessManager.class,
        manager ->
            manager.records().stream()
                .filter(record -> record.name().equals("nightly-backup"))
                .findFirst());
  }

  private static boolean alive(long pid) {
    return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
  }
}
