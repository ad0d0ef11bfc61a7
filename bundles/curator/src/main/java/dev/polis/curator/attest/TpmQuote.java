package dev.polis.curator.attest;

import dev.polis.base.digest.Sha256;
import dev.polis.curator.record.Refusal;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.Signature;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Checks quotes (TPMS_ATTEST). */
final class TpmQuote {

  /**
   * The PCRs of a quote: the firmware, its settings, what it starts, and what the stub measures.
   */
  static final List<Integer> PCRS = List.of(0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 14);

  /** The length of a PCR's value, a SHA-256. */
  static final int PCR_BYTES = 32;

  private static final long GENERATED = 0xff544347L;
  private static final int QUOTE = 0x8018;
  // TPMS_CLOCK_INFO: time, resets, restarts, whether it is safe; and the version of the firmware.
  private static final int CLOCK_AND_VERSION = 8 + 4 + 4 + 1 + 8;
  private static final int SELECTION = PCRS.stream().mapToInt(pcr -> 1 << pcr).sum();

  private TpmQuote() {}

  /**
   * Checks that the holder of a key has signed these values for a challenge.
   *
   * @param bound what the extra data has to be
   * @param pcrs the values of the PCRs, one after the other
   * @return the values by the number of the PCR
   */
  static SortedMap<Integer, byte[]> check(
      TpmPublic attestation, byte[] quote, byte[] signature, byte[] bound, byte[] pcrs) {
    if (pcrs.length != PCRS.size() * PCR_BYTES) {
      throw Refusal.invalid(
          "attestation: pcrs has %d bytes; the %d PCRs of a quote have %d",
          pcrs.length, PCRS.size(), PCRS.size() * PCR_BYTES);
    }
    if (!isSigned(attestation, quote, signature)) {
      throw Refusal.denied("attestation: the quote is not signed by the attestation key");
    }
    TpmReader reader = TpmReader.ofTpm("quote", quote);
    long magic = reader.u32();
    if (magic != GENERATED) {
      throw reader.refused("it begins with 0x%x: no TPM has made it", magic);
    }
    reader.expect("type", QUOTE);
    // The name of the signing key within its hierarchy.
    reader.sized();
    if (!MessageDigest.isEqual(bound, reader.sized())) {
      throw Refusal.denied(
          "attestation: the quote was made for another challenge, or for the key of another node");
    }
    reader.take(CLOCK_AND_VERSION);
    if (reader.u32() != 1) {
      throw reader.refused("it has more banks of PCRs than that of SHA-256");
    }
    reader.expect("bank", TpmPublic.SHA256);
    byte[] selected = reader.take(reader.u8());
    int selection =
        IntStream.range(0, Math.min(selected.length, Integer.BYTES))
            .map(at -> Byte.toUnsignedInt(selected[at]) << at * Byte.SIZE)
            .sum();
    if (selection != SELECTION || selected.length > Integer.BYTES) {
      throw reader.refused("it selects the PCRs 0x%x, and must select 0x%x", selection, SELECTION);
    }
    byte[] digest = reader.sized();
    reader.end();
    if (!MessageDigest.isEqual(digest, Sha256.begin().digest(pcrs))) {
      throw Refusal.denied("attestation: the values of the PCRs are not those of the quote");
    }
    SortedMap<Integer, byte[]> values = new TreeMap<>();
    for (int at = 0; at < PCRS.size(); at++) {
      values.put(PCRS.get(at), Arrays.copyOfRange(pcrs, at * PCR_BYTES, (at + 1) * PCR_BYTES));
    }
    return values;
  }

  private static boolean isSigned(TpmPublic key, byte[] quote, byte[] signature) {
    try {
      Signature check = Signature.getInstance("SHA256withECDSA");
      check.initVerify(key.key());
      check.update(quote);
      return check.verify(signature);
    } catch (GeneralSecurityException malformed) {
      return false;
    }
  }
}
