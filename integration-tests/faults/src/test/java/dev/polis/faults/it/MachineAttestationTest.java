package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import dev.polis.api.storage.StorageException;
import dev.polis.curator.CuratorFixture;
import dev.polis.curator.attest.TpmPublic;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.SoftwareTpm;
import dev.polis.fixtures.TestPki;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.process.Commands;
import dev.polis.storage.AttesterTpm;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.AllowedImage;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.AttestationGrpc;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.cluster.AttestedMachine.SecureBoot;
import dev.polis.wire.cluster.GetAttestationChallengeRequest;
import dev.polis.wire.cluster.GetAttestationChallengeResponse;
import dev.polis.wire.cluster.TpmKeys;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.RegisterNodeRequest;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Registers machines with evidence of a real implementation of a TPM, swtpm, whose PCRs have what
 * the firmware of a virtual machine measured when it booted an image of Polis.
 */
@Tag("full")
@Timeout(300)
class MachineAttestationTest {

  /** The log of that boot, as its kernel showed it. */
  private static final String LOG = "/dev/polis/curator/attest/boot-events.bin";

  // An event of the output of tpm2_eventlog.
  private static final Pattern EVENT =
      Pattern.compile(
          "PCRIndex: (\\d+)\\s+EventType: (\\w+).*?AlgorithmId: sha256\\s+Digest: \"(\\w{64})\"",
          Pattern.DOTALL);
  private static final int PCR_BYTES = 32;

  /** The largest log that a request may have. */
  private static final int LARGEST_LOG = 128 << 10;

  private static final String OTHER = "ab".repeat(32);

  @TempDir static Path folder;
  private static Path log;
  private static SoftwareTpm tpm;
  private static CuratorFixture cluster;
  private static ByteString ticket;

  private final KeyPair node = Ed25519.generate();

  @BeforeAll
  static void boot() throws Exception {
    SoftwareTpm.requirePrograms();
    log = folder.resolve("log");
    try (InputStream recorded = MachineAttestationTest.class.getResourceAsStream(LOG)) {
      Files.write(log, recorded.readAllBytes());
    }
    tpm = booted("tpm");
    cluster = CuratorFixture.leading();
    ticket =
        soon(cluster.management())
            .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
            .getTicket();
  }

  @AfterAll
  static void end() throws Exception {
    if (tpm != null) {
      tpm.close();
    }
    if (cluster != null) {
      cluster.close();
    }
  }

  /** Starts a TPM with the measurements of the log, which another program has read. */
  private static SoftwareTpm booted(String name) throws Exception {
    SoftwareTpm started = new SoftwareTpm(folder.resolve(name));
    String events =
        Finished.of(List.of("tpm2_eventlog", log.toString()), Map.of(), Duration.ofSeconds(30))
            .requireSuccess("tpm2_eventlog")
            .out();
    List<String> measurements = new ArrayList<>();
    for (String event : events.split("- EventNum:")) {
      Matcher parts = EVENT.matcher(event);
      if (parts.find() && !parts.group(2).equals("EV_NO_ACTION")) {
        measurements.add(parts.group(1) + ":sha256=" + parts.group(3));
      }
    }
    started.extend(measurements);
    return started;
  }

