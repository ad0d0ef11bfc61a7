package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUnavailableException;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.cluster.NodeParameterSource.Form;
import dev.polis.fixtures.Await;
import dev.polis.handover.OrganState;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.RpcRevocations;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.RegisterNodeRequest;
import io.grpc.Status;
import java.io.IOException;
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
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Lets a node join a cluster that a fake leader serves, and come back to it. */
@Timeout(120)
class RegisterFlowTest {

  private static final Duration SOON = Duration.ofSeconds(30);

  private static final List<String> REGISTRATION =
      List.of(
          "journal STEP_KEYS_GENERATED",
          "require",
          "journal STEP_REGISTERED",
          "mountNew",
          "publishLocalName",
          "journal STEP_VOLUME_CREATED",
          "journal STEP_COMMITTED",
          "journal STEP_CREDENTIALS_SAVED",
          "sealed",
          "journal STEP_DONE",
          "journal erased",
          "identify",
          "follow");

  @TempDir Path directory;

  private final LogTree logs = LogTree.create();
  private final Log log = logs.log("root.cluster.manager");
  private final FakeCluster cluster = new FakeCluster(logs);
  private Path parameters;
  private Thread runner = new Thread();
  private volatile InstantSource now = InstantSource.system();

  @BeforeEach
  void writeParameters() throws IOException {
    parameters = directory.resolve("given.pb");
    write(register());
  }

  @AfterEach
  void stop() throws InterruptedException {
    end();
    cluster.close();
  }

  private void end() throws InterruptedException {
    runner.interrupt();
    Await.end(runner);
  }

  private ClusterRegister.Builder register() {
    return ClusterRegister.newBuilder()
        .setRegisterTicket(ByteString.copyFromUtf8("the ticket"))
        .setCaCertificate(cluster.ca())
        .setClusterDirectory(cluster.directory());
  }

  private void write(ClusterRegister.Builder register) throws IOException {
    Files.write(
        parameters, NodeParameters.newBuilder().setClusterRegister(register).build().toByteArray());
  }

  private ClusterService start(RecordingOrgans recording) {
    EnrolmentOrgans organs = recording.organs(SOON);
    EnrolmentSteps steps = new EnrolmentSteps(organs.boot(), log);
    ClusterService service =
        new ClusterService(
            organs,
            new EnrolmentMachine(log),
            new NodeParametersLoader(
                List.of(new NodeParameterSource("command line", parameters, Form.BINARY, true)),
                log),
            new BootstrapFlow(organs, steps, new SecureRandom(), InstantSource.system()),
            new RegisterFlow(organs, steps, new SecureRandom(), InstantSource.system()),
            new JoinFlow(organs, steps, new RecoveryKeySource.None(), () -> now.instant()),
            steps,
            OrganState.NONE);
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
    return service;
  }

  private static ClusterStatus awaitHome(ClusterService service) throws Exception {
    return await(service, ClusterState.HOME);
  }

  private static ClusterStatus await(ClusterService service, ClusterState state) throws Exception {
    return Await.value(
        service.status(), now -> now.state() == state, SOON, "the node to be " + state);
  }

  private RecordingOrgans organs(String failing) {
    return new RecordingOrgans(directory, failing);
  }

