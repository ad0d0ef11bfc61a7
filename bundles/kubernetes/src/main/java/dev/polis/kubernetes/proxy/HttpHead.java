package dev.polis.kubernetes.proxy;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Holds the first line and the header fields of an HTTP/1.1 message. It keeps bytes above 127 as
 * the characters of the same number.
 *
 * @param line the first line
 * @param fields in their order
 */
record HttpHead(String line, List<Field> fields) {

  /**
   * The largest head: clients of Kubernetes send less than 4 KiB, and a token or a long list of
   * accepted types still fits.
   */
  static final int MOST_BYTES = 64 * 1024;

  /** The largest head of a client without a certificate, whose token has some 2 KiB. */
  static final int MOST_BYTES_OF_STRANGERS = 16 * 1024;

  private static final int MOST_FIELDS = 200;

  /** The characters of a header's name, besides letters and digits. */
  private static final String TOKEN_MARKS = "!#$%&'*+.^_`|~-";

  /** The fields for one connection, which the proxy does not pass on. */
  private static final Set<String> OF_CONNECTION =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-connection",
          "proxy-authenticate",
          "proxy-authorization",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "content-length");

  /**
   * Holds one header field.
   *
   * @param name the name as received
   * @param value the value without surrounding space
   */
  record Field(String name, String value) {
    boolean is(String other) {
      return name.equalsIgnoreCase(other);
    }
  }

  HttpHead {
    fields = List.copyOf(fields);
  }

  /**
   * Reads a head, and no byte after it.
   *
   * @param most the most bytes
   * @throws EOFException if the peer ends the connection first
   * @throws HttpSyntaxException if it is not well-formed
   */
  static HttpHead read(InputStream in, int most) throws IOException {
    Reader reader = new Reader(in, most);
    String line = reader.line();
    List<Field> fields = new ArrayList<>();
    for (String next = reader.line(); !next.isEmpty(); next = reader.line()) {
      if (fields.size() == MOST_FIELDS) {
        throw new HttpSyntaxException(
            HttpCodes.HEAD_TOO_LARGE, "the request has more than " + MOST_FIELDS + " headers");
      }
      fields.add(field(next));
    }
    return new HttpHead(line, fields);
  }

  /**
   * Reads a header field.
   *
   * @throws HttpSyntaxException if the line is no field
   */
  static Field field(String line) throws HttpSyntaxException {
    int colon = line.indexOf(':');
    if (!isToken(line, colon)) {
      throw HttpSyntaxException.bad(
          "a header begins with \"%s\" and not with a name and a colon; do not continue a header on"
                  .formatted(printable(line.substring(0, Math.min(line.length(), 40))))
              + " a second line");
    }
    return new Field(line.substring(0, colon), stripped(line.substring(colon + 1)));
  }

  /** Returns whether the first characters of a line form a name. */
  private static boolean isToken(String line, int length) {
    for (int at = 0; at < length; at++) {
      char next = line.charAt(at);
      boolean taken =
          next >= 'a' && next <= 'z'
              || next >= 'A' && next <= 'Z'
              || next >= '0' && next <= '9'
              || TOKEN_MARKS.indexOf(next) >= 0;
      if (!taken) {
        return false;
      }
    }
    return length > 0;
  }

  /** Removes spaces and tabs, and no other characters. */
  private static String stripped(String value) {
    int from = 0;
    int to = value.length();
    while (from < to && blank(value.charAt(from))) {
      from++;
    }
    while (to > from && blank(value.charAt(to - 1))) {
      to--;
    }
    return value.substring(from, to);
  }

  private static boolean blank(char character) {
    return character == ' ' || character == '\t';
  }

  static String printable(String text) {
    return text.replaceAll("[^ -~]", "?");
  }

  /** Returns all values of a header, in their order. */
  List<String> values(String name) {
    // The proxy calls this ten times for each request, mostly for an absent header.
    List<String> values = List.of();
    for (Field field : fields) {
      if (field.is(name)) {
        values = values.isEmpty() ? new ArrayList<>() : values;
        values.add(field.value());
      }
    }
    return values;
  }

  /**
   * Returns the value of a header that a message may have at most once.
   *
   * @throws HttpSyntaxException if the message has it more than once
   */
  Optional<String> single(String name) throws HttpSyntaxException {
    List<String> values = values(name);
    if (values.size() > 1) {
      throw HttpSyntaxException.bad(
          "the request has the header %s %d times; send it once".formatted(name, values.size()));
    }
    return values.isEmpty() ? Optional.empty() : Optional.of(values.getFirst());
  }

  /** Returns whether a header with a list of words contains one, in any case. */
  boolean lists(String name, String word) {
    for (String listed : words(name)) {
      if (listed.equalsIgnoreCase(word)) {
        return true;
      }
    }
    return false;
  }

  private List<String> words(String name) {
    List<String> words = new ArrayList<>();
    for (String value : values(name)) {
      for (String word : value.split(",")) {
        words.add(stripped(word));
      }
    }
    return words;
  }

  /** Returns the fields of the message, without those of its connection. */
  List<Field> endToEnd() {
    Set<String> named = new HashSet<>();
    words("Connection").forEach(word -> named.add(word.toLowerCase(Locale.ROOT)));
    List<Field> kept = new ArrayList<>(fields.size());
    for (Field field : fields) {
      String name = field.name().toLowerCase(Locale.ROOT);
      if (!OF_CONNECTION.contains(name) && !named.contains(name)) {
        kept.add(field);
      }
    }
    return kept;
  }

  /** Reads lines that end with CR LF, from a limited number of bytes. */
  static final class Reader {
    /**
     * The bytes of a buffer, enough for nearly all lines; the reader reads longer ones byte by
     * byte.
     */
    private static final int BLOCK = 512;

    private final InputStream in;
    private final byte[] block = new byte[BLOCK];
    private final int most;
    private int left;

    Reader(InputStream in, int most) {
      this.in = in;
      this.most = most;
      this.left = most;
    }

    /** Reads a line that may be as long as all other lines together. */
    String lineOfItsOwn() throws IOException {
      left = most;
      return line();
    }

    /** Reads a line without its end. */
    String line() throws IOException {
      int length = whole();
      return length < 0 ? byteByByte() : new String(block, 0, length, StandardCharsets.ISO_8859_1);
    }

    /**
     * Takes a complete line from the buffer, since single bytes took nine tenths of the time of a
     * head.
     *
     * @return its length; negative if the caller must read the line byte by byte
     */
    private int whole() throws IOException {
      if (!in.markSupported()) {
        return -1;
      }
      in.mark(BLOCK);
      int got = in.read(block, 0, Math.min(BLOCK, left));
      in.reset();
      for (int at = 0; at < got - 1; at++) {
        byte next = block[at];
        if (next == '\r' && block[at + 1] == '\n') {
          in.skipNBytes(at + 2);
          left -= at + 2;
          return at;
        }
        if (refused(next & 0xff)) {
          return -1;
        }
      }
      return -1;
    }

    private static boolean refused(int next) {
      return next < ' ' && next != '\t' || next == 127;
    }

    private String byteByByte() throws IOException {
      ByteArrayOutputStream line = new ByteArrayOutputStream(128);
      int next = next();
      while (next != '\r') {
        if (next == '\n') {
          throw HttpSyntaxException.bad("a line ends with LF alone; end each line with CR LF");
        }
        if (refused(next)) {
          throw HttpSyntaxException.bad("the head holds the control character %d".formatted(next));
        }
        line.write(next);
        next = next();
      }
      if (next() != '\n') {
        throw HttpSyntaxException.bad("the head holds a CR that no LF follows");
      }
      return line.toString(StandardCharsets.ISO_8859_1);
    }

    private int next() throws IOException {
      if (left == 0) {
        throw new HttpSyntaxException(HttpCodes.HEAD_TOO_LARGE, "the head is too large");
      }
      left--;
      int next = in.read();
      if (next < 0) {
        throw new EOFException("the connection ended within a head");
      }
      return next;
    }
  }
}
