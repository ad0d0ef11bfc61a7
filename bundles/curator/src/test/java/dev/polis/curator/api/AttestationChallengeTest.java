package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.pki.Ed25519;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Answers challenges in time and late, of this leader and of others. */
class AttestationChallengeTest {

  private static final ByteString THIS = ByteString.fromHex("aa".repeat(32));
  private static final ByteString OTHER = ByteString.fromHex("bb".repeat(32));

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1);
  private final MachineAttestation attestation =
      new MachineAttestation(new SecureRandom(), nanos::get);
  private final PublicKey node = Ed25519.generate().getPublic();
  private AttestationEvidence evidence;

  /** Reads keys of a TPM, and asks for a challenge to which there is no answer. */
  @BeforeEach
  void challenge() throws IOException {
    try (InputStream recorded =
        AttestationChallengeTest.class.getResourceAsStream(
            "/dev/polis/curator/attest/registration.bin")) {
      evidence = RegisterNodeRequest.parseFrom(recorded).getAttestation();
    }
    evidence =
        evidence.toBuilder()
            .setNonce(attestation.give(node, evidence.getKeys()).getNonce())
            .build();
  }

  private RpcException refusal(PublicKey by, AttestationEvidence given) {
    return assertThrows(RpcException.class, () -> attestation.check(by, given));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a nonce of another leader, for another node, of another length, or that has ended: refused, and a newer one is asked for")
  void nonces() {
    RpcException answer = refusal(node, evidence);
    assertEquals(Status.Code.PERMISSION_DENIED, answer.code());
    assertTrue(answer.getMessage().contains("secret is not what that TPM reveals"));

    RpcException stranger = refusal(Ed25519.generate().getPublic(), evidence);
    assertEquals(Status.Code.ABORTED, stranger.code());
    assertTrue(stranger.getMessage().contains("gave no such nonce"), stranger.getMessage());

    MachineAttestation leader = new MachineAttestation(new SecureRandom(), nanos::get);
    assertEquals(
        Status.Code.ABORTED,
        assertThrows(RpcException.class, () -> leader.check(node, evidence)).code());

    RpcException length = refusal(node, evidence.toBuilder().clearNonce().build());
    assertTrue(length.getMessage().contains("nonce has 0 bytes"), length.getMessage());

    nanos.addAndGet(MachineAttestation.TERM.toNanos() + 1);
    RpcException late = refusal(node, evidence);
    assertEquals(Status.Code.ABORTED, late.code());
    assertTrue(late.getMessage().contains("the nonce has ended"), late.getMessage());
  }

  @Test
  @Tag("attack")
  @DisplayName("a nonce that a registration has used proves nothing else")
  void usedTwice() {
    AttestedMachine.Builder proved = AttestedMachine.newBuilder().setNonce(THIS).addPrograms(THIS);
    Node first = Node.newBuilder().setId("metropolis-1").setAttestation(proved).build();
    assertDoesNotThrow(() -> MachineAttestation.requireUnused(first, first));
    Node second = first.toBuilder().setAttestation(proved.addPrograms(OTHER)).build();
    assertTrue(
        assertThrows(RpcException.class, () -> MachineAttestation.requireUnused(first, second))
            .getMessage()
            .contains("has used this nonce before"));
  }
}
