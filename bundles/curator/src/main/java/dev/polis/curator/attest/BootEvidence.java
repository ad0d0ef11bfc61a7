package dev.polis.curator.attest;

import com.google.protobuf.ByteString;
import dev.polis.base.digest.Sha256;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.cluster.AttestedMachine.SecureBoot;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/** Derives what a machine has booted from its evidence. */
public final class BootEvidence {

  /** The PCR of the programs that the firmware starts. */
  private static final int PROGRAMS = 4;

  /** The PCR of Secure Boot and its keys. */
  private static final int SECURE_BOOT = 7;

  /** The PCR of the options that a boot loader gives to the boot file. */
  public static final int OPTIONS = 12;

  /** What systemd's stub takes beside the boot file: options, credentials, further file systems. */
  private static final Map<Integer, String> BESIDE =
      Map.of(
          12, "options and credentials beside the boot file",
          13, "file systems beside the boot file");

  /** The PCRs about which the log makes statements, and so may not contradict. */
  public static final Set<Integer> DECISIVE = Set.of(PROGRAMS, SECURE_BOOT);

  private static final long SEPARATOR = 4;
  private static final long ACTION = 0x80000007L;
  private static final Set<String> ACTIONS =
      Set.of(
          "Calling EFI Application from Boot Option",
          "Returning from EFI Application from Boot Option");
  private static final List<byte[]> SEPARATORS = List.of(new byte[4], new byte[] {-1, -1, -1, -1});

  // EFI_GLOBAL_VARIABLE, {8be4df61-93ca-11d2-aa0d-00e098032b8c}.
  private static final byte[] GLOBAL = HexFormat.of().parseHex("61dfe48bca93d211aa0d00e098032b8c");
  private static final byte[] VARIABLE = "SecureBoot".getBytes(StandardCharsets.UTF_16LE);

  private BootEvidence() {}

  /** Names what a PCR measures that has to be empty. */
  public static String beside(int pcr) {
    return BESIDE.getOrDefault(pcr, "unknown");
  }

  /**
   * Checks the quote and the log of evidence whose challenge was answered.
   *
   * @param bound what the quote has to be bound to
   */
  public static AttestedMachine check(
      AttestationEvidence evidence, TpmPublic endorsement, TpmPublic attestation, byte[] bound) {
    SortedMap<Integer, byte[]> quoted =
        TpmQuote.check(
            attestation,
            evidence.getQuote().toByteArray(),
            evidence.getSignature().toByteArray(),
            bound,
            evidence.getPcrs().toByteArray());
    EventLog log = new EventLog(evidence.getEventLog().toByteArray());
    AttestedMachine.Builder machine =
        AttestedMachine.newBuilder()
            .setNonce(evidence.getNonce())
            .setEndorsementKey(
                ByteString.copyFrom(
                    Sha256.begin().digest(evidence.getKeys().getEndorsement().toByteArray())));
    quoted.forEach((pcr, value) -> compare(log, pcr, value, machine));
    programs(log.of(PROGRAMS)).forEach(machine::addPrograms);
    if (!machine.getUnexplainedPcrsList().contains(OPTIONS)) {
      log.of(OPTIONS).forEach(event -> machine.addOptions(ByteString.copyFrom(event.digest())));
    }
    machine.setSecureBoot(secureBoot(log.of(SECURE_BOOT)));
    EndorsementCertificate.describe(
        endorsement, evidence.getEndorsementCertificate().toByteArray(), machine);
    return machine.build();
  }

  private static void compare(
      EventLog log, int pcr, byte[] quoted, AttestedMachine.Builder machine) {
    byte[] replayed = log.replayed(pcr);
    if (!Arrays.equals(replayed, quoted)) {
      // A firmware may write no log for a PCR; the approver reads that nothing is known of it.
      if (DECISIVE.contains(pcr) && !log.of(pcr).isEmpty()) {
        throw Refusal.denied(
            "attestation: the event log does not explain PCR %d: its %d events give %s, and the TPM"
                + " has %s; the log was changed, or the machine's firmware writes a wrong one",
            pcr, log.of(pcr).size(), hex(replayed), hex(quoted));
      }
      machine.addUnexplainedPcrs(pcr);
    }
    if (BESIDE.containsKey(pcr) && !Arrays.equals(quoted, new byte[TpmQuote.PCR_BYTES])) {
      machine.addChangedPcrs(pcr);
    }
  }

  /** Returns the digest of each program, without the events whose text is fixed. */
  private static List<ByteString> programs(List<EventLog.Event> events) {
    return events.stream()
        .filter(event -> !isMark(event))
        .map(event -> ByteString.copyFrom(event.digest()))
        .toList();
  }

  /** Returns whether an event is one of those whose text is fixed, and so is no program. */
  private static boolean isMark(EventLog.Event event) {
    if (!event.saysWhatItMeasures()) {
      return false;
    }
    return event.type() == SEPARATOR
            && SEPARATORS.stream().anyMatch(each -> Arrays.equals(each, event.data()))
        || event.type() == ACTION
            && ACTIONS.contains(new String(event.data(), StandardCharsets.US_ASCII));
  }

  /** Reads the variable that the firmware measures first (UEFI_VARIABLE_DATA). */
  private static SecureBoot secureBoot(List<EventLog.Event> events) {
    if (events.isEmpty() || !events.getFirst().saysWhatItMeasures()) {
      return SecureBoot.SECURE_BOOT_UNKNOWN;
    }
    byte[] data = events.getFirst().data();
    byte[] head =
        ByteBuffer.allocate(GLOBAL.length + 2 * Long.BYTES + VARIABLE.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(GLOBAL)
            .putLong(VARIABLE.length / Character.BYTES)
            .putLong(1)
            .put(VARIABLE)
            .array();
    if (data.length != head.length + 1 || !Arrays.equals(Arrays.copyOf(data, head.length), head)) {
      return SecureBoot.SECURE_BOOT_UNKNOWN;
    }
    return data[head.length] == 1 ? SecureBoot.SECURE_BOOT_ON : SecureBoot.SECURE_BOOT_OFF;
  }

  static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
