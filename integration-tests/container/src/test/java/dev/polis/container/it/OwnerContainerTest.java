package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
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
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;

/** Swaps leaf organs of a node that is HOME through its swap engine, by calls of the owner. */
@ContainerTest
public class EngineSwapContainerTest {
  private static final int MANAGEMENT_PORT = 7839;
  private static final List<String> LEAVES = List.of("management", "debug", "metrics");

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
            500L,
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
}
