package dev.polis.curator.attest;

import dev.polis.base.digest.Sha256;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads a firmware's log of its measurements (TCG_PCR_EVENT2, "TCG PC Client Platform Firmware
 * Profile") and computes the PCRs that they give.
 */
final class EventLog {

  /** The type of an event that extends no PCR. */
  private static final long NO_ACTION = 3;

  private static final int SHA1_BYTES = 20;
  private static final byte[] VERSION_2 = text("Spec ID Event03\0");
  private static final byte[] LOCALITY = text("StartupLocality\0");
  // Platform class, version, and size of a number.
  private static final int VERSION_BYTES = 4 + 4;

  /**
   * Holds an event.
   *
   * @param digest the SHA-256 that was extended
   * @param data what the firmware says of it
   */
  record Event(int pcr, long type, byte[] digest, byte[] data) {
    /** Returns whether the digest is that of the text, so that the text is true. */
    boolean saysWhatItMeasures() {
      return Arrays.equals(digest, Sha256.begin().digest(data));
    }
  }

  private final List<Event> events = new ArrayList<>();
  private final byte[] first = new byte[TpmQuote.PCR_BYTES]; // of PCR 0

  /** Reads a log to its end. */
  EventLog(byte[] log) {
    TpmReader reader = TpmReader.ofFirmware("event log", log);
    Map<Integer, Integer> sizes = header(reader);
    while (reader.hasMore()) {
      int pcr = (int) reader.u32();
      long type = reader.u32();
      Optional<byte[]> digest = digest(reader, sizes);
      Event event =
          new Event(
              pcr,
              type,
              digest.orElseThrow(() -> reader.refused("an event of PCR %d has no SHA-256", pcr)),
              reader.take(reader.u32()));
      if (type == NO_ACTION) {
        note(event);
      } else {
        events.add(event);
      }
    }
  }

  /** Reads the first event, of an older form, which names the digests; returns their sizes. */
  private static Map<Integer, Integer> header(TpmReader reader) {
    long pcr = reader.u32();
    long type = reader.u32();
    reader.take(SHA1_BYTES);
    TpmReader version = TpmReader.ofFirmware("event log's header", reader.take(reader.u32()));
    if (pcr != 0
        || type != NO_ACTION
        || !Arrays.equals(version.take(VERSION_2.length), VERSION_2)) {
      throw reader.refused("it does not begin with \"Spec ID Event03\": it is not of TPM 2.0");
    }
    version.take(VERSION_BYTES);
    Map<Integer, Integer> sizes = new HashMap<>();
    long algorithms = version.u32();
    for (long at = 0; at < algorithms; at++) {
      sizes.put(version.u16(), version.u16());
    }
    return sizes;
  }

  private static Optional<byte[]> digest(TpmReader reader, Map<Integer, Integer> sizes) {
    Optional<byte[]> found = Optional.empty();
    long count = reader.u32();
    for (long at = 0; at < count; at++) {
      int algorithm = reader.u16();
      if (!sizes.containsKey(algorithm)) {
        throw reader.refused("a digest is of the unannounced algorithm 0x%04x", algorithm);
      }
      byte[] digest = reader.take(sizes.get(algorithm));
      if (algorithm == TpmPublic.SHA256) {
        found = Optional.of(digest);
      }
    }
    return found.filter(digest -> digest.length == TpmQuote.PCR_BYTES);
  }

  /** A TPM that was started at another locality begins with its number in PCR 0. */
  private void note(Event event) {
    byte[] data = event.data();
    if (event.pcr() == 0
        && data.length == LOCALITY.length + 1
        && Arrays.equals(Arrays.copyOf(data, LOCALITY.length), LOCALITY)) {
      first[first.length - 1] = data[LOCALITY.length];
    }
  }

  /** Returns the events that extend a PCR, in their order. */
  List<Event> of(int pcr) {
    return events.stream().filter(event -> event.pcr() == pcr).toList();
  }

  /** Computes the value of a PCR. */
  byte[] replayed(int pcr) {
    byte[] value = pcr == 0 ? first.clone() : new byte[TpmQuote.PCR_BYTES];
    for (Event event : of(pcr)) {
      MessageDigest extended = Sha256.begin();
      extended.update(value);
      value = extended.digest(event.digest());
    }
    return value;
  }

  private static byte[] text(String value) {
    return value.getBytes(StandardCharsets.US_ASCII);
  }
}
