package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Refuses sparse files in a layer: containerd writes their holes as zeros, so that a few bytes fill
 * any disk. It looks at each block that has a header's checksum, whatever stands around it, so that
 * no other reader of the tar can find a header that it has taken for content.
 */
final class SparseFiles {

  /** Begins the keys that say where a file has its holes. */
  private static final String KEYS = "GNU.sparse";

  /**
   * Where the checksum of a header is, and how long; it is made as if its own field held blanks.
   */
  private static final int CHECKSUM = 148;

  private static final int CHECKSUM_LENGTH = 8;

  /** Go takes blanks and zeros around the digits, and no digits for zero. */
  private static final Pattern DIGITS = Pattern.compile("(?s)[ \\x00]*([0-7]*)(?:[ \\x00].*)?");

  private final String layer;

  /** Bytes that are still to come of an extended header. */
  private long left;

  /** The end of the block before, in which a key may have begun. */
  private String tail = "";

  SparseFiles(String layer) {
    this.layer = layer;
  }

  /**
   * Looks at the next block.
   *
   * @param length how many bytes of it there are; fewer than a block at the end alone
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
        "%s of the archive has a sparse file, whose size unpacked is not known before; make the image again without it, such as with \"cp --sparse=never\""
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
