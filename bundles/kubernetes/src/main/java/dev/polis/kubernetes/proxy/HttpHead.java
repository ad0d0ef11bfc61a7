package dev.polis.kubernetes.proxy;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Holds the first line and the header fields of an HTTP/1.1 message. Bytes above 127 are kept as
 * the characters of the same number.
 *
 * @param line the first line
 * @param fields in their order
 */
record HttpHead(String line, List<Field> fields) {

  /** Clients of Kubernetes send less than 4 KiB; a token or a long list of accepted types fits. */
  static final int MOST_BYTES = 64 * 1024;

  private static final int MOST_FIELDS = 200;
  private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

  /** Fields that concern one connection, and not the message. */
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
   * One header field.
   *
   * @param name as it came
   * @param value without space around it
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
   * Reads a head and nothing more.
   *
   * @throws EOFException if the peer ends the connection first
   * @throws HttpSyntaxException if it is not well-formed
   */
  static HttpHead read(InputStream in) throws IOException {
    Reader reader = new Reader(in, MOST_BYTES);
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

  private static Field field(String line) throws HttpSyntaxException {
    int colon = line.indexOf(':');
    if (colon < 0 || !line.substring(0, colon).matches(TOKEN)) {
      throw HttpSyntaxException.bad(
          "a header begins with \"%s\", which is no name and a colon; headers are not continued on"
                  .formatted(printable(line.substring(0, Math.min(line.length(), 40))))
              + " a second line");
    }
    return new Field(line.substring(0, colon), stripped(line.substring(colon + 1)));
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
    return fields.stream().filter(field -> field.is(name)).map(Field::value).toList();
  }

  /**
   * Returns the value of a header that may be there once.
   *
   * @throws HttpSyntaxException if it is there more than once
   */
  Optional<String> single(String name) throws HttpSyntaxException {
    List<String> values = values(name);
    if (values.size() > 1) {
      throw HttpSyntaxException.bad(
          "the header %s is there %d times; give it once".formatted(name, values.size()));
    }
    return values.stream().findFirst();
  }

  /** Returns whether a header with a list of words holds one, whatever its case. */
  boolean lists(String name, String word) {
    return words(name).anyMatch(word::equalsIgnoreCase);
  }

  private Stream<String> words(String name) {
    return values(name).stream()
        .flatMap(value -> Arrays.stream(value.split(",")))
        .map(HttpHead::stripped);
  }

  /** Returns the fields that belong to the message, and not to the connection it came on. */
  List<Field> endToEnd() {
    Set<String> named =
        Set.copyOf(words("Connection").map(word -> word.toLowerCase(Locale.ROOT)).toList());
    return fields.stream()
        .filter(
            field -> {
              String name = field.name().toLowerCase(Locale.ROOT);
              return !OF_CONNECTION.contains(name) && !named.contains(name);
            })
        .toList();
  }

  /** Reads lines that end with CR LF, from a limited number of bytes. */
  static final class Reader {
    private final InputStream in;
    private int left;

    Reader(InputStream in, int most) {
      this.in = in;
      this.left = most;
    }

    /** Reads a line, without its end. */
    String line() throws IOException {
      ByteArrayOutputStream line = new ByteArrayOutputStream(128);
      int next = next();
      while (next != '\r') {
        if (next == '\n') {
          throw HttpSyntaxException.bad("a line ends with LF alone; lines end with CR LF");
        }
        if (next < ' ' && next != '\t' || next == 127) {
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
