package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUnavailableException;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.cluster.DisownedException;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.cluster.NodeParameterSource.Form;
import dev.polis.etcd.EtcdAccess;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Stored;
import dev.polis.fixtures.Await;
import dev.polis.handover.HandOverException;
import dev.polis.handover.OrganState;
import dev.polis.health.ClockRemedy;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.RecoveryKey;
import dev.polis.rpc.RpcRevocations;
import dev.polis.supervision.Context;
import dev.polis.supervision.RunState;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClusterServiceTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  /** Names the calls of a bootstrap to the organs, in order. */
  private static final List<String> BOOTSTRAP =
      List.of(
          "require",
          "journal STEP_KEYS_GENERATED",
          "mountNew",
          "publishLocalName",
          "journal STEP_VOLUME_CREATED",
          "startNew",
          "bootstrap",
          "journal STEP_COMMITTED",
          "journal STEP_CREDENTIALS_SAVED",
          "sealed",
          "journal STEP_DONE",
          "journal erased",
          "identify",
          "serve");

  @TempDir Path directory;

  private final LogTree logs = LogTree.create();
  private final Log log = logs.log("root.cluster.manager");
  private Path parameters;
  private Thread runner = new Thread();
  private volatile InstantSource clock = InstantSource.system();

  @BeforeEach
  void writeParameters() throws IOException {
    parameters = directory.resolve("given.pb");
    Files.write(
        parameters,
        NodeParameters.newBuilder()
            .setClusterBootstrap(
                ClusterBootstrap.newBuilder()
                    .setOwnerPublicKey(
                        ByteString.copyFrom(Ed25519.raw(Ed25519.generate().getPublic())))
                    .setInitialClusterConfiguration(
                        ClusterConfiguration.newBuilder()
                            .setClusterDomain("cluster.internal")
                            .setTpmMode(TPMMode.TPM_MODE_BEST_EFFORT)
                            .setStorageSecurityPolicy(
                                StorageSecurityPolicy.STORAGE_SECURITY_POLICY_PERMISSIVE)))
            .build()
            .toByteArray());
  }

  @AfterEach
  void stop() throws InterruptedException {
    runner.interrupt();
    runner.join(SOON.toMillis());
    assertFalse(runner.isAlive(), "the manager did not stop when interrupted");
  }

  private ClusterService start(RecordingOrgans recording) {
    return start(recording, SOON);
  }

  private ClusterService start(RecordingOrgans recording, Duration readyWithin) {
    ClusterService service = service(recording, readyWithin);
    run(service);
    return service;
  }

  private ClusterService service(RecordingOrgans recording, Duration readyWithin) {
    return service(recording, readyWithin, new RecoveryKeySource.None());
  }

  private ClusterService service(
      RecordingOrgans recording, Duration readyWithin, RecoveryKeySource recoveryKey) {
    EnrolmentOrgans organs = recording.organs(readyWithin);
    EnrolmentSteps steps = new EnrolmentSteps(organs.boot(), log);
    return new ClusterService(
        organs,
        new EnrolmentMachine(log),
        new NodeParametersLoader(
            List.of(new NodeParameterSource("command line", parameters, Form.BINARY, true)), log),
        new BootstrapFlow(organs, steps, new SecureRandom(), InstantSource.system()),
        new RegisterFlow(organs, steps, new SecureRandom(), InstantSource.system()),
        new JoinFlow(organs, steps, recoveryKey, clock),
        steps,
        OrganState.NONE);
  }

  /** Makes a second instance, which continues from the state that a first one handed over. */
  private ClusterService after(RecordingOrgans recording, OrganState taken) {
    EnrolmentOrgans organs = recording.organs(SOON);
    EnrolmentSteps steps = new EnrolmentSteps(organs.boot(), log);
    return new ClusterService(
        organs,
        new EnrolmentMachine(log),
        new NodeParametersLoader(List.of(), log),
        new BootstrapFlow(organs, steps, new SecureRandom(), InstantSource.system()),
        new RegisterFlow(organs, steps, new SecureRandom(), InstantSource.system()),
        new JoinFlow(organs, steps, new RecoveryKeySource.None(), clock),
        steps,
        taken);
  }

  @Test
  @DisplayName("a second manager is a member at once, calls no organ, and hands the state back")
  void handedOver() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    ClusterService first = start(recording);
    ClusterStatus home = awaitHome(first);
    Thread runnerOfFirst = runner;
    List<String> asked = List.copyOf(recording.calls);

    ClusterService second = after(recording, first.give());

    ClusterStatus taken = second.status().peek().orElseThrow();
    assertEquals(ClusterState.HOME, taken.state());
    assertEquals(home.credentials(), taken.credentials());
    assertEquals(ClusterState.HOME, second.awaitHome().state());
    run(second);
    recording.curatorStatus.set(new CuratorStatus.Campaigning("no quorum"));
    Await.value(
        second.status(), now -> now.state() == ClusterState.SPLIT, SOON, "the second to be SPLIT");
    assertEquals(ClusterState.HOME, first.status().peek().orElseThrow().state(), "it stays");
    assertEquals(asked, recording.calls);

    first.resume(second.give());
    assertEquals(ClusterState.SPLIT, first.status().peek().orElseThrow().state());
    recording.curatorStatus.set(new CuratorStatus.Leading(1));
    Await.value(
        first.status(), now -> now.state() == ClusterState.HOME, SOON, "the first to be HOME");
    assertEquals(ClusterState.SPLIT, second.status().peek().orElseThrow().state(), "it stays");
    assertEquals(asked, recording.calls);
    runnerOfFirst.interrupt();
    runnerOfFirst.join(SOON.toMillis());
  }

  @Test
  @DisplayName("an enrolment that is not finished is not handed over, and the refusal says why")
  void enrolmentIsNotHandedOver() {
    ClusterService service = service(new RecordingOrgans(directory, ""), SOON);
    String refusal = assertThrows(HandOverException.class, service::give).getMessage();
    assertTrue(refusal.contains("this node has not finished its enrolment"), refusal);
  }

  private void run(ClusterService service) {
    runner =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    service.run(new TestContext(log));
                  } catch (InterruptedException | EnrolmentException e) {
                    Thread.currentThread().interrupt();
                  }
                });
  }

  private static ClusterStatus awaitHome(ClusterService service) throws Exception {
    return CompletableFuture.supplyAsync(
            () -> {
              try {
                return service.awaitHome();
              } catch (InterruptedException e) {
                throw new AssertionError("the test was interrupted", e);
              }
            })
        .get(SOON.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  @DisplayName("SEED-05 the steps of a bootstrap come in their order")
  void seed05_order() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    ClusterService service = start(recording);
    assertEquals(ClusterState.HOME, awaitHome(service).state());
    assertEquals(BOOTSTRAP, recording.calls);
    Await.value(
        recording.homeSummary,
        summary -> summary.contains("is HOME"),
        SOON,
        "the launcher to receive HOME");
    assertTrue(recording.journal().isEmpty(), "the journal still holds the keys");
    assertTrue(recording.sealed().isPresent());
  }

  private void giveNetworkConfig() throws IOException {
    NodeParameters.Builder given =
        NodeParameters.parseFrom(Files.readAllBytes(parameters)).toBuilder();
    given
        .getNetworkConfigBuilder()
        .addInterfaceBuilder()
        .setName("eth0")
        .addAddress("192.0.2.7/24");
    Files.write(parameters, given.build().toByteArray());
  }

  @Test
  @DisplayName("a network_config is applied before all other steps")
  void networkConfigComesFirst() throws Exception {
    giveNetworkConfig();
    RecordingOrgans recording = new RecordingOrgans(directory, "");

    awaitHome(start(recording));

    assertEquals("configure", recording.calls.getFirst());
    assertEquals(BOOTSTRAP, recording.calls.subList(1, recording.calls.size()));
  }

  @Test
  @DisplayName(
      "the time servers of the parameters are taken first, and the enrolment waits until the clock follows one, or is late")
  void clockComesFirst() throws Exception {
    NodeParameters.Builder given =
        NodeParameters.parseFrom(Files.readAllBytes(parameters)).toBuilder();
    Files.write(parameters, given.addTimeServer("192.0.2.1").build().toByteArray());
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    recording.clock.set(new ClockStatus.Searching("asking 192.0.2.1", false));

    ClusterService service = start(recording);
    Await.until(SOON, "the wait", () -> recording.waits.contains("time server: asking 192.0.2.1"));
    assertEquals(List.of("keepClock"), recording.calls);
    recording.clock.set(
        new ClockStatus.Synchronised("192.0.2.1", Duration.ZERO, InstantSource.system().instant()));

    awaitHome(service);
    assertTrue(
        recording.waits.contains("time server: the clock follows 192.0.2.1"),
        recording.waits.toString());
    assertEquals(BOOTSTRAP, recording.calls.subList(1, recording.calls.size()));
  }

  @Test
  @DisplayName(
      "new parameters without time servers end those of earlier ones; a node whose time servers do not answer continues with the machine's own clock")
  void lateClock() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    recording.clock.set(new ClockStatus.Searching("192.0.2.1 does not answer", true));

    assertEquals(ClusterState.HOME, awaitHome(start(recording)).state());
    assertTrue(
        recording.waits.contains("time server: continues without one: 192.0.2.1 does not answer"),
        recording.waits.toString());
    assertEquals("keepClock", recording.calls.getFirst());
  }

  @Test
  @DisplayName(
      "a network_config that cannot be applied fails the enrolment before there is a key or a volume")
  void networkConfigIsNotIgnored() throws Exception {
    giveNetworkConfig();
    RecordingOrgans recording = new RecordingOrgans(directory, "configure");

    ClusterService service = start(recording);

    runner.join(SOON.toMillis());
    assertEquals(List.of("configure"), recording.calls);
    String message = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(message.contains("injected failure of configure"), message);
  }

  @ParameterizedTest
  @CsvSource({
    "require,                        enrolment journal",
    "journal STEP_KEYS_GENERATED,    enrolment journal: journal entry STEP_KEYS_GENERATED",
    "mountNew,                       data volume",
    "publishLocalName,               data volume",
    "journal STEP_VOLUME_CREATED,    journal entry STEP_VOLUME_CREATED",
    "startNew,                       consensus",
    "bootstrap,                      cluster records",
    "journal STEP_COMMITTED,         journal entry STEP_COMMITTED",
    "journal STEP_CREDENTIALS_SAVED, journal entry STEP_CREDENTIALS_SAVED",
    "sealed,                         sealed configuration",
    "journal STEP_DONE,              journal entry STEP_DONE",
    "journal erased,                 enrolment journal erased",
    "identify,                       listeners",
    "serve,                          curator"
  })
  @DisplayName("SEED-05 a failure at any step fails the manager, is named, and no step follows")
  void seed05_failures(String failing, String step) throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, failing);
    ClusterService service = start(recording);
    runner.join(SOON.toMillis());
    assertFalse(runner.isAlive(), "the manager still runs after the failure of " + failing);
    assertEquals(BOOTSTRAP.subList(0, BOOTSTRAP.indexOf(failing) + 1), recording.calls);
    String message = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    String reason = step + ": injected failure of " + failing;
    assertEquals("enrolment failed: " + reason, message);
    assertEquals(List.of("cluster: " + reason), recording.fatals);
    assertEquals(
        step.substring(step.lastIndexOf(": ") + 1).strip(),
        recording.lastBegun(),
        "another step was begun after the failure");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mountNew", "bootstrap", "identify", "serve"})
  @DisplayName("a manager that is stopped while its organs fail reports no fatal error")
  void stoppedOnItsWay(String failing) throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, failing);
    recording.beforeFailure = () -> Thread.currentThread().interrupt();
    start(recording);
    runner.join(SOON.toMillis());
    assertFalse(runner.isAlive(), "the manager still runs after it was stopped in " + failing);
    assertEquals(failing, recording.calls.getLast());
    assertEquals(List.of(), recording.fatals);
  }

  @Test
  @DisplayName("a manager whose subtree stops before the renewal starts reports no fatal error")
  void stoppedBeforeRenewal() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "nothing");
    try (SupervisionTree tree = SupervisionTree.open(logs)) {
      Subtree cluster = tree.organ("cluster");
      CompletableFuture<List<String>> refusing = new CompletableFuture<>();
      recording.onHome =
          () -> {
            Thread.ofVirtual()
                .start(() -> refusing.complete(cluster.close(StopReason.CODE_REPLACED)));
            awaitState(tree, RunState.STOPPING);
          };
      ClusterService service = service(recording, SOON);
      CountDownLatch managerEnded = new CountDownLatch(1);
      cluster.run(
          "manager",
          context -> {
            try {
              service.run(context);
            } finally {
              managerEnded.countDown();
            }
          });
      // This runnable starts last and so is cancelled first; the manager is cancelled after it
      // returns.
      cluster.run("last", context -> awaitAfterCancellation(context, managerEnded));

      assertEquals(List.of(), refusing.get(SOON.toSeconds(), TimeUnit.SECONDS));
    }
    assertEquals(List.of(), recording.fatals);
  }

  private static void awaitAfterCancellation(Context context, CountDownLatch end)
      throws InterruptedException {
    context.healthy();
    try {
      context.awaitCancelled();
    } finally {
      // Subtree.PATIENCE is 11 s: the stop ends in time although the manager waits to be cancelled.
      end.await(4, TimeUnit.SECONDS);
    }
  }

  private static void awaitState(SupervisionTree tree, RunState state) {
    try (Watcher<List<RunnableStatus>> watcher = tree.runnables().watch()) {
      watcher.get(
          runnables ->
              runnables.stream()
                  .anyMatch(
                      run -> run.dn().equals("root.cluster.manager") && run.state() == state));
    } catch (InterruptedException e) {
      // The stop has reached this runnable already.
      Thread.currentThread().interrupt();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mountNew",
        "publishLocalName",
        "journal STEP_VOLUME_CREATED",
        "startNew",
        "bootstrap",
        "journal STEP_COMMITTED",
        "journal STEP_CREDENTIALS_SAVED",
        "sealed",
        "journal STEP_DONE",
        "journal erased",
        "identify",
        "serve"
      })
  @DisplayName("D-09 a bootstrap that was interrupted anywhere ends with the same node")
  void d09_resumed(String interrupted) throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    RecordingOrgans broken = new RecordingOrgans(directory, interrupted);
    start(broken);
    runner.join(SOON.toMillis());
    recording.takeOver(broken);
    ClusterStatus home = awaitHome(start(recording));
    BootstrapRequest created = recording.requested == null ? broken.requested : recording.requested;
    NodeCredentials credentials = home.credentials().orElseThrow();
    assertEquals(created.nodeKey(), credentials.publicKey(), "the node has another key");
    assertEquals(created.id(), credentials.id());
    assertEquals(
        broken.volumeKeys.cluster(), created.clusterUnlockKey(), "the cluster holds another half");
    if (recording.volumeKeys != null) {
      assertEquals(broken.volumeKeys, recording.volumeKeys, "the volume was asked for anew");
    }
    if (broken.requested != null && recording.requested != null) {
      assertEquals(broken.requested, recording.requested, "another cluster was asked for");
    }
    SealedConfiguration sealed = recording.sealed().orElseThrow();
    assertEquals(broken.volumeKeys.node(), sealed.nodeUnlockKey(), "the volume cannot be opened");
    assertEquals(credentials.ca(), sealed.clusterCa(), "the node cannot come back without its CA");
    assertTrue(recording.journal().isEmpty(), "the journal still holds the keys");
    assertEquals(List.of(), repeated(broken, recording), "journaled twice");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @DisplayName(
      "D-09 a member whose sealed configuration cannot be read is not enrolled again, even with parameters")
  void d09_damagedConfiguration(boolean corrupted) throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    Path file = recording.root().esp().sealedConfiguration().path();
    recording.sealedReading =
        corrupted
            ? new Stored.Corrupted<>(file, "the checksum does not match the content")
            : new Stored.Unreadable<>(
                file,
                "bad sector",
                new FileException(Problem.IO, "bad sector", "replace the disk"));
    ClusterService service = start(recording);
    runner.join(SOON.toMillis());
    String message = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(message.contains(file.toString()), message);
    assertEquals(List.of(), recording.calls, "something was asked of an organ");
    assertTrue(recording.journal().isEmpty(), "an enrolment was begun");
  }

  /**
   * Returns the calls that write the journal and that both runs made, except the one that failed.
   */
  private static List<String> repeated(RecordingOrgans first, RecordingOrgans second) {
    List<String> entries =
        new ArrayList<>(first.calls.subList(0, Math.max(0, first.calls.size() - 1)));
    entries.removeIf(call -> !call.startsWith("journal "));
    entries.retainAll(second.calls);
    return entries;
  }

  @Test
  @DisplayName(
      "SEED-06 consensus that does not become ready fails the manager, and no step follows")
  void seed06_consensusNotReady() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    recording.consensusComesUp = false;
    Duration within = Duration.ofMillis(50);
    ClusterService service = start(recording, within);
    runner.join(SOON.toMillis());
    assertFalse(runner.isAlive(), "the manager still waits");
    String message = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(
        message.startsWith(
            "enrolment failed: consensus: consensus service failed to become ready: "),
        message);
    assertTrue(message.contains("etcd to answer"), message);
    assertEquals(List.of(within), recording.waitedForConsensus);
    assertEquals(
        BOOTSTRAP.subList(0, BOOTSTRAP.indexOf("startNew") + 1),
        recording.calls,
        "the enrolment continued without consensus");
    assertEquals(1, recording.fatals.size(), recording.fatals::toString);
  }

  @Test
  @DisplayName("SEED-06 a member whose consensus does not become ready fails in the same way")
  void seed06_consensusOfAMemberNotReady() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    awaitHome(start(first));
    stop();
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    second.consensusComesUp = false;
    ClusterService service = start(second, Duration.ofMillis(50));
    runner.join(SOON.toMillis());
    String message = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(message.contains("consensus service failed to become ready"), message);
    assertEquals("startExisting", second.calls.getLast(), "it continued without consensus");
  }

  /** Returns the sealed configuration of a node as that of an encrypted one. */
  private static Stored<SealedConfiguration> encrypted(RecordingOrgans former) {
    SealedConfiguration plain = former.sealed().orElseThrow();
    return new Stored.Present<>(
        former.root().esp().sealedConfiguration().path(),
        new SealedConfiguration(
            plain.nodeUnlockKey(), plain.joinKey(), plain.clusterCa(), StorageSecurity.ENCRYPTED));
  }

  @Test
  @DisplayName("D-04 an encrypted node comes back with its owner's recovery key alone")
  void d04_recoveryKeyAtAColdStart() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    awaitHome(start(first));
    stop();
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    second.sealedReading = encrypted(first);
    String pem = RecoveryKey.generate();
    Path key = Files.writeString(directory.resolve("recovery.pem"), pem);
    String half = "0123456789abcdef0123456789ABCDEF";
    second.share = Map.of(Secret.of(RecoveryKey.privateKey(pem)), Secret.of(half));

    ClusterService service = service(second, SOON, new RecoveryKeySource.File(key));
    run(service);

    assertEquals(ClusterState.HOME, awaitHome(service).state());
    assertEquals(
        List.of(
            "recoveryShare.exists",
            "recoveryShare.open",
            "mountExisting",
            "publishLocalName",
            "startExisting",
            "identify",
            "serve"),
        second.calls,
        "the volume is opened before the curator is asked for anything");
    assertEquals(half, second.clusterUnlockKey, "not opened with the share's half");
  }

  @Test
  @DisplayName(
      "the TPM of the founder seals what opens its volume, and the node comes back by it alone")
  void machineShareAtAColdStart() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    first.tpm = true;
    awaitHome(start(first));
    stop();
    assertTrue(first.bound, "the sealed configuration is not bound to the machine");
    byte[] half = first.volumeKeys.cluster().reveal();
    assertArrayEquals(half, first.machineShare.orElseThrow().reveal());
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    second.machineShare = Optional.of(Secret.of(half));
    second.sealedReading = encrypted(first);

    assertEquals(ClusterState.HOME, awaitHome(start(second)).state());
    assertArrayEquals(half, second.clusterUnlockKeyBytes);
  }

  @Test
  @DisplayName("without a TPM nothing is bound to the machine")
  void noMachineShare() throws Exception {
    RecordingOrgans organs = new RecordingOrgans(directory, "");
    awaitHome(start(organs));
    assertFalse(organs.bound);
    assertEquals(Optional.empty(), organs.machineShare);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @DisplayName(
      "a member whose clock is before its certificates or after its CA's end reports it, and waits until the clock is set")
  void clockOutsideTheCertificates(boolean before) throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    ClusterStatus home = awaitHome(start(first));
    stop();
    String shown = before ? "1970-01-01T00:02:03" : "2099-01-01T00:02:03";
    MutableValue<Instant> now = new MutableValue<>(Instant.parse(shown + ".456Z"));
    clock = () -> now.peek().orElseThrow();
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    ClusterService service = start(second);
    NodeCredentials credentials = home.credentials().orElseThrow();
    Instant begin = credentials.certificate().getNotBefore().toInstant();
    String trouble =
        before
            ? "the certificates of this node begin at " + begin
            : "the CA of its cluster ended at "
                + credentials.ca().issuing().getNotAfter().toInstant();
    String said =
        "clock: this machine's clock shows %sZ, but %s; %s"
            .formatted(shown, trouble, ClockRemedy.SET);
    Await.until("the report of the clock", () -> second.waits.contains(said));
    assertEquals(List.of("mountExisting"), second.calls);
    assertEquals(List.of(), second.fatals);

    now.set(begin);
    assertEquals(ClusterState.HOME, awaitHome(service).state());
  }

  @Test
  @DisplayName("SEED-04 a node with a sealed configuration never bootstraps again")
  void seed04_sealedConfigurationWins() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    awaitHome(start(first));
    stop();
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    awaitHome(start(second));
    assertEquals(
        List.of("mountExisting", "publishLocalName", "startExisting", "identify", "serve"),
        second.calls);
  }

  @Test
  @DisplayName(
      "a member that comes back opens its listeners with the revocation list from its disk, or with an unknown list if the disk has none")
  void revocationListOfAMember() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    awaitHome(start(first));
    stop();
    assertEquals(new RpcRevocations.None(), first.revocations.peek().orElseThrow());
    RecordingOrgans without = new RecordingOrgans(directory, "");
    without.takeOver(first);
    awaitHome(start(without));
    stop();
    assertInstanceOf(RpcRevocations.Unknown.class, without.revocations.peek().orElseThrow());

    Crl list = first.authority().revocationList(BigInteger.ONE, List.of(BigInteger.TEN));
    first.root().data().node().credentials().revocations().write(list.der());
    RecordingOrgans with = new RecordingOrgans(directory, "");
    with.takeOver(first);
    awaitHome(start(with));
    assertEquals(new RpcRevocations.Known(list), with.revocations.peek().orElseThrow());
  }

  private static Crl revoking(RecordingOrgans recording, ClusterStatus member) {
    return recording
        .authority()
        .revocationList(
            BigInteger.TWO,
            List.of(member.credentials().orElseThrow().certificate().getSerialNumber()));
  }

  @Test
  @DisplayName("D-11 a member whose certificate is revoked is DISOWNING, and does not start again")
  void d11_disowned() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    var files = recording.root().data().node().credentials();
    String id;
    try (SupervisionTree tree = SupervisionTree.open(logs)) {
      ClusterService service = service(recording, SOON);
      tree.organ("cluster").run("manager", service::run);
      ClusterStatus home = awaitHome(service);
      id = home.credentials().orElseThrow().id().text();
      recording.calls.clear();

      recording.revocations.set(new RpcRevocations.Known(revoking(recording, home)));

      String summary =
          Await.value(
              recording.homeSummary,
              text -> text.contains("DISOWNING"),
              SOON,
              "the launcher to show that the node is disowned");
      assertTrue(summary.contains("the cluster has removed " + id), summary);
      assertTrue(summary.contains("empty state directory"), summary);
      ClusterStatus disowned = service.status().peek().orElseThrow();
      assertEquals(ClusterState.DISOWNING, disowned.state());
      assertTrue(disowned.credentials().isEmpty(), "it still has credentials");
      assertThrows(DisownedException.class, service::awaitHome);
      assertEquals(List.of("erase", "forget", "leave"), recording.calls);
      assertFalse(files.key().exists(), "its key is still on the disk");
      assertFalse(files.certificate().exists(), "its certificate is still on the disk");
      assertTrue(files.clusterCa().exists());
      assertEquals(List.of(), recording.fatals);

      ClusterService next = after(recording, service.give());
      next.run(new TestContext(log));
      assertEquals(disowned.reason(), next.status().peek().orElseThrow().reason());
      assertEquals(ClusterState.DISOWNING, next.status().peek().orElseThrow().state());
    }

    RecordingOrgans again = new RecordingOrgans(directory, "");
    again.takeOver(recording);
    ClusterService refused = start(again);
    Await.until(SOON, "the fatal report", () -> !again.fatals.isEmpty());
    assertEquals(ClusterState.DISOWNING, refused.status().peek().orElseThrow().state());
    String fatal = again.fatals.getFirst();
    assertTrue(fatal.contains("the cluster has removed " + id), fatal);
    assertTrue(fatal.contains("empty state directory"), fatal);
    assertEquals(List.of(), again.calls, "it has touched an organ");
  }

  @Test
  @DisplayName("a member that was off ends with the reason as soon as it knows the list")
  void disownedWhileOff() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    Crl list = revoking(first, awaitHome(start(first)));
    stop();
    first.root().data().node().credentials().revocations().write(list.der());
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    try (SupervisionTree tree = SupervisionTree.open(logs)) {
      tree.organ("cluster").run("manager", service(second, SOON)::run);

      Await.until(
          SOON,
          "the fatal report, or the end of the membership",
          () -> !second.fatals.isEmpty() || second.calls.contains("leave"));
    }
    assertFalse(first.root().data().node().credentials().key().exists(), "its key is on the disk");
    assertTrue(second.calls.contains("erase"), "etcd's files are on the disk");
    assertTrue(first.root().esp().removal().exists());
  }

  @Test
  @DisplayName(
      "a node that ended between the proof of its removal and the end erases its keys later")
  void endedBeforeItErased() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    ClusterStatus home = awaitHome(start(first));
    stop();
    new RemovalFile(first.root().esp().removal())
        .write(home.credentials().orElseThrow(), revoking(first, home), Instant.EPOCH);
    var files = first.root().data().node().credentials();
    assertTrue(files.key().exists());

    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    second.openVolume();
    start(second);

    Await.until(SOON, "the fatal report", () -> !second.fatals.isEmpty());
    assertFalse(files.key().exists(), "its key is still on the disk");
    assertFalse(files.certificate().exists(), "its certificate is still on the disk");
    assertEquals(List.of("erase"), second.calls, "etcd's files are still on the disk");
  }

  @Test
  @DisplayName("a proof of the removal that is damaged or proves nothing is refused by its name")
  void damagedProof() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    ClusterStatus home = awaitHome(start(first));
    stop();
    Crl other = first.authority().revocationList(BigInteger.TWO, List.of(BigInteger.TEN));
    new RemovalFile(first.root().esp().removal())
        .write(home.credentials().orElseThrow(), other, Instant.EPOCH);
    refusesProof(first, "does not name the certificate");
    first.root().esp().removal().write(new byte[] {1, 2, 3});
    refusesProof(first, "is damaged");
  }

  private void refusesProof(RecordingOrgans before, String why) throws Exception {
    RecordingOrgans next = new RecordingOrgans(directory, "");
    next.takeOver(before);
    start(next);
    Await.until(SOON, "the fatal report", () -> !next.fatals.isEmpty());
    stop();
    String fatal = next.fatals.getFirst();
    assertTrue(fatal.contains(before.root().esp().removal().path().toString()), fatal);
    assertTrue(fatal.contains(why), fatal);
    assertEquals(List.of(), next.calls);
  }

  @Test
  @DisplayName("parameters given to a member are not read, and the screen and the log report it")
  void parametersOfAMember() throws Exception {
    RecordingOrgans first = new RecordingOrgans(directory, "");
    awaitHome(start(first));
    stop();
    Files.write(parameters, new byte[] {1, 2, 3}); // would be refused if it were read
    RecordingOrgans second = new RecordingOrgans(directory, "");
    second.takeOver(first);
    awaitHome(start(second));
    assertTrue(
        second.waits.contains("node parameters: not read, because this node is already a member"),
        second.waits.toString());
    try (LogReader reader = logs.read(LogQuery.of("root.cluster.manager").backlogAll())) {
      String said = parameters + "): it is already a member";
      assertEquals(
          1, reader.backlog().stream().filter(each -> each.toString().contains(said)).count());
    }
  }

  @Test
  @DisplayName("SEED-10 HOME is returned, also to late callers (SEED-11)")
  void seed10_awaitHome() throws Exception {
    ClusterService service = start(new RecordingOrgans(directory, ""));
    assertEquals(ClusterState.HOME, awaitHome(service).state());
    assertEquals(ClusterState.HOME, awaitHome(service).state());
    assertEquals(ClusterState.HOME, service.status().peek().orElseThrow().state());
  }

  @Test
  void givenConsensusLost_thenSplitAndHomeAgainWhenItReturns() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    ClusterService service = start(recording);
    awaitHome(service);
    recording.curatorStatus.set(new CuratorStatus.Campaigning("no quorum"));
    Await.value(
        service.status(),
        now -> now.state() == ClusterState.SPLIT && now.credentials().isPresent(),
        SOON,
        "SPLIT after consensus was lost");
    recording.curatorStatus.set(new CuratorStatus.Leading(8));
    Await.value(
        service.status(), now -> now.state() == ClusterState.HOME, SOON, "HOME after it returned");
  }

  @ParameterizedTest
  @EnumSource(ClusterState.class)
  @DisplayName("CON-08 and SEED-09 consensus clients are handed out in HOME and SPLIT only")
  void con08_states(ClusterState state) {
    ClusterSnapshot outside = ClusterSnapshot.outside(state, "test");
    String message =
        assertThrows(
                ConsensusUnavailableException.class,
                () -> outside.consensusClient(ConsensusUser.CURATOR))
            .getMessage();
    boolean member = state == ClusterState.HOME || state == ClusterState.SPLIT;
    assertTrue(
        message.startsWith(member ? "not connected" : "refusing connection with cluster state"),
        message);

    EtcdAccess access = EtcdAccess.plaintext("127.0.0.1:1");
    ClusterSnapshot withMeans =
        ClusterSnapshot.member(
            state, "test", new ClusterSnapshot.Membership(null, true, user -> access));
    if (member) {
      assertSame(access, withMeans.consensusClient(ConsensusUser.CURATOR));
    } else {
      assertThrows(
          ConsensusUnavailableException.class,
          () -> withMeans.consensusClient(ConsensusUser.CURATOR),
          "a node with a member's credentials got a client");
    }
  }

  @Test
  @DisplayName("CON-08 a member without local consensus and an unknown user are refused by name")
  void con08_withoutConsensus() {
    var membership =
        new ClusterSnapshot.Membership(
            null,
            false,
            user -> {
              throw new AssertionError("no access was asked for");
            });
    ClusterSnapshot remote = ClusterSnapshot.member(ClusterState.HOME, "test", membership);
    assertEquals(
        "this node has no direct access to etcd; ask the curator of another node",
        assertThrows(
                ConsensusUnavailableException.class,
                () -> remote.consensusClient(ConsensusUser.KUBERNETES))
            .getMessage());
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> ConsensusUser.of("nobody"))
            .getMessage()
            .contains("known are curator, kubernetes"));
  }

  @Test
  @DisplayName(
      "SEED-09 credentials and consensus clients are there while the node is a member, and never before or after a failure")
  void seed09_accessors() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    ClusterService service = service(recording, SOON);
    requireNoAccess(service, "NEW");
    List<String> early = new CopyOnWriteArrayList<>();
    recording.onCall =
        call -> {
          if (hasAccess(service)) {
            early.add(call);
          }
        };
    run(service);
    ClusterStatus home = awaitHome(service);
    Await.until("the last step", () -> recording.calls.contains("serve"));
    assertEquals(List.of(), early, "a node that is being enrolled gave access");
    assertEquals(recording.requested.nodeKey(), home.credentials().orElseThrow().publicKey());
    recording.consensusUsers.clear();
    assertEquals(1, home.consensusClient(ConsensusUser.CURATOR).endpoints().size());
    assertEquals(List.of("curator"), recording.consensusUsers);
    stop();

    RecordingOrgans back = new RecordingOrgans(directory, "");
    back.takeOver(recording);
    ClusterService joining = service(back, SOON);
    back.onCall =
        call -> {
          if (hasAccess(joining)) {
            early.add(call);
          }
        };
    run(joining);
    awaitHome(joining);
    Await.until("the last step", () -> back.calls.contains("serve"));
    assertEquals(List.of(), early, "a node that comes back gave access before it was a member");
    stop();

    for (String call : BOOTSTRAP) {
      Path place = directory.resolve("failing").resolve(call);
      ClusterService failed = start(new RecordingOrgans(place, call));
      runner.join(SOON.toMillis());
      requireNoAccess(failed, "FAILED at " + call);
    }
    RecordingOrgans late = new RecordingOrgans(directory.resolve("late"), "");
    late.onHome =
        () -> {
          throw new IllegalStateException("injected failure of a member");
        };
    ClusterService failedAsMember = start(late);
    runner.join(SOON.toMillis());
    requireNoAccess(failedAsMember, "FAILED as a member");
  }

  private static void requireNoAccess(ClusterService service, String phase) {
    ClusterStatus status = service.status().peek().orElseThrow();
    assertTrue(status.credentials().isEmpty(), "credentials in " + phase);
    assertThrows(
        ConsensusUnavailableException.class,
        () -> status.consensusClient(ConsensusUser.CURATOR),
        "a client of consensus in " + phase);
  }

  private static boolean hasAccess(ClusterService service) {
    ClusterStatus status = service.status().peek().orElseThrow();
    try {
      status.consensusClient(ConsensusUser.CURATOR);
      return true;
    } catch (ConsensusUnavailableException e) {
      return status.credentials().isPresent();
    }
  }

  /** Waits for HOME on a thread of its own, and counts the states that it passes on the way. */
  private static final class Waiting {
    final AtomicInteger passed = new AtomicInteger();
    final CompletableFuture<ClusterState> answer = new CompletableFuture<>();
    private final Thread thread;

    Waiting(MutableValue<ClusterStatus> status) {
      thread =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      answer.complete(ClusterService.awaitHome(status, this::undecided).state());
                    } catch (InterruptedException | RuntimeException e) {
                      answer.completeExceptionally(e);
                    }
                  });
    }

    private boolean undecided() {
      passed.incrementAndGet();
      return false;
    }

    void awaitPassed(int states) throws Exception {
      Await.until("awaitHome to pass state " + states, () -> passed.get() >= states);
      assertFalse(answer.isDone(), "awaitHome has ended in state " + states);
    }

    Throwable failure() {
      return assertThrows(
              ExecutionException.class, () -> answer.get(SOON.toSeconds(), TimeUnit.SECONDS))
          .getCause();
    }
  }

  private static MutableValue<ClusterStatus> unknown() {
    return new MutableValue<>(ClusterSnapshot.outside(ClusterState.UNKNOWN, "test"));
  }

  @Test
  @DisplayName(
      "SEED-10 awaitHome passes all states on the way, and fails for a disowned node with the reason")
  void seed10_statesOnTheWay() throws Exception {
    MutableValue<ClusterStatus> status = unknown();
    Waiting waiting = new Waiting(status);
    waiting.awaitPassed(1);
    status.set(ClusterSnapshot.outside(ClusterState.FOREIGN, "test"));
    waiting.awaitPassed(2);
    status.set(ClusterSnapshot.outside(ClusterState.TRUSTED, "test"));
    waiting.awaitPassed(3);
    status.set(ClusterSnapshot.outside(ClusterState.HOME, "test"));
    assertEquals(ClusterState.HOME, waiting.answer.get(SOON.toSeconds(), TimeUnit.SECONDS));
    status.set(ClusterSnapshot.outside(ClusterState.DISOWNING, "removed by the operator"));
    Throwable failure = new Waiting(status).failure();
    assertEquals(DisownedException.class, failure.getClass());
    assertEquals(
        "the cluster has disowned this node: removed by the operator", failure.getMessage());
  }

  @Test
  @DisplayName("SEED-10 a cancelled wait fails as cancelled, and a later one works")
  void seed10_cancelled() throws Exception {
    MutableValue<ClusterStatus> status = unknown();
    Waiting waiting = new Waiting(status);
    waiting.awaitPassed(1);
    waiting.thread.interrupt();
    assertEquals(InterruptedException.class, waiting.failure().getClass());
    Waiting later = new Waiting(status);
    later.awaitPassed(1);
    status.set(ClusterSnapshot.outside(ClusterState.HOME, "test"));
    assertEquals(ClusterState.HOME, later.answer.get(SOON.toSeconds(), TimeUnit.SECONDS));
  }
}
