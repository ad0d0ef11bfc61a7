package dev.polis.containers;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes a tar in POSIX' form. Owners are root and times are zero, so that the same files always
 * make the same bytes. Its close ends the archive, not the stream.
 */
final class TarWriter implements AutoCloseable {

  private static final int BLOCK = 512;
  private static final int MOST_NAME = 99;

  // The offsets of the fields in a header, from tar(5).
  private static final int MODE = 100;
  private static final int OWNER = 108;
  private static final int GROUP = 116;
  private static final int SIZE = 124;
  private static final int TIME = 136;
  private static final int CHECKSUM = 148;
  private static final int TYPE = 156;
  private static final int MAGIC = 257;

  private static final int NUMBER = 8;
  private static final int LONG_NUMBER = 12;

  private final OutputStream out;

  TarWriter(OutputStream out) {
    this.out = out;
  }

  /** Adds a directory. */
  void directory(String name, int mode) throws IOException {
    header(name + "/", '5', mode, 0);
  }

  /** Adds a file. */
  void file(String name, int mode, byte[] content) throws IOException {
    header(name, '0', mode, content.length);
    out.write(content);
    out.write(new byte[(BLOCK - content.length % BLOCK) % BLOCK]);
  }

  private void header(String name, char type, int mode, int size) throws IOException {
    byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
    if (bytes.length > MOST_NAME) {
      throw new IllegalArgumentException(name + " is too long for a header of tar");
    }
    byte[] header = new byte[BLOCK];
    System.arraycopy(bytes, 0, header, 0, bytes.length);
    octal(header, MODE, NUMBER, mode);
    octal(header, OWNER, NUMBER, 0);
    octal(header, GROUP, NUMBER, 0);
    octal(header, SIZE, LONG_NUMBER, size);
    octal(header, TIME, LONG_NUMBER, 0);
    header[TYPE] = (byte) type;
    byte[] magic = "ustar\00000".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(magic, 0, header, MAGIC, magic.length);
    // The sum counts its own field as blanks.
    Arrays.fill(header, CHECKSUM, CHECKSUM + NUMBER, (byte) ' ');
    int sum = 0;
    for (byte each : header) {
      sum += each & 0xff;
    }
    octal(header, CHECKSUM, NUMBER - 1, sum);
    out.write(header);
  }

  /** Writes a number in octal digits, with a zero byte at the end of its field. */
  private static void octal(byte[] header, int at, int length, int number) {
    String digits = String.format("%0" + (length - 1) + "o", number);
    System.arraycopy(digits.getBytes(StandardCharsets.US_ASCII), 0, header, at, digits.length());
    header[at + length - 1] = 0;
  }

  /** Writes the two empty blocks that end an archive. */
  @Override
  public void close() throws IOException {
    out.write(new byte[2 * BLOCK]);
  }
}
