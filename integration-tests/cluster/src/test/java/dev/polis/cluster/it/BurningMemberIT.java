package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.wire.api.Node.Health;
import io.grpc.Status;
import io.grpc.StatusException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Makes the calls that cost a real node the most time, as a member, more at once than the node has
 * processors.
 */
@Tag("full")
@Tag("longer")
class BurningMemberIT {
  private static final String ADDRESS = "127.0.83.1";
  private static final int CALLERS = 2 * Runtime.getRuntime().availableProcessors();
  private static final Duration BURNING = Duration.ofSeconds(2);
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** A check of the audit log took 5 s on a busy machine, so this is patience, not a promise. */
  private static final Duration FIRST_ANSWER = Duration.ofMinutes(1);

  /** Longer than polisctl's own 15 s, so that a slow answer is measured. */
  private static final String TIMEOUT = "--timeout=60";

  /**
   * The size of each audit log; in the long form the most that a node keeps beside its current
   * file, in the short one enough for answers that take a processor for seconds.
   */
  private static final int AUDITED = Tier.pick(15, 15, 60) << 20;

  /** A tenth of the largest plugin, so that an upload ends within the measured time. */
  private static final int PLUGIN = 24 << 20;

  @TempDir Path directory;

  /** Repeats a call until it is closed, and counts the answers by their codes. */
  private static final class Load implements AutoCloseable {
    private final AtomicBoolean stop = new AtomicBoolean();
    private final Map<Status.Code, Integer> answers = new ConcurrentHashMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<?>> callers = new ArrayList<>();

    Load(Callable<?> call) {
      for (int i = 0; i < CALLERS; i++) {
        callers.add(threads.submit(() -> repeat(call)));
      }
    }

    private Void repeat(Callable<?> call) throws Exception {
      while (!stop.get()) {
        Status.Code code = Status.Code.OK;
        try {
          call.call();
        } catch (StatusException e) {
          code = e.getStatus().getCode();
        }
        answers.merge(code, 1, Integer::sum);
      }
      return null;
    }

    Map<Status.Code, Integer> answers() {
      return new TreeMap<>(answers);
    }

    @Override
    public void close() {
      stop.set(true);
      threads.close();
      for (Future<?> caller : callers) {
        assertEquals(Future.State.SUCCESS, caller.state(), () -> "" + caller.exceptionNow());
      }
    }
  }

  /**
   * Returns a filter that passes all checks before its evaluation, and then takes the whole time
   * limit.
   */
  private static String filter() {
    return "['"
        + "a".repeat(7800)
        + "'].all(x, "
        + "!(x + x).contains(x + 'b') && ".repeat(80)
        + "true)";
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "polisctl answers within 2 s, memory stays bounded, heartbeats live and polis down ends while a member makes twice as many expensive calls as there are processors")
  void health() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("n"), ADDRESS)) {
      node.up();
      node.ctl("health", "--wait=60").requireSuccess("health");
      fillAuditLog(node);
      fillKubernetesAuditLog(node);
      byte[] plugin = new byte[PLUGIN];
      String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(plugin));
      byte[] manifest = new byte[256 << 10];
      try (OwnerApi owner = OwnerApi.of(node)) {
        Map<String, Callable<?>> calls = new LinkedHashMap<>();
        calls.put("plugin graph", owner.plugins()::graph);
        calls.put("audit verify", owner::verifyAudit);
        calls.put("audit read", done(() -> owner.readAudit(Long.MAX_VALUE)));
        calls.put("Kubernetes' audit", done(() -> owner.readKubernetesAudit(Integer.MAX_VALUE)));
        calls.put("log filters", done(owner::fatalLines));
        calls.put("wanted manifest", () -> owner.want(manifest));
        calls.put("plugin upload", () -> owner.plugins().stage(digest, plugin, manifest));
        calls.put("filters", () -> owner.filter(filter()));
        for (String what : Slice.of(List.copyOf(calls.keySet()), 2)) {
          burn(node, owner, what, calls.get(what));
        }
        try (Load _ = new Load(() -> owner.filter(filter()))) {
          Finished down = node.down();
          assertEquals(0, down.code(), down::all);
          assertEquals(0, node.awaitEnd());
        }
      }
    }
  }

  /** Makes a call of what has no result. */
  private static Callable<Void> done(Executable call) {
    return () -> {
      try {
        call.execute();
      } catch (StatusException answered) {
        throw answered;
      } catch (Throwable failed) {
        throw new AssertionError("a call failed outside of gRPC", failed);
      }
      return null;
    };
  }

  private static void burn(TestNode node, OwnerApi owner, String what, Callable<?> call)
      throws Exception {
    String id = node.id();
    List<Duration> answers = new ArrayList<>();
    long before = StrangerFloodIT.residentKib(node.jvmPid());
    long most = before;
    MachineSpeed speed = MachineSpeed.measure();
    try (Load load = new Load(call)) {
      long began = System.nanoTime();
      while (System.nanoTime() - began < BURNING.toNanos()
          || load.answers().isEmpty() && System.nanoTime() - began < FIRST_ANSWER.toNanos()) {
        answers.add(answer(node, "health", TIMEOUT));
        answers.add(answer(node, "node", "list", TIMEOUT));
        most = Math.max(most, StrangerFloodIT.residentKib(node.jvmPid()));
        assertEquals(Health.HEALTH_HEALTHY, owner.node(id).getHealth(), what);
      }
      Collections.sort(answers);
      System.out.printf(
          "%s: %d callers got %s; of %d answers of polisctl p50 %d ms, slowest %d ms; node %d KiB before, %d KiB at most%n",
          what,
          CALLERS,
          load.answers(),
          answers.size(),
          answers.get(answers.size() / 2).toMillis(),
          answers.getLast().toMillis(),
          before,
          most);
      assertTrue(!load.answers().isEmpty(), "no call of " + what + " was answered");
    }
    speed.assertWithin("polisctl answered", PROMISED, answers.getLast());
    most = Math.max(most, StrangerFloodIT.residentKib(node.jvmPid()));
    assertTrue(most < StrangerFloodIT.RESIDENT_KIB, "the node took %d KiB".formatted(most));
  }

  private static Duration answer(TestNode node, String... command) {
    long began = System.nanoTime();
    Finished answer = node.ctl(command);
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    assertEquals(0, answer.code(), answer::all);
    return took;
  }

  /** Gives the node the largest audit log that an API server leaves. */
  private static void fillKubernetesAuditLog(TestNode node) throws Exception {
    Path folder = Files.createDirectories(node.state().resolve("data/kubernetes-audit"));
    String lines = "{\"kind\": \"Event\"}\n".repeat(1 << 10);
    Files.writeString(folder.resolve("audit.log"), lines.repeat(AUDITED / lines.length()));
  }

  /** Adds an older file of another chain, which the check only notices after reading all of it. */
  private static void fillAuditLog(TestNode node) throws Exception {
    Path folder = node.state().resolve("data/audit");
    String written = Files.readString(folder.resolve("audit-000001.log"));
    Files.writeString(
        folder.resolve("audit-000000.log"), written.repeat(AUDITED / written.length()));
  }
}
