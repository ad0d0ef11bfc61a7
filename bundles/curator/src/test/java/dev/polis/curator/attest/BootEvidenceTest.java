package dev.polis.curator.attest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.base.digest.Sha256;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.cluster.AttestedMachine.SecureBoot;
import dev.polis.wire.curator.RegisterNodeRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Checks a registration that was recorded with a real implementation of a TPM and the firmware's
 * log of a virtual machine ({@code MachineAttestationTest}), and changes of it.
 */
class BootEvidenceTest {

  /** What {@code image build} prints for the booted image: its boot file, and the kernel in it. */
  private static final List<String> PROGRAMS =
      List.of(
          "bb8cc1867d3c41d889af73fc9f83ffb256f487fc3b939714f73814f8a32a975f",
          "5f21ff2c0d5d899842b28a8b19901ba72cf7a7ab93c02a77fadc6ff72be85b31");

  private static final int PROGRAM = 0x80000003;
  private static final int ACTION = 0x80000007;

  private AttestationEvidence evidence;
  private byte[] bound;

  @BeforeEach
  void read() throws IOException {
    RegisterNodeRequest recorded = RegisterNodeRequest.parseFrom(resource("registration.bin"));
    evidence = recorded.getAttestation();
    MessageDigest digest = Sha256.begin();
    digest.update(evidence.getNonce().toByteArray());
    bound = digest.digest(recorded.getJoinKey().toByteArray());
  }

  private static byte[] resource(String name) throws IOException {
    try (InputStream bytes = BootEvidenceTest.class.getResourceAsStream(name)) {
      return bytes.readAllBytes();
    }
  }

  private AttestedMachine check(AttestationEvidence given) {
    return BootEvidence.check(
        given,
        TpmPublic.endorsement(given.getKeys().getEndorsement().toByteArray()),
        TpmPublic.attestation(given.getKeys().getAttestation().toByteArray()),
        bound);
  }

  private String refusal(AttestationEvidence given) {
    return assertThrows(RpcException.class, () -> check(given)).getMessage();
  }

  private AttestedMachine withLog(byte[] log) {
    return check(evidence.toBuilder().setEventLog(ByteString.copyFrom(log)).build());
  }

  @Test
  @DisplayName("recorded evidence says what was booted, Secure Boot, and whose TPM it is")
  void recorded() throws IOException {
    assertArrayEquals(resource("boot-events.bin"), evidence.getEventLog().toByteArray());
    AttestedMachine machine = check(evidence);
    assertEquals(SecureBoot.SECURE_BOOT_OFF, machine.getSecureBoot());
    assertEquals(PROGRAMS, machine.getProgramsList().stream().map(BootEvidenceTest::hex).toList());
    assertEquals(0, machine.getChangedPcrsCount() + machine.getUnexplainedPcrsCount());
    assertTrue(machine.getTpm().contains("manufacturer="), machine.getTpm());
  }

  private static String hex(ByteString bytes) {
    return BootEvidence.hex(bytes.toByteArray());
  }

  @Test
  @Tag("attack")
  @DisplayName("each flipped bit of quote and signature is refused")
  void flipped() {
    Random random = new Random(1);
    for (int round = 0; round < 200; round++) {
      byte[] quote = evidence.getQuote().toByteArray();
      byte[] signature = evidence.getSignature().toByteArray();
      byte[] either = random.nextBoolean() ? quote : signature;
      either[random.nextInt(either.length)] ^= (byte) (1 << random.nextInt(Byte.SIZE));
      String refused =
          refusal(
              evidence.toBuilder()
                  .setQuote(ByteString.copyFrom(quote))
                  .setSignature(ByteString.copyFrom(signature))
                  .build());
      assertTrue(refused.contains("the quote is not signed by the attestation key"), refused);
    }
    bound[0] ^= 1;
    String other = refusal(evidence);
    assertTrue(other.contains("made for another challenge"), other);
  }

  @Test
  @Tag("attack")
  @DisplayName("a program whose event is given another type still counts as a program")
  void anotherType() {
    byte[] log = evidence.getEventLog().toByteArray();
    ByteBuffer events = ByteBuffer.wrap(log).order(ByteOrder.LITTLE_ENDIAN);
    int changed = 0;
    for (int at = 0; at < log.length - Integer.BYTES; at++) {
      if (events.getInt(at) == PROGRAM) {
        events.putInt(at, ACTION);
        changed++;
      }
    }
    assertNotEquals(0, changed);
    assertEquals(check(evidence).getProgramsList(), withLog(log).getProgramsList());
  }

