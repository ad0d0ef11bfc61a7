package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Refuses sparse files in a layer: containerd writes their holes as zeros, so that a few bytes fill
 * any disk. It checks each block with the checksum of a header, regardless of its surroundings, so
 * that no other reader of the tar can find a header that this took for content.
 */
final class SparseFiles {

  /** The prefix of the keys that list the holes of a file. */
  private static final String KEYS = "GNU.sparse";

  /** The place and the length of a header's checksum, which counts its own field as blanks. */
  private static final int CHECKSUM = 148;

  private static final int CHECKSUM_LENGTH = 8;

  /** Go accepts blanks and zeros around the digits, and reads no digits as zero. */
  private static final Pattern DIGITS = Pattern.compile("(?s)[ \\x00]*([0-7]*)(?:[ \\x00].*)?");

  private final String layer;

  /** Bytes that are still to come of an extended header. */
  private long left;

  /** The end of the previous block, in which a key may have begun. */
  private String tail = "";

  SparseFiles(String layer) {
    this.layer = layer;
  }

  /**
   * Checks the next block.
   *
   * @param length the number of its bytes; fewer than a block only at the end
   * @throws ContainersException if it makes a file sparse
   */
  void refuse(byte[] block, int length) {
    if (left > 0) {
      String text = tail + new String(block, 0, length, StandardCharsets.ISO_8859_1);
      if (text.contains(KEYS)) {
        throw refusal();
      }
      left -= length;
      tail = left > 0 ? text.substring(Math.max(0, text.length() - KEYS.length())) : "";
    }
    char type = (char) block[ImageArchive.TYPE];
    if (length == ImageArchive.BLOCK && (type == 'S' || type == 'x') && isHeader(block)) {
      if (type == 'S') {
        throw refusal();
      }
      left = Math.max(left, ImageArchive.size(block));
    }
  }

  private ContainersException refusal() {
    return new ContainersException(
        "%s of the archive has a sparse file, whose unpacked size is unknown; make the image again without it, for example with \"cp --sparse=never\""
            .formatted(layer));
  }

  private static boolean isHeader(byte[] block) {
    Matcher digits =
        DIGITS.matcher(new String(block, CHECKSUM, CHECKSUM_LENGTH, StandardCharsets.ISO_8859_1));
    if (!digits.matches()) {
      return false;
    }
    int told = digits.group(1).isEmpty() ? 0 : Integer.parseInt(digits.group(1), 8);
    // Old writers summed signed bytes; readers take both.
    int unsigned = CHECKSUM_LENGTH * ' ';
    int signed = unsigned;
    for (int at = 0; at < block.length; at++) {
      if (at < CHECKSUM || at >= CHECKSUM + CHECKSUM_LENGTH) {
        unsigned += block[at] & 0xff;
        signed += block[at];
      }
    }
    return told == unsigned || told == signed;
  }
}
