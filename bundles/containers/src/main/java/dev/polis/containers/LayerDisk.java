package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Counts the disk space of a layer, block by block of its tar, and refuses sparse files. containerd
 * writes their holes as zeros, so that a few bytes fill any disk.
 *
 * <p>It counts each block with a header's checksum, whatever surrounds the block, so that no other
 * reader of the tar finds an uncounted header. So it never counts too little, and sometimes too
 * much: a tar inside the layer counts as if it were unpacked, and a directory counts again if the
 * layer returns to it after others.
 */
final class LayerDisk {

  /** The block size of the file systems of images. */
  private static final int BLOCK = 4096;

  /**
   * The bytes of an inode of XFS; one of ext4 has half of it. The header's own block of the tar
   * stands for the entry in the directory: it has room for a name of 255 bytes in a half-full
   * directory.
   */
  private static final int INODE = 512;

  /** The longest target of a symbolic link in an inode of ext4; a longer one takes a block. */
  private static final int SHORT_TARGET = 59;

  /** The prefix of the keys for the holes of a file. */
  private static final String SPARSE = "GNU.sparse";

  /**
   * The keys whose values take a block: attributes, long targets, and a size outside the header.
   */
  private static final Pattern BLOCKS = Pattern.compile("SCHILY\\.xattr\\.|linkpath=|size=");

  private static final int LONGEST_KEY = "SCHILY.xattr.".length();

  private static final Pattern PATH = Pattern.compile("(?<![a-z])path=([^\\n]*)");

  /** The longest path in Linux, beyond which an earlier begin does not count. */
  private static final int LONGEST_PATH = 4096;

  /** The place of a header's checksum, which is computed with blanks in its own field. */
  private static final int CHECKSUM = 148;

  private static final int CHECKSUM_LENGTH = 8;

  /** The form of numbers in Go: blanks and zeros around the digits, and no digits for zero. */
  private static final Pattern DIGITS = Pattern.compile("(?s)[ \\x00]*([0-7]*)(?:[ \\x00].*)?");

  private final String layer;

  /** The bytes of extended headers that are still to come. */
  private long left;

  /** True if the extended header contains only the name of the next entry. */
  private boolean longName;

  /** True if an extended header has named the next entry. */
  private boolean named;

  /** The last bytes of an extended header, in which a key or a path may have begun. */
  private String tail = "";

  /** The directories above the last entry, from the top; all are counted. */
  private List<String> above = List.of();

  LayerDisk(String layer) {
    this.layer = layer;
  }

  /**
   * Counts the next block of the tar, and returns its disk space.
   *
   * @param length the number of its bytes; only the last block may be shorter
   * @throws ContainersException if it makes a file sparse
   */
  DiskSpace next(byte[] block, int length) {
    DiskSpace taken = new DiskSpace(length, 0);
    boolean inside = left > 0;
    if (inside) {
      taken = taken.plus(extended(new String(block, 0, length, StandardCharsets.ISO_8859_1)));
      left -= length;
      longName &= left > 0;
    }
    return length == ImageArchive.BLOCK && isHeader(block)
        ? taken.plus(header(block, inside))
        : taken;
  }

  private DiskSpace extended(String content) {
    String text = tail + content;
    if (text.contains(SPARSE)) {
      throw refusal();
    }
    boolean block = BLOCKS.matcher(text).find(Math.max(0, tail.length() - LONGEST_KEY));
    DiskSpace taken = new DiskSpace(block ? BLOCK : 0, 0);
    if (longName) {
      named = true;
      taken = taken.plus(under(text.split("\0", 2)[0], false));
    }
    Matcher paths = PATH.matcher(text);
    while (paths.find()) {
      named = true;
      taken = taken.plus(under(paths.group(1), false));
    }
    tail = left > content.length() ? text.substring(Math.max(0, text.length() - LONGEST_PATH)) : "";
    return taken;
  }

  private DiskSpace header(byte[] block, boolean inside) {
    char type = (char) block[ImageArchive.TYPE];
    switch (type) {
      case 'S' -> throw refusal();
      case 'x', 'L' -> {
        left = Math.max(left, ImageArchive.size(block));
        longName |= type == 'L';
        return new DiskSpace(0, 0);
      }
      case 'g' -> {
        return new DiskSpace(0, 0);
      }
      case 'K' -> {
        return new DiskSpace(BLOCK, 0);
      }
      default -> {
        String name =
            field(block, ImageArchive.PREFIX, ImageArchive.PREFIX_LENGTH)
                + "/"
                + field(block, 0, ImageArchive.NAME_LENGTH);
        DiskSpace taken = under(name, type == '5').plus(entry(block, type));
        boolean unknown = named && type == '5';
        named &= inside;
        return unknown ? taken.plus(of(1)) : taken;
      }
    }
  }

  /** Returns the space of an entry itself; a directory counts with those above it. */
  private static DiskSpace entry(byte[] block, char type) {
    return switch (type) {
      case '1', '5' -> new DiskSpace(0, 0);
      case '2' ->
          new DiskSpace(
              INODE
                  + (field(block, ImageArchive.LINK, ImageArchive.LINK_LENGTH).length()
                          > SHORT_TARGET
                      ? BLOCK
                      : 0),
              1);
      case '3', '4', '6' -> new DiskSpace(INODE, 1);
      default -> new DiskSpace(INODE + unfilled(block), 1);
    };
  }

  /** Returns a text of a header, a character for each byte. */
  private static String field(byte[] block, int at, int length) {
    return new String(block, at, length, StandardCharsets.ISO_8859_1).split("\0", 2)[0];
  }

  /** Returns the unused bytes in a file's last block; unknown for a size in other digits. */
  private static long unfilled(byte[] block) {
    try {
      return Math.floorMod(-ImageArchive.size(block), BLOCK);
    } catch (NumberFormatException otherDigits) {
      return BLOCK;
    }
  }

  /** Returns the space of the directories that containerd makes for a path. */
  private DiskSpace under(String path, boolean directory) {
    String folders = directory ? path : path.substring(0, path.lastIndexOf('/') + 1);
    List<String> names =
        Stream.of(folders.split("/")).filter(name -> !name.isEmpty() && !name.equals(".")).toList();
    int known = 0;
    while (known < Math.min(names.size(), above.size())
        && names.get(known).equals(above.get(known))) {
      known++;
    }
    long made = names.size() - known;
    if (made > 0) {
      above = names;
    }
    return new DiskSpace(made * (BLOCK + INODE), made);
  }

  /** Returns the space of files and directories besides those of the layer. */
  static DiskSpace of(int files) {
    return new DiskSpace((long) files * (BLOCK + INODE), files);
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
    // Old writers summed signed bytes; readers accept both sums.
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