  @Test
  @Tag("attack")
  @DisplayName("a changed text of the event for Secure Boot makes its state unknown, never on")
  void claimedSecureBoot() {
    byte[] log = evidence.getEventLog().toByteArray();
    byte[] name = "SecureBoot".getBytes(java.nio.charset.StandardCharsets.UTF_16LE);
    int at = 0;
    while (!Arrays.equals(log, at, at + name.length, name, 0, name.length)) {
      at++;
    }
    log[at + name.length] = 1;
    assertEquals(SecureBoot.SECURE_BOOT_UNKNOWN, withLog(log).getSecureBoot());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a log that is cut anywhere, or has any byte changed, is refused or hides no program")
  void damagedLog() {
    byte[] log = evidence.getEventLog().toByteArray();
    AttestedMachine honest = check(evidence);
    Random random = new Random(2);
    for (int round = 0; round < 300; round++) {
      byte[] damaged = log.clone();
      if (round % 3 == 0) {
        damaged = Arrays.copyOf(damaged, random.nextInt(log.length));
      } else {
        damaged[random.nextInt(log.length)] ^= (byte) (1 + random.nextInt(255));
      }
      try {
        AttestedMachine proved = withLog(damaged);
        // A mark with another text counts as one more program.
        assertTrue(
            proved.getUnexplainedPcrsList().contains(4)
                || proved.getProgramsList().containsAll(honest.getProgramsList()),
            "round " + round);
        assertNotEquals(SecureBoot.SECURE_BOOT_ON, proved.getSecureBoot(), "round " + round);
      } catch (RpcException refused) {
        assertTrue(refused.getMessage().startsWith("attestation: "), refused.getMessage());
      }
    }
  }

  @Test
  @DisplayName("a log without events of PCR 4 or 7 registers a machine of which these are unknown")
  void unmeasured() {
    for (int pcr : List.of(4, 7)) {
      AttestedMachine machine = withLog(without(pcr, evidence.getEventLog().toByteArray()));
      assertEquals(List.of(pcr), machine.getUnexplainedPcrsList());
      assertEquals(pcr == 4 ? 0 : PROGRAMS.size(), machine.getProgramsCount());
      assertEquals(
          pcr == 7 ? SecureBoot.SECURE_BOOT_UNKNOWN : SecureBoot.SECURE_BOOT_OFF,
          machine.getSecureBoot());
    }
  }

  /** Returns a log without the events of a PCR; each event has one digest for each algorithm. */
  private static byte[] without(int pcr, byte[] log) {
    ByteBuffer events = ByteBuffer.wrap(log).order(ByteOrder.LITTLE_ENDIAN);
    // The first event, in the format of TPM 1.2, lists the algorithms with the sizes of digests.
    events.position(28);
    int end = 32 + events.getInt();
    events.position(56);
    Map<Short, Short> sizes = new HashMap<>();
    for (int count = events.getInt(); count > 0; count--) {
      sizes.put(events.getShort(), events.getShort());
    }
    ByteArrayOutputStream kept = new ByteArrayOutputStream();
    kept.write(log, 0, end);
    while (end < log.length) {
      int begin = end;
      events.position(begin + 2 * Integer.BYTES);
      for (int count = events.getInt(); count > 0; count--) {
        short algorithm = events.getShort();
        events.position(events.position() + sizes.get(algorithm));
      }
      int size = events.getInt();
      end = events.position() + size;
      if (events.getInt(begin) != pcr) {
        kept.write(log, begin, end - begin);
      }
    }
    return kept.toByteArray();
  }

  @Test
  @Tag("attack")
  @DisplayName("a key that signs anything, or that left the TPM, is no attestation key")
  void otherAttributes() {
    byte[] key = evidence.getKeys().getAttestation().toByteArray();
    // TPMA_OBJECT follows the size, the type and the digest.
    key[6 + 1] ^= 1;
    String unrestricted =
        assertThrows(RpcException.class, () -> TpmPublic.attestation(key)).getMessage();
    assertTrue(unrestricted.contains("its attributes are 0x"), unrestricted);
    byte[] cut = Arrays.copyOf(key, key.length - 1);
    assertTrue(
        assertThrows(RpcException.class, () -> TpmPublic.attestation(cut))
            .getMessage()
            .contains("it ends after"));
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate of another endorsement key is refused")
  void otherCertificate() {
    byte[] other = evidence.getKeys().getEndorsement().toByteArray();
    // The last byte but one of the modulus, which stays odd and of its length.
    other[other.length - 2] ^= 1;
    String refused =
        assertThrows(
                RpcException.class,
                () ->
                    BootEvidence.check(
                        evidence,
                        TpmPublic.endorsement(other),
                        TpmPublic.attestation(evidence.getKeys().getAttestation().toByteArray()),
                        bound))
            .getMessage();
    assertTrue(refused.contains("is for another key"), refused);
    assertFalse(evidence.getEndorsementCertificate().isEmpty());
  }
}