  private static <S extends AbstractStub<S>> S soon(S stub) {
    return stub.withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static AttesterTpm attester(SoftwareTpm by) {
    return new AttesterTpm(
        by.tcti(),
        new Commands() {
          @Override
          public Result run(Duration within, List<String> command, byte[] input)
              throws IOException, InterruptedException {
            Result result = super.run(within, command, input);
            by.flush();
            return result;
          }
        },
        log);
  }

  private static GetAttestationChallengeResponse challenge(KeyPair of, TpmKeys keys)
      throws StatusException {
    return soon(AttestationGrpc.newBlockingV2Stub(cluster.asKey(of)))
        .getAttestationChallenge(
            GetAttestationChallengeRequest.newBuilder()
                .setRegisterTicket(ticket)
                .setKeys(keys)
                .build());
  }

  private static AttestationEvidence evidence(SoftwareTpm by, KeyPair of) throws Exception {
    return attester(by).attest(of.getPublic(), keys -> challenge(of, keys));
  }

  private static void register(KeyPair as, AttestationEvidence evidence) throws StatusException {
    soon(CuratorGrpc.newBlockingV2Stub(cluster.asKey(as))).registerNode(request(as, evidence));
  }

  private static RegisterNodeRequest request(KeyPair as, AttestationEvidence evidence) {
    return RegisterNodeRequest.newBuilder()
        .setRegisterTicket(ticket)
        .setJoinKey(raw(as))
        .setHaveLocalTpm(true)
        .setAttestation(evidence)
        .build();
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  private static String refusal(Status.Code code, KeyPair as, AttestationEvidence evidence) {
    return CuratorFixture.refused(code, () -> register(as, evidence));
  }

  private static void approve(KeyPair key) throws Exception {
    soon(cluster.management())
        .approveNode(ApproveNodeRequest.newBuilder().setPubkey(raw(key)).build());
  }

  private static void demand(AttestationPolicy.Builder policy) throws Exception {
    soon(cluster.management())
        .configureCluster(
            ConfigureClusterRequest.newBuilder()
                .setNewConfig(ClusterConfiguration.newBuilder().setAttestation(policy))
                .setUpdateMask(FieldMask.newBuilder().addPaths("attestation"))
                .build());
  }

  private static AttestedMachine shown(KeyPair of) throws Exception {
    Node shown =
        CuratorFixture.nodes(
                cluster.management(), "node.id == '%s'".formatted(NodeId.of(of.getPublic())))
            .getFirst();
    return shown.getAttestation();
  }

  @Test
  @DisplayName(
      "the approver sees image, Secure Boot and TPM of a machine; a cluster that demands an image approves it alone, and names the measurement of another")
  void approval() throws Exception {
    TestPki maker = new TestPki();
    store(maker);
    AttestationEvidence evidence = evidence(tpm, node);
    record(evidence);
    register(node, evidence);

    AttestedMachine machine = shown(node);
    assertEquals(SecureBoot.SECURE_BOOT_OFF, machine.getSecureBoot());
    assertEquals("version=id:00010002,model=test,manufacturer=id:54455354", machine.getTpm());
    assertEquals("CN=Test CA", machine.getTpmIssuer());
    assertEquals(List.of(), machine.getChangedPcrsList());
    assertEquals(List.of(), machine.getUnexplainedPcrsList());
    assertTrue(machine.getNonce().isEmpty() && machine.getEndorsementCertificate().isEmpty());

    AllowedImage.Builder other =
        AllowedImage.newBuilder().setName("1.4.0").addPrograms(ByteString.fromHex(OTHER));
    AttestationPolicy.Builder policy =
        AttestationPolicy.newBuilder().setRequired(true).addImages(other);
    demand(policy);
    String image = CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> approve(node));
    assertTrue(image.contains("PCR 4 (the programs that the firmware has started)"), image);
    assertTrue(image.contains("expected [" + OTHER + "] of image 1.4.0"), image);

    policy.addImages(
        AllowedImage.newBuilder().setName("this").addAllPrograms(machine.getProgramsList()));
    TestPki another = new TestPki();
    demand(policy.clone().addTpmAuthorities(der(another)));
    String authority = CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> approve(node));
    assertTrue(authority.contains("the certificate of its TPM's endorsement key"), authority);

    KeyPair silent = Ed25519.generate();
    soon(CuratorGrpc.newBlockingV2Stub(cluster.asKey(silent)))
        .registerNode(request(silent, evidence).toBuilder().clearAttestation().build());
    String nothing = CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> approve(silent));
    assertTrue(nothing.contains("it has proved nothing of its machine"), nothing);

