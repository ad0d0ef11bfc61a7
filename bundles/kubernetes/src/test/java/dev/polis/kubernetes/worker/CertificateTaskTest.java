package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.Isolation;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.pki.Renewal;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Issues and renews a worker's certificates through a curator that refuses at times. */
class CertificateTaskTest {

  private static final Duration SOON = Duration.ofSeconds(20);
  private static final String NOT_RENEWED = "worker-certificates-not-renewed";

  @TempDir Path directory;

  private final IssuingCurator curator = new IssuingCurator();
  private final SupervisionTree tree = SupervisionTree.open(curator.logs);
  private final Subtree subtree = tree.organ("test");
  private final MutableValue<WorkerCredentials> credentials = new MutableValue<>();
  private final Conditions health = new Conditions();

  /** Keeps the conditions that stand. */
  private static final class Conditions implements HealthScope {
    private final Map<String, HealthCondition> standing = new ConcurrentHashMap<>();

    @Override
    public void set(HealthCondition condition) {
      standing.put(condition.code(), condition);
    }

    @Override
    public void clear(String code) {
      standing.remove(code);
    }

    @Override
    public void close() {
      standing.clear();
    }
  }

  @AfterEach
  void close() {
    tree.close();
    curator.close();
  }

  private WorkerFixture worker() throws Exception {
    return new WorkerFixture(directory, "127.0.3.1", Isolation.NAMESPACES, 36);
  }

  private void run(LeaderConnection connection, WorkerFixture worker, Instant now) {
    InstantSource clock = () -> now;
    subtree.run(
        "certificates",
        new CertificateTask(connection, worker.plan, worker.files, health, credentials, clock)
            ::run);
  }

  @Test
  @DisplayName(
      "a refused renewal that is due raises worker-certificates-not-renewed, until it succeeds")
  void notRenewed() throws Exception {
    WorkerFixture worker = worker();
    WorkerCertificates first = issued(worker);
    Instant due = Renewal.of(first.kubeletServer()).dueAt();
    curator.refuse(true);
    try (LeaderConnection connection = curator.connect()) {
      run(connection, worker, due);
      Await.until(SOON, "the condition", () -> health.standing.containsKey(NOT_RENEWED));
      HealthCondition condition = health.standing.get(NOT_RENEWED);
      assertTrue(condition.toString().contains("this test refuses"), condition.toString());
      assertTrue(condition.toString().contains(first.firstEnd().toString()), condition.toString());
      assertEquals(Map.of(NOT_RENEWED, condition), Map.copyOf(health.standing));
      assertEquals(first, credentials.peek().orElseThrow().certificates(), "the good ones stay");

      curator.refuse(false);
      Await.until(SOON, "the condition to be cleared", health.standing::isEmpty);
      Await.until(
          SOON,
          "the renewed certificates",
          () -> !credentials.peek().orElseThrow().certificates().equals(first));
      assertEquals(
          credentials.peek().orElseThrow().certificates(),
          WorkerCertificates.read(worker.files).orElseThrow());
    }
  }

  @Test
  @DisplayName("a refused first issue raises no-worker-certificates, and nothing is published")
  void noCertificates() throws Exception {
    curator.refuse(true);
    try (LeaderConnection connection = curator.connect()) {
      run(connection, worker(), Instant.now());
      Await.until(
          SOON, "the condition", () -> health.standing.containsKey("no-worker-certificates"));
      assertTrue(credentials.peek().isEmpty());
      curator.refuse(false);
      Await.until(SOON, "the certificates", () -> credentials.peek().isPresent());
      assertEquals(Map.of(), Map.copyOf(health.standing));
    }
  }

  /** Issues certificates in one run of the task. */
  private WorkerCertificates issued(WorkerFixture worker) throws Exception {
    SupervisionTree own = SupervisionTree.open(curator.logs);
    MutableValue<WorkerCredentials> taken = new MutableValue<>();
    try (LeaderConnection connection = curator.connect()) {
      own.organ("before")
          .run(
              "certificates",
              new CertificateTask(
                      connection, worker.plan, worker.files, health, taken, InstantSource.system())
                  ::run);
      Await.until(SOON, "the first certificates", () -> taken.peek().isPresent());
      return taken.peek().orElseThrow().certificates();
    } finally {
      own.close();
    }
  }
}
