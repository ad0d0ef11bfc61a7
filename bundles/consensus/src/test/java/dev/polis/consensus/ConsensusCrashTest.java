package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.base.boot.Wait;
import dev.polis.base.values.Watcher;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.process.Child;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Interrupts the bootstrap of a member, and starts it again on the same disk. */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
class ConsensusCrashTest {

  private static final byte[] BAR = "bar".getBytes(StandardCharsets.UTF_8);

  private ConsensusHarness harness;

  @BeforeEach
  void open() throws IOException {
    harness = new ConsensusHarness();
  }

  @AfterEach
  void close() throws Exception {
    harness.close();
  }

  /** Names the steps of a bootstrap in their order. */
  private enum Step {
    RECORD_WRITTEN,
    KEYS_WRITTEN,
    ETCD_STARTED,
    ETCD_READY,
    USERS_MADE,
    AUTHORITY_STORED
  }

  /** Names the part that a crash stops. */
  private enum Crash {
    /** The node's process ends; etcd keeps running. */
    NODE,
    /** The whole machine stops, and etcd with it. */
    MACHINE
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({
    "RECORD_WRITTEN, NODE",
    "KEYS_WRITTEN, NODE",
    "ETCD_STARTED, NODE",
    "ETCD_STARTED, MACHINE",
    "ETCD_READY, NODE",
    "ETCD_READY, MACHINE",
    "USERS_MADE, NODE",
    "USERS_MADE, MACHINE",
    "AUTHORITY_STORED, NODE",
    "AUTHORITY_STORED, MACHINE"
  })
  @DisplayName(
      "a bootstrap that was cut off after any step continues, and is finished after the next start")
  void goesOnAfterAStep(Step last, Crash crash) throws Exception {
    try (ProcessManager.OpenManager processes =
        ProcessManager.open(harness.root.ephemeral().processes().path(), harness.logs)) {
      runUpTo(last, harness.parts(processes));
      lose(crash, processes);
    }

    assertFinishes();
  }

  /** Runs the steps of a bootstrap in order, and stops after the given one. */
  private void runUpTo(Step last, MemberParts parts) throws Exception {
    ConsensusDisk disk = new ConsensusDisk(parts.files());
    disk.allowNew(harness.identity.node());
    if (last == Step.RECORD_WRITTEN) {
      return;
    }
    PreparedMember member =
        new MemberPreparation(parts, harness.identity, () -> disk.allowNew(harness.identity.node()))
            .prepare(harness.address);
    if (last == Step.KEYS_WRITTEN) {
      return;
    }
    try (Wait wait = parts.boot().waiting("etcd");
        Child etcd = EtcdProcess.start(parts, member, wait)) {
      if (last == Step.ETCD_STARTED) {
        return;
      }
      etcd.awaitReady(parts.settings().ready());
      if (last == Step.ETCD_READY) {
        return;
      }
      try (EtcdClient root = EtcdClient.connect(member.rootAccess())) {
        new EtcdAuthSetup(root.admin()).ensure();
        if (last == Step.AUTHORITY_STORED) {
          new EtcdAuthority(root).ensure(member.pki());
        }
      }
    }
  }

  @ParameterizedTest(name = "while it waits for {0}: {1}")
  @CsvSource({
    "its turn, NODE",
    "keys and data on the disk, NODE",
    "etcd to answer at, NODE",
    "users and roles in etcd, NODE",
    "etcd to answer at, MACHINE",
    "users and roles in etcd, MACHINE"
  })
  @DisplayName(
      "a bootstrap whose instance is stopped in the middle is finished after the next start")
  void goesOnInTheMiddle(String waitingFor, Crash crash) throws Exception {
    Instance dying = harness.instance();
    try (Watcher<ConsensusStatus> status = dying.consensus.status().watch()) {
      dying.consensus.startNew(harness.identity);
      // A watcher may skip a short-lived status; then the crash comes a little later.
      status.get(
          now ->
              !(now instanceof ConsensusStatus.Starting(String awaited))
                  || awaited.startsWith(waitingFor)
                  || awaited.startsWith("users and roles"),
          ConsensusHarness.PATIENCE);
      lose(crash, dying.processes);
    }

    assertFinishes();
  }

  @Test
  @DisplayName("an etcd that is killed while it is set up is started again, and the member serves")
  void etcdEndsInTheMiddle() throws Exception {
    Instance instance = harness.instance();
    try (Watcher<ConsensusStatus> status = instance.consensus.status().watch()) {
      instance.consensus.startNew(harness.identity);
      status.get(
          now ->
              now instanceof ConsensusStatus.Starting(String awaited)
                  && awaited.startsWith("users and roles"),
          ConsensusHarness.PATIENCE);
      kill(instance.processes);
      ConsensusStatus end =
          status.get(
              now ->
                  now instanceof ConsensusStatus.Running || now instanceof ConsensusStatus.Failed,
              ConsensusHarness.PATIENCE);
      assertInstanceOf(ConsensusStatus.Running.class, end, end::text);
    }
  }

  private static void kill(ProcessManager processes) {
    processes.records().stream()
        .filter(ProcessRecord::alive)
        .forEach(record -> ConsensusHarness.kill(record.pid()));
  }

  private static void lose(Crash crash, ProcessManager processes) throws Exception {
    if (crash == Crash.MACHINE) {
      kill(processes);
      // Otherwise the next start could adopt the dying process.
      Await.until(
          ConsensusHarness.PATIENCE,
          "the end of etcd",
          () -> processes.records().stream().noneMatch(ProcessRecord::alive));
    }
  }

  /**
   * Starts twice more: the first start finishes the bootstrap, the second starts a finished member.
   */
  private void assertFinishes() throws Exception {
    ConsensusStatus.Running made = harness.instance().startNew();
    Instance second = harness.instance();
    assertEquals(made, second.startExisting());
    try (EtcdClient curator = EtcdClient.connect(second.consensus.access("curator"))) {
      curator.kv().put("/foo", BAR);
    }
    Instance third = harness.instance();
    third.startExisting();
    try (EtcdClient curator = EtcdClient.connect(third.consensus.access("curator"))) {
      assertArrayEquals(BAR, curator.kv().get("/foo").orElseThrow().value());
    }
    assertEquals(
        ConsensusRecord.Stage.MEMBER,
        ConsensusRecord.read(harness.files().member()).orThrow().stage());
  }
}