    demand(policy.addTpmAuthorities(der(maker)));
    approve(node);
    demand(AttestationPolicy.newBuilder());
    approve(silent);
  }

  private static ByteString der(TestPki maker) {
    return ByteString.copyFrom(Pem.der(maker.authority()));
  }

  /** Stores a certificate of the endorsement key in the TPM, as its maker does. */
  private static void store(TestPki maker) throws Exception {
    Path key = folder.resolve("ek-public");
    tpm.run(
        "tpm2_createek",
        "--key-algorithm",
        "rsa",
        "--ek-context",
        folder.resolve("ek").toString(),
        "--public",
        key.toString());
    tpm.flush();
    Path certificate = folder.resolve("ek-certificate");
    Files.write(
        certificate,
        Pem.der(maker.endorsement(TpmPublic.endorsement(Files.readAllBytes(key)).key())));
    String index = "0x1c00002";
    tpm.run("tpm2_nvdefine", "--hierarchy", "owner", "--size", "" + Files.size(certificate), index);
    tpm.run("tpm2_nvwrite", "--hierarchy", "owner", "--input", certificate.toString(), index);
  }

  /** Writes what the quick tests check, if this run is to. */
  private void record(AttestationEvidence evidence) throws IOException {
    String to = System.getProperty("polis.attestation.write", "");
    if (!to.isEmpty()) {
      Files.write(
          Path.of(to),
          request(node, evidence).toBuilder().clearRegisterTicket().build().toByteArray());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "evidence of another registration, a quote of another challenge and another key, and an answer that the TPM did not give: refused")
  void replayed() throws Exception {
    AttestationEvidence first = evidence(tpm, node);
    KeyPair thief = Ed25519.generate();
    String stolen = refusal(Status.Code.ABORTED, thief, first);
    assertTrue(stolen.contains("gave no such nonce to this node's key"), stolen);

    AttestationEvidence second = evidence(tpm, node);
    String mixed =
        refusal(
            Status.Code.PERMISSION_DENIED,
            node,
            second.toBuilder().setQuote(first.getQuote()).build());
    assertTrue(mixed.contains("not signed by the attestation key"), mixed);

    GetAttestationChallengeResponse own = challenge(thief, first.getKeys());
    String guessed =
        refusal(
            Status.Code.PERMISSION_DENIED,
            thief,
            first.toBuilder().setNonce(own.getNonce()).build());
    assertTrue(guessed.contains("secret is not what that TPM reveals"), guessed);
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a quote of one TPM for the endorsement key of another: the TPM reveals nothing, and the cluster accepts no guess")
  void otherTpm() throws Exception {
    TpmKeys honest = evidence(tpm, node).getKeys();
    try (SoftwareTpm own = booted("own")) {
      List<GetAttestationChallengeResponse> given = new ArrayList<>();
      assertThrows(
          StorageException.class,
          () ->
              attester(own)
                  .attest(
                      node.getPublic(),
                      keys -> {
                        TpmKeys mixed =
                            keys.toBuilder().setEndorsement(honest.getEndorsement()).build();
                        given.add(challenge(node, mixed));
                        return given.getFirst();
                      }));
      assertFalse(given.isEmpty(), "the cluster gave no challenge");
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a changed log, other values of PCRs, a measurement that the log omits, and a log that is too large: refused, and named")
  void otherMeasurements() throws Exception {
    AttestationEvidence honest = evidence(tpm, node);
    ByteString pcrs = honest.getPcrs();
    String values =
        refusal(
            Status.Code.PERMISSION_DENIED,
            node,
            honest.toBuilder()
                .setPcrs(pcrs.substring(PCR_BYTES).concat(pcrs.substring(0, PCR_BYTES)))
                .build());
    assertTrue(values.contains("the values of the PCRs are not those of the quote"), values);

    String large =
        refusal(
            Status.Code.INVALID_ARGUMENT,
            node,
            honest.toBuilder().setEventLog(ByteString.copyFrom(new byte[LARGEST_LOG + 1])).build());
    assertTrue(large.contains("event_log"), large);

    register(node, honest);
    byte[] events = honest.getEventLog().toByteArray();
    byte[] program = shown(node).getPrograms(0).toByteArray();
    System.arraycopy(
        HexFormat.of().parseHex(OTHER), 0, events, indexOf(events, program), PCR_BYTES);
    String changed =
        refusal(
            Status.Code.PERMISSION_DENIED,
            node,
            honest.toBuilder().setEventLog(ByteString.copyFrom(events)).build());
    assertTrue(changed.contains("the event log does not explain PCR 4"), changed);

    try (SoftwareTpm other = booted("other")) {
      other.extend(List.of("12:sha256=" + OTHER));
      KeyPair optioned = Ed25519.generate();
      register(optioned, evidence(other, optioned));
      assertEquals(List.of(12), shown(optioned).getChangedPcrsList());
      assertEquals(List.of(12), shown(optioned).getUnexplainedPcrsList());
      other.extend(List.of("4:sha256=" + OTHER));
      String omitted = refusal(Status.Code.PERMISSION_DENIED, node, evidence(other, node));
      assertTrue(omitted.contains("the event log does not explain PCR 4"), omitted);
    }
  }

  private static int indexOf(byte[] text, byte[] part) {
    for (int at = 0; at + part.length <= text.length; at++) {
      if (Arrays.equals(text, at, at + part.length, part, 0, part.length)) {
        return at;
      }
    }
    throw new AssertionError("the log has no " + HexFormat.of().formatHex(part));
  }
}