  @Test
  @DisplayName("the steps of a registration come in their order, and the node is HOME")
  void order() throws Exception {
    RecordingOrgans recording = organs("");
    ClusterService service = start(recording);
    ClusterStatus home = awaitHome(service);
    assertEquals(REGISTRATION, recording.calls);
    assertEquals(Set.of(cluster.endpoint()), recording.followed);
    assertFalse(home.hasLocalConsensus());
    assertThrows(
        ConsensusUnavailableException.class, () -> home.consensusClient(ConsensusUser.CURATOR));
    assertTrue(recording.journal().isEmpty(), "the journal still holds the keys");
    assertEquals(StorageSecurity.ENCRYPTED, recording.sealed().orElseThrow().security());
    String id = home.credentials().orElseThrow().id().text();
    CommitNodeRequest commit = cluster.committed.get(id);
    assertArrayEquals(
        recording.volumeKeys.cluster().reveal(), commit.getClusterUnlockKey().toByteArray());

    assertFalse(
        service.give().find("local-consensus", Boolean.class).orElseThrow(),
        "the next instance would take the node for one with consensus");
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a node that has just joined accepts no certificate before it has the revocation list")
  void noListYet() throws Exception {
    RecordingOrgans recording = organs("");
    awaitHome(start(recording));
    assertInstanceOf(RpcRevocations.Unknown.class, recording.revocations.peek().orElseThrow());
  }

  @Test
  @DisplayName("a node that waits for its approval is FOREIGN, and says how to approve it")
  void approval() throws Exception {
    cluster.approves = false;
    RecordingOrgans recording = organs("");
    ClusterService service = start(recording);
    ClusterStatus foreign = await(service, ClusterState.FOREIGN);
    NodeId id = EnrolmentKeys.of(recording.journal().orElseThrow()).id();
    assertTrue(
        foreign.reason().contains("polisctl node approve " + id + " --key SHA256:"),
        foreign.reason());
    int asked = cluster.calls.get();
    Await.until(SOON, "the node to ask again", () -> cluster.calls.get() > asked + 1);
    assertTrue(
        recording.waits.contains("approval by an operator: " + foreign.reason()),
        recording.waits.toString());
    assertEquals(List.of(), recording.fatals);

    cluster.approves = true;

    assertEquals(id, awaitHome(service).credentials().orElseThrow().id());
  }

  @Test
  @DisplayName("a machine with a TPM registers with evidence, and answers a newer challenge anew")
  void evidence() throws Exception {
    RecordingOrgans recording = organs("");
    recording.tpm = true;
    cluster.refusals.add(Status.Code.ABORTED);
    awaitHome(start(recording));
    assertEquals("challenge 2", nonce());
  }

  private String nonce() {
    return cluster.registered.values().iterator().next().getAttestation().getNonce().toStringUtf8();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @DisplayName("a TPM that fails, or a leader of an older version: registered without evidence")
  void noEvidence(boolean fails) throws Exception {
    RecordingOrgans recording = organs("");
    recording.tpm = true;
    recording.tpmFails = fails;
    cluster.attests = fails;
    awaitHome(start(recording));
    assertFalse(cluster.registered.values().iterator().next().hasAttestation());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "journal STEP_REGISTERED",
        "mountNew",
        "publishLocalName",
        "journal STEP_VOLUME_CREATED",
        "journal STEP_COMMITTED",
        "journal STEP_CREDENTIALS_SAVED",
        "sealed",
        "journal STEP_DONE",
        "journal erased",
        "identify",
        "follow"
      })
  @DisplayName("D-09 a registration that was interrupted anywhere ends with the same node")
  void d09_resumed(String interrupted) throws Exception {
    RecordingOrgans broken = organs(interrupted);
    start(broken);
    Await.end(runner);
    assertEquals(interrupted, broken.calls.getLast());
    RecordingOrgans recording = organs("");
    recording.takeOver(broken);

    ClusterStatus home = awaitHome(start(recording));

    assertEquals(Set.of(home.credentials().orElseThrow().id().text()), cluster.registered.keySet());
    assertEquals(cluster.registered.keySet(), cluster.committed.keySet());
    assertEquals(Set.of(cluster.endpoint()), recording.followed);
    RegisterNodeRequest request = cluster.registered.values().iterator().next();
    assertArrayEquals(
        request.getJoinKey().toByteArray(),
        Ed25519.raw(
            EnrolmentKeys.pair(recording.sealed().orElseThrow().joinKey().reveal()).getPublic()));
  }

  @ParameterizedTest
  @EnumSource(
      value = Status.Code.class,
      names = {"UNAVAILABLE", "ABORTED", "RESOURCE_EXHAUSTED", "INTERNAL"})
  @DisplayName("D-32 calls that time may let succeed are repeated")
  void d32_temporary(Status.Code code) throws Exception {
    cluster.refusals.addAll(List.of(code, code));
    awaitHome(start(organs("")));
    assertTrue(cluster.calls.get() >= 4, "calls: " + cluster.calls);
  }

  @ParameterizedTest
  @EnumSource(
      value = Status.Code.class,
      names = {"PERMISSION_DENIED", "FAILED_PRECONDITION", "INVALID_ARGUMENT", "UNIMPLEMENTED"})
  @DisplayName("D-32 a refusal for good ends the enrolment with its reason")
  void d32_permanent(Status.Code code) throws Exception {
    cluster.refusals.add(code);
    RecordingOrgans recording = organs("");
    ClusterService service = start(recording);
    String reason = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(reason.contains("refused by the test"), reason);
    Await.until(SOON, "the launcher to receive the reason", () -> recording.fatals.size() == 1);
    assertEquals(1, cluster.calls.get());
    assertFalse(recording.calls.contains("mountNew"), "it has made a volume");
  }

  @Test
  @Tag("attack")
  @DisplayName("a stranger at the address of a former curator does not end a registration")
  void stranger() throws Exception {
    try (FakeCluster stranger = new FakeCluster(logs)) {
      stranger.shown = Optional.of(ByteString.copyFromUtf8("no certificate"));
      write(
          register()
              .setClusterDirectory(
                  stranger.directory().toBuilder().mergeFrom(cluster.directory())));
      awaitHome(start(organs("")));
      assertEquals(0, stranger.calls.get());
    }
  }

  @Test
  @DisplayName("the CA of another cluster is refused before the node shows its ticket")
  void otherCluster() throws Exception {
    write(
        register()
            .setCaCertificate(
                ByteString.copyFrom(
                    Pem.der(CertificateAuthority.create("another").certificate()))));
    ClusterService service = start(organs(""));
    String reason = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(reason.contains("belong to another cluster"), reason);
    assertTrue(reason.contains(cluster.curator().getAddress().getHostAddress()), reason);
    assertEquals(0, cluster.calls.get());
  }

  @Test
  @DisplayName(
      "CUR-06 a node with an encrypted volume gets its key from the cluster at its next start")
  void join() throws Exception {
    RecordingOrgans first = organs("");
    ClusterStatus home = awaitHome(start(first));
    end();
    RecordingOrgans second = organs("");
    second.takeOver(first);
    cluster.refusals.add(Status.Code.UNAVAILABLE);

    ClusterStatus again = awaitHome(start(second));

    assertEquals(home.credentials(), again.credentials());
    assertEquals(List.of("mountExisting", "publishLocalName", "identify", "follow"), second.calls);
    assertEquals(Set.of(cluster.endpoint()), second.followed);
    assertFalse(again.hasLocalConsensus());
    assertArrayEquals(
        first.volumeKeys.cluster().reveal(), second.clusterUnlockKeyBytes, "the half of the key");
    List<String> said =
        second.waits.stream().filter(wait -> wait.startsWith("data volume: ")).toList();
    assertTrue(
        said.stream().anyMatch(wait -> wait.contains("no leader answers at ")), said::toString);
    assertTrue(
        said.stream()
            .filter(wait -> wait.contains(cluster.curator().getAddress().getHostAddress()))
            .allMatch(
                wait ->
                    wait.contains("give a majority of them the owner's recovery key")
                        && wait.contains("polis up --recovery-key FILE")),
        said::toString);
  }

  @Test
  @DisplayName(
      "a node whose certificate ended while it was off proves its join key, and comes back with a new certificate")
  void ended() throws Exception {
    RecordingOrgans first = organs("");
    NodeCredentials former = awaitHome(start(first)).credentials().orElseThrow();
    end();
    Instant end = former.certificate().getNotAfter().toInstant();
    now = () -> end.plusSeconds(1);
    RecordingOrgans second = organs("");
    second.takeOver(first);
    cluster.refusals.add(Status.Code.UNAVAILABLE);

    NodeCredentials present = awaitHome(start(second)).credentials().orElseThrow();

    assertEquals(former.id(), present.id());
    assertEquals(former.privateKey(), present.privateKey());
    assertNotEquals(former.certificate(), present.certificate());
    assertEquals(List.of("mountExisting", "publishLocalName", "identify", "follow"), second.calls);
    assertTrue(
        second.waits.stream().anyMatch(wait -> wait.contains("it ended at " + end)),
        second.waits.toString());
    end();
    now = InstantSource.system();
    RecordingOrgans third = organs("");
    third.takeOver(second);
    assertEquals(
        present, awaitHome(start(third)).credentials().orElseThrow(), "the one on the disk");
  }

  @Test
  @DisplayName(
      "a running node with consensus whose certificate ended proves its join key where the leader refuses it")
  void endedWhileItRan() throws Exception {
    RecordingOrgans first = organs("");
    NodeCredentials former = awaitHome(start(first)).credentials().orElseThrow();
    end();
    RecordingOrgans second = organs("");
    second.takeOver(first);
    second.renewals =
        () -> {
          throw new CuratorException("the leader accepts no ended certificate");
        };
    Instant end = former.certificate().getNotAfter().toInstant();
    List<NodeCredentials> published = new ArrayList<>();
    CredentialRenewal renewal =
        new CredentialRenewal(second.organs(SOON), former, published::add, () -> now.instant());
    now = () -> end.minusSeconds(1);
    assertEquals(Duration.ofMinutes(1), renewal.step(new TestContext(log)));
    assertEquals(List.of(), published, "before its end it is accepted by each leader");

    now = () -> end.plusSeconds(1);
    assertEquals(Duration.ZERO, renewal.step(new TestContext(log)));

    assertEquals(former.id(), published.getFirst().id());
    assertNotEquals(former.certificate(), published.getFirst().certificate());
    assertEquals(List.of("renew", "renew", "identify"), second.calls);
  }

  @Test
  @DisplayName("a node that the cluster does not know ends with the reason, and changes nothing")
  void joinRefused() throws Exception {
    RecordingOrgans first = organs("");
    awaitHome(start(first));
    end();
    cluster.registered.clear();
    RecordingOrgans second = organs("");
    second.takeOver(first);
    ClusterService service = start(second);
    String reason = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(reason.contains("no such join key"), reason);
    assertEquals(List.of(), second.calls);
  }

  @Test
  @DisplayName("a registration does not continue the journal of other parameters")
  void otherJournal() throws Exception {
    RecordingOrgans broken = organs("mountNew");
    start(broken);
    Await.end(runner);
    write(register().setRegisterTicket(ByteString.copyFromUtf8("another ticket")));
    RecordingOrgans recording = organs("");
    recording.takeOver(broken);
    ClusterService service = start(recording);
    String reason = assertThrows(EnrolmentException.class, service::awaitHome).getMessage();
    assertTrue(reason.contains("the node parameters differ"), reason);
    assertEquals(List.of(), recording.calls);
    assertEquals(Map.of(), cluster.committed);
  }
}
