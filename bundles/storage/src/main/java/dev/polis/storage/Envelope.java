package dev.polis.storage;

import dev.polis.base.digest.Sha256;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Holds a file with its kind and version in the first line, then lines of fields, an empty line and
 * the payload. A checksum over all of it detects a truncated or overwritten file, which a protobuf
 * message cannot.
 *
 * <pre>
 *   polis sealed-configuration 1
 *   sealer none
 *   length 412
 *   sha-256 6f1e…            over the lines before this one and the payload
 *
 *   (payload)
 * </pre>
 */
record Envelope(String kind, Map<String, String> fields, byte[] payload) {

  private static final String MAGIC = "polis ";
  private static final String VERSION = " 1";
  // A header that Polis writes has about 200 bytes; a longer one is another file.
  private static final int LONGEST_HEADER = 4096;

  Envelope(String kind, Map<String, String> fields) {
    this(kind, fields, new byte[0]);
  }

  byte[] encode() {
    String head = head();
    String whole = head + "sha-256 " + digest(head, payload) + "\n\n";
    byte[] header = whole.getBytes(StandardCharsets.UTF_8);
    byte[] all = Arrays.copyOf(header, header.length + payload.length);
    System.arraycopy(payload, 0, all, header.length, payload.length);
    return all;
  }

  private String head() {
    StringBuilder head = new StringBuilder(MAGIC).append(kind).append(VERSION).append('\n');
    fields.forEach((name, value) -> head.append(name).append(' ').append(value).append('\n'));
    return head.append("length ").append(payload.length).append('\n').toString();
  }

  /**
   * Reads an envelope.
   *
   * @param required the required fields
   * @throws IllegalArgumentException naming the difference from this kind
   */
  static Envelope decode(String kind, byte[] bytes, String... required) {
    String first = MAGIC + kind + VERSION + "\n";
    String text =
        new String(bytes, 0, Math.min(bytes.length, LONGEST_HEADER), StandardCharsets.ISO_8859_1);
    if (!text.startsWith(first)) {
      throw new IllegalArgumentException(
          "the %d bytes do not begin with \"%s\"".formatted(bytes.length, first.strip()));
    }
    int end = text.indexOf("\n\n");
    if (end < 0) {
      throw new IllegalArgumentException("its header of " + bytes.length + " bytes has no end");
    }
    Map<String, String> fields = fields(text.substring(first.length(), end));
    byte[] payload = Arrays.copyOfRange(bytes, end + 2, bytes.length);
    String length = taken(fields, "length");
    if (!length.equals(Integer.toString(payload.length))) {
      throw new IllegalArgumentException(
          "its header announces %s bytes, %d are there".formatted(length, payload.length));
    }
    String checksum = taken(fields, "sha-256");
    Envelope envelope = new Envelope(kind, Map.copyOf(fields), payload);
    if (!checksum.equals(digest(text.substring(0, text.lastIndexOf("sha-256 ", end)), payload))) {
      throw new IllegalArgumentException("the checksum does not match the content");
    }
    for (String name : required) {
      envelope.field(name);
    }
    return envelope;
  }

  /** Returns a required field. */
  String field(String name) {
    String value = fields.get(name);
    if (value == null) {
      throw new IllegalArgumentException("its header has no \"" + name + "\"");
    }
    return value;
  }

  private static Map<String, String> fields(String lines) {
    Map<String, String> fields = new LinkedHashMap<>();
    for (String line : lines.split("\n")) {
      int space = line.indexOf(' ');
      if (space <= 0) {
        throw new IllegalArgumentException("its header has a line without a value");
      }
      fields.put(line.substring(0, space), line.substring(space + 1));
    }
    return fields;
  }

  private static String taken(Map<String, String> fields, String name) {
    String value = fields.remove(name);
    if (value == null) {
      throw new IllegalArgumentException("its header has no \"" + name + "\"");
    }
    return value;
  }

  private static String digest(String head, byte[] payload) {
    MessageDigest digest = Sha256.begin();
    digest.update(head.getBytes(StandardCharsets.ISO_8859_1));
    return HexFormat.of().formatHex(digest.digest(payload));
  }
}
