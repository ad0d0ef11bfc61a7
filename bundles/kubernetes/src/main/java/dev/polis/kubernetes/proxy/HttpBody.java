package dev.polis.kubernetes.proxy;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Finds the end of a message's body, and passes the body to the next peer. */
sealed interface HttpBody {

  /** Means that the message has no body. */
  record None() implements HttpBody {}

  /**
   * Means that the body has a known length.
   *
   * @param length the number of bytes
   */
  record Sized(long length) implements HttpBody {}

  /** Means that chunks follow, each with its length. */
  record Chunked() implements HttpBody {}

  /** Means that the end of the connection ends the body. */
  record UntilEnd() implements HttpBody {}

  /** The most bytes of one write to the next peer. */
  int BUFFER = 16 * 1024;

  /**
   * The longest line of chunks and trailers: a chunk's length has at most 15 digits, and known
   * trailers are short.
   */
  int LONGEST_LINES = 4096;

  /** The number of decimal digits of a petabyte; more digits are an attempt to overflow. */
  Pattern LENGTH = Pattern.compile("[0-9]{1,15}");

  /** The most hexadecimal digits of a chunk's length, so that it fits into a long. */
  int MOST_DIGITS = 15;

  /**
   * Returns the body of a request.
   *
   * @throws HttpSyntaxException if the head does not define it in exactly one way
   */
  static HttpBody ofRequest(HttpHead head) throws HttpSyntaxException {
    Optional<HttpBody> told = told(head);
    return told.isPresent() ? told.get() : new None();
  }

  /**
   * Returns the body of a response.
   *
   * @param method the method of the request
   * @throws HttpSyntaxException if the head defines it in two ways
   */
  static HttpBody ofResponse(HttpHead head, int code, String method) throws HttpSyntaxException {
    if (method.equals("HEAD")
        || code == HttpCodes.NO_CONTENT
        || code == HttpCodes.NOT_MODIFIED
        || code < HttpCodes.OK) {
      return new None();
    }
    Optional<HttpBody> told = told(head);
    return told.isPresent() ? told.get() : new UntilEnd();
  }

  private static Optional<HttpBody> told(HttpHead head) throws HttpSyntaxException {
    Optional<String> length = head.single("Content-Length");
    Optional<String> encoding = head.single("Transfer-Encoding");
    if (length.isPresent() && encoding.isPresent()) {
      throw HttpSyntaxException.bad(
          "the message has Content-Length and Transfer-Encoding; send only one of them");
    }
    if (encoding.isPresent() && !encoding.get().equalsIgnoreCase("chunked")) {
      throw new HttpSyntaxException(
          HttpCodes.NOT_IMPLEMENTED,
          "Transfer-Encoding is \"%s\"; send chunked"
              .formatted(HttpHead.printable(encoding.get())));
    }
    if (length.isPresent() && !LENGTH.matcher(length.get()).matches()) {
      throw HttpSyntaxException.bad(
          "Content-Length is \"%s\", which is not a number of bytes"
              .formatted(HttpHead.printable(length.get())));
    }
    return encoding.isPresent()
        ? Optional.of(new Chunked())
        : length.map(digits -> new Sized(Long.parseLong(digits)));
  }

  /**
   * Returns the headers that describe the body to the next peer; a body without a length gets
   * chunks.
   */
  default List<HttpHead.Field> fields() {
    return switch (this) {
      case None none -> List.of();
      case Sized(long length) ->
          List.of(new HttpHead.Field("Content-Length", Long.toString(length)));
      case Chunked chunked -> List.of(new HttpHead.Field("Transfer-Encoding", "chunked"));
      case UntilEnd end -> List.of(new HttpHead.Field("Transfer-Encoding", "chunked"));
    };
  }

  /** Returns whether the body is empty. */
  default boolean empty() {
    return this instanceof None || this instanceof Sized(long length) && length == 0;
  }

  /**
   * Passes the body to the next peer in the framing of {@link #fields}, and flushes when no more
   * bytes are there.
   *
   * @param progress runs before each part
   * @throws HttpSyntaxException if chunks are not well-formed
   * @throws EOFException if it ends too early
   */
  default void copy(InputStream in, OutputStream out, Runnable progress) throws IOException {
    switch (this) {
      case None none -> {}
      case Sized(long length) -> exactly(length, in, out, progress);
      case Chunked chunked -> chunks(in, out, progress);
      case UntilEnd end -> all(in, out, progress);
    }
    out.flush();
  }

  private static void exactly(long length, InputStream in, OutputStream out, Runnable progress)
      throws IOException {
    byte[] buffer = new byte[(int) Math.min(BUFFER, length)];
    long left = length;
    while (left > 0) {
      progress.run();
      int read = in.read(buffer, 0, (int) Math.min(buffer.length, left));
      if (read < 0) {
        throw new EOFException("the body ended " + left + " bytes too early");
      }
      left -= read;
      out.write(buffer, 0, read);
      flushIfIdle(in, out);
    }
  }

  /** Passes chunks with their borders, so that a received TLS record becomes a sent one. */
  private static void chunks(InputStream in, OutputStream out, Runnable progress)
      throws IOException {
    HttpHead.Reader lines = new HttpHead.Reader(in, LONGEST_LINES);
    for (long length = length(lines); length > 0; length = length(lines)) {
      begin(length, out);
      exactly(length, in, out, progress);
      if (!lines.lineOfItsOwn().isEmpty()) {
        throw HttpSyntaxException.bad("a chunk is longer than it says");
      }
      finish(out);
      flushIfIdle(in, out);
    }
    skipTrailers(in);
    end(out);
  }

  private static void all(InputStream in, OutputStream out, Runnable progress) throws IOException {
    byte[] buffer = new byte[BUFFER];
    progress.run();
    for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
      begin(read, out);
      out.write(buffer, 0, read);
      finish(out);
      flushIfIdle(in, out);
      progress.run();
    }
    end(out);
  }

  private static void begin(long chunk, OutputStream out) throws IOException {
    out.write((Long.toHexString(chunk) + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
  }

  private static void finish(OutputStream out) throws IOException {
    out.write('\r');
    out.write('\n');
  }

  private static void end(OutputStream out) throws IOException {
    out.write("0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
  }

  private static void flushIfIdle(InputStream in, OutputStream out) throws IOException {
    if (in.available() == 0) {
      out.flush();
    }
  }

  /** Reads the length of the next chunk; refuses extensions, which no client uses. */
  private static long length(HttpHead.Reader lines) throws IOException {
    String digits = lines.lineOfItsOwn();
    if (digits.isEmpty()
        || digits.length() > MOST_DIGITS
        || !digits.chars().allMatch(HexFormat::isHexDigit)) {
      throw HttpSyntaxException.bad(
          "a chunk has the length \"%s\", which is not a number"
              .formatted(HttpHead.printable(digits)));
    }
    return HexFormat.fromHexDigitsToLong(digits);
  }

  /** Reads the fields after the last chunk, which the proxy checks but does not pass on. */
  private static void skipTrailers(InputStream in) throws IOException {
    HttpHead.Reader reader = new HttpHead.Reader(in, LONGEST_LINES);
    for (String next = reader.line(); !next.isEmpty(); next = reader.line()) {
      HttpHead.field(next);
    }
  }
}
