package dev.polis.storage.slots;

import dev.polis.base.digest.Sha256;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Holds the measurements of the present boot, from the log that the firmware keeps for the TPM, and
 * computes the PCRs of a boot with another boot file.
 */
public final class MeasuredBoot {

  private static final int SHA_256 = 0x000b;
  private static final int SHA_256_BYTES = 32;
  private static final int SHA_1_BYTES = 20;
  private static final int NOT_EXTENDED = 3;
  private static final int SPECIFICATION_BYTES = 24;

  private record Measurement(int pcr, String digest) {}

  private final List<Measurement> measurements = new ArrayList<>();

  private MeasuredBoot(ByteBuffer log) {
    Map<Integer, Integer> sizes = digestSizes(log);
    while (log.remaining() > 0) {
      int pcr = log.getInt();
      int type = log.getInt();
      String sha256 = "";
      for (int count = log.getInt(); count > 0; count--) {
        int algorithm = Short.toUnsignedInt(log.getShort());
        byte[] digest = new byte[sizes.getOrDefault(algorithm, 0)];
        log.get(digest);
        if (algorithm == SHA_256) {
          sha256 = HexFormat.of().formatHex(digest);
        }
      }
      skip(log, log.getInt());
      if (type != NOT_EXTENDED) {
        measurements.add(new Measurement(pcr, sha256));
      }
    }
  }

  /**
   * Reads a log.
   *
   * @throws IOException if there is none, or it has another format
   */
  public static MeasuredBoot read(Path log) throws IOException {
    try {
      return new MeasuredBoot(
          ByteBuffer.wrap(Files.readAllBytes(log)).order(ByteOrder.LITTLE_ENDIAN));
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IOException(log + " is not a log of measurements", e);
    }
  }

  /** Reads the first event, which lists the algorithms of all others. */
  private static Map<Integer, Integer> digestSizes(ByteBuffer log) {
    skip(log, 2 * Integer.BYTES + SHA_1_BYTES);
    int end = log.getInt() + log.position();
    skip(log, SPECIFICATION_BYTES);
    Map<Integer, Integer> sizes = new HashMap<>();
    for (int count = log.getInt(); count > 0; count--) {
      sizes.put(Short.toUnsignedInt(log.getShort()), Short.toUnsignedInt(log.getShort()));
    }
    log.position(end);
    return sizes;
  }

  private static void skip(ByteBuffer log, int bytes) {
    log.position(log.position() + bytes);
  }

  /** Computes PCRs, in this order, as they are if the log is complete. */
  public byte[] pcrs(List<Integer> numbers) {
    return pcrs(numbers, Map.of());
  }

  /**
   * Computes PCRs, in this order, as they will be when another boot file starts in place of the one
   * that did.
   *
   * @throws IOException if this boot did not measure that file, or the other one has other parts
   */
  public byte[] pcrs(List<Integer> numbers, BootFile booted, BootFile next) throws IOException {
    Map<String, String> then = booted.measured();
    Map<String, String> soon = next.measured();
    if (!then.keySet().equals(soon.keySet())) {
      throw new IOException(
          "the new boot file has the parts %s, the present one has %s: another stub made it"
              .formatted(soon.keySet(), then.keySet()));
    }
    if (measurements.stream().noneMatch(each -> each.digest().equals(then.get("program")))) {
      throw new IOException("the boot file on the ESP is not the one that this machine has booted");
    }
    Map<String, String> changes = new HashMap<>();
    then.forEach((part, digest) -> changes.put(digest, soon.get(part)));
    return pcrs(numbers, changes);
  }

  private byte[] pcrs(List<Integer> numbers, Map<String, String> changes) {
    ByteBuffer all = ByteBuffer.allocate(numbers.size() * SHA_256_BYTES);
    for (int number : numbers) {
      byte[] value = new byte[SHA_256_BYTES];
      for (Measurement each : measurements) {
        if (each.pcr() == number) {
          MessageDigest digest = Sha256.begin();
          digest.update(value);
          value =
              digest.digest(
                  HexFormat.of().parseHex(changes.getOrDefault(each.digest(), each.digest())));
        }
      }
      all.put(value);
    }
    return all.array();
  }
}
