package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.StopReason;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.files.FilePlacement;
import dev.polis.fixtures.Await;
import dev.polis.handover.HandOverTable;
import dev.polis.health.HealthTable;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.RunState;
import dev.polis.supervision.SupervisionTree;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EarlyStartTest {

  private ConsensusHarness harness;

  @BeforeEach
  void completeMember() throws Exception {
    harness = new ConsensusHarness();
    writeKey(harness);
    try (ConsensusHarness.Instance first = harness.instance()) {
      first.startNew();
      first.consensus.stop();
    }
  }

  private static void writeKey(ConsensusHarness node) throws Exception {
    FilePlacement key = node.root.data().node().credentials().key();
    Files.createDirectories(key.path().getParent());
    key.write(Pem.encode(node.identity.nodeKey()).getBytes(StandardCharsets.UTF_8));
  }

  @AfterEach
  void close() throws Exception {
    harness.close();
  }

  /** Holds an organ as the framework makes it, before a start of the member is requested. */
  private static final class Organ implements AutoCloseable {
    final ProcessManager.OpenManager processes;
    final SupervisionTree supervisor;
    final HealthTable health;
    final ConsensusService consensus;

    Organ(ConsensusHarness node) {
      processes = ProcessManager.open(node.root.ephemeral().processes().path(), node.logs);
      supervisor = SupervisionTree.open(node.logs);
      health = HealthTable.open(supervisor);
      consensus =
          HandOverTable.open(node.logs)
              .join(
                  "consensus",
                  predecessor ->
                      ConsensusService.start(
                          ConsensusHarness.settings(),
                          node.parts(processes, supervisor, health),
                          predecessor))
              .instance();
    }

    boolean etcdRuns() {
      return processes.find(EtcdProcess.NAME).isPresent();
    }

    void awaitEtcd() throws Exception {
      Await.until("etcd runs", this::etcdRuns);
    }

    void awaitEarlyStartDone() throws Exception {
      Await.until("the early start is done", () -> done("early-start"));
    }

    private boolean done(String name) {
      return supervisor.runnables().peek().orElseThrow().stream()
          .anyMatch(
              runnable -> runnable.dn().endsWith("." + name) && runnable.state() == RunState.DONE);
    }

    @Override
    public void close() {
      consensus.close(StopReason.CODE_REPLACED);
      health.close();
      supervisor.close();
      processes.close();
    }
  }

  @Test
  @DisplayName(
      "etcd of a complete member starts with the organ, and the requested start of the member adopts it")
  void startsEarly() throws Exception {
    try (Organ organ = new Organ(harness)) {
      organ.awaitEtcd();
      long pid = organ.processes.find(EtcdProcess.NAME).orElseThrow().pid();
      assertInstanceOf(
          ConsensusStatus.Stopped.class, organ.consensus.status().peek().orElseThrow());

      organ.consensus.startExisting(harness.identity);
      organ.consensus.awaitRunning(ConsensusHarness.PATIENCE);

      assertEquals(pid, organ.processes.find(EtcdProcess.NAME).orElseThrow().pid());
    }
  }

  @Test
  @DisplayName(
      "etcd starts when the volume is open, an address is there and the clock follows a time server, or is late, not before")
  void waitsForVolumeAndAddress() throws Exception {
    harness.data.set(new DataStatus.NotMounted("the key is not there yet"));
    harness.network.set(new NetworkStatus.Waiting("no lease yet"));
    harness.clock.set(new ClockStatus.Searching("asking 192.0.2.1", false));
    try (Organ organ = new Organ(harness)) {
      assertFalse(organ.etcdRuns());
      harness.network.set(new NetworkStatus.Up(harness.address));
      assertFalse(organ.etcdRuns());
      harness.data.set(new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory"));
      assertFalse(organ.etcdRuns());
      harness.clock.set(new ClockStatus.Searching("192.0.2.1 does not answer", true));
      organ.awaitEtcd();
    }
  }

  @Test
  @DisplayName("etcd is not started early beside the key of another node")
  void anotherKey() throws Exception {
    harness
        .root
        .data()
        .node()
        .credentials()
        .key()
        .write(Pem.encode(Ed25519.generate().getPrivate()).getBytes(StandardCharsets.UTF_8));
    try (Organ organ = new Organ(harness)) {
      organ.awaitEarlyStartDone();
      assertFalse(organ.etcdRuns(), "etcd was started under the key of another node");
    }
  }

  @Test
  @DisplayName("etcd is not started early on a bootstrap that was never finished")
  void bootstrapping() throws Exception {
    ConsensusRecord.bootstrapping(harness.identity.node().text()).write(harness.files().member());
    try (Organ organ = new Organ(harness)) {
      organ.awaitEarlyStartDone();
      assertFalse(organ.etcdRuns(), "etcd was started before its bootstrap was continued");
    }
  }

  @Test
  @DisplayName("a member that is stopped before its start is requested stays stopped")
  void stopped() throws Exception {
    harness.data.set(new DataStatus.NotMounted("the key is not there yet"));
    try (Organ organ = new Organ(harness)) {
      organ.consensus.stop();
      harness.data.set(new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory"));
      organ.awaitEarlyStartDone();
      assertFalse(organ.etcdRuns(), "etcd was started after the stop");
    }
  }

  @Test
  @DisplayName(
      "an original that starts early beside its copy ends its etcd, and names both addresses")
  void besideItsCopy() throws Exception {
    try (ConsensusHarness original = new ConsensusHarness();
        ConsensusHarness copied = new ConsensusHarness()) {
      writeKey(original);
      ConsensusHarness.Instance leader = harness.instance(ConsensusHarness.maintainedOften());
      leader.startExisting();
      String id =
          Joining.becomeVoter(
              leader, original, original.instance(ConsensusHarness.maintainedOften()));
      Joining.awaitRecorded(harness, original);
      Joining.awaitRecorded(original, harness);
      original.lose();
      original.copyTo(copied);
      ConsensusHarness.Instance copy = copied.instance();
      copy.consensus.startExisting(original.identity);
      assertEquals(id, copy.consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId());

      try (Organ early = new Organ(original)) {
        early.awaitEtcd();
        early.consensus.startExisting(original.identity);
        String told = "runs at " + copied.address.getHostAddress() + ":7833 already";
        Await.until(
            ConsensusHarness.PATIENCE,
            "the original to name its copy",
            () -> early.consensus.status().peek().orElseThrow().text().contains(told),
            () -> early.consensus.status().peek().orElseThrow().text());
        Await.until("its etcd to end", () -> !early.etcdRuns());
      }
    }
  }

  private EtcdClient root(ConsensusHarness.Instance instance) throws Exception {
    ConsensusPki pki = ConsensusPki.open(harness.files(), false, InstantSource.system());
    return EtcdClient.connect(
        EtcdAccess.tls(
            instance.consensus.access("curator").endpoints(), pki.user(ConsensusUser.ROOT)));
  }

  @Test
  @DisplayName("a user that an operator deleted is made again soon after the next start")
  void usersAreMadeAgain() throws Exception {
    try (ConsensusHarness.Instance second = harness.instance()) {
      second.startExisting();
      try (EtcdClient root = root(second)) {
        root.admin().deleteUser("kube-apiserver");
      }
    }
    try (ConsensusHarness.Instance third = harness.instance()) {
      third.startExisting();
      try (EtcdClient root = root(third)) {
        EtcdAdmin admin = root.admin();
        Await.until("the user is there again", () -> admin.users().contains("kube-apiserver"));
      }
    }
    assertTrue(
        ConsensusRecord.read(harness.files().member()).orThrow().users().contains("kube-apiserver"),
        "the record does not name the users");
  }
}
