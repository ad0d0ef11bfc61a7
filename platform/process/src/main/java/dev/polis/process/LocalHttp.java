package dev.polis.process;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Sends one HTTP request to a program of this machine, at a unix socket or a loopback port.
 *
 * <p>The JDK's client does not fit: it cannot connect to a unix socket, and keeps a thread between
 * two requests. Netty's codec does not fit: it loads 400 classes for the first answer, which delays
 * etcd at the start of a node, and would only save a third of this class.
 */
public final class LocalHttp {

  private static final int BUFFER_BYTES = 16 << 10;

  /** The largest answer of {@link #status}; a status page has some hundred bytes. */
  private static final int SHORT_ANSWER = 64 << 10;

  private static final int HEXADECIMAL = 16;
  private static final int DECIMAL = 10;
  private static final String LINE_END = "\r\n";

  /**
   * Holds the program's answer, without a copy of the array.
   *
   * @param status the HTTP status, such as 200
   * @param contentType the content type; empty if the program sends none
   * @param body the body without the transfer encoding
   */
  public record Answer(int status, String contentType, byte[] body) {}

  private LocalHttp() {}

  /**
   * Sends a GET request and reads the whole answer.
   *
   * @param program a {@link UnixDomainSocketAddress} or a {@link java.net.InetSocketAddress}
   * @param path the path of the request, such as {@code /metrics}
   * @param within the longest time for the whole request
   * @param mostBytes the largest answer, headers included
   * @throws IOException if the program does not listen, does not answer in time, or does not send
   *     one complete HTTP response
   */
  public static Answer get(SocketAddress program, String path, Duration within, int mostBytes)
      throws IOException {
    long deadline = System.nanoTime() + within.toNanos();
    try (SocketChannel channel = open(program);
        Selector selector = Selector.open()) {
      channel.configureBlocking(false);
      SelectionKey key = channel.register(selector, 0);
      if (!channel.connect(program)) {
        await(key, SelectionKey.OP_CONNECT, deadline, within);
        channel.finishConnect();
      }
      ByteBuffer request =
          ByteBuffer.wrap(
              ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .getBytes(StandardCharsets.US_ASCII));
      while (request.hasRemaining()) {
        await(key, SelectionKey.OP_WRITE, deadline, within);
        channel.write(request);
      }
      return parse(readAll(channel, key, deadline, within, mostBytes));
    }
  }

  /** Sends a request and returns the status of the answer; empty if none came in time. */
  public static Optional<Integer> status(SocketAddress program, String path, Duration within) {
    try {
      return Optional.of(get(program, path, within, SHORT_ANSWER).status());
    } catch (IOException silent) {
      return Optional.empty();
    }
  }

  private static SocketChannel open(SocketAddress program) throws IOException {
    return program instanceof UnixDomainSocketAddress
        ? SocketChannel.open(StandardProtocolFamily.UNIX)
        : SocketChannel.open();
  }

  private static void await(SelectionKey key, int operation, long deadline, Duration within)
      throws IOException {
    key.interestOps(operation);
    key.selector().selectedKeys().clear();
    long millis = Duration.ofNanos(deadline - System.nanoTime()).toMillis();
    if (millis <= 0 || key.selector().select(millis) == 0) {
      throw new SocketTimeoutException("no complete answer within " + within.toMillis() + " ms");
    }
  }

  private static byte[] readAll(
      SocketChannel channel, SelectionKey key, long deadline, Duration within, int mostBytes)
      throws IOException {
    ByteArrayOutputStream answer = new ByteArrayOutputStream(BUFFER_BYTES);
    ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    while (true) {
      await(key, SelectionKey.OP_READ, deadline, within);
      int count = channel.read(buffer);
      if (count < 0) {
        return answer.toByteArray();
      }
      answer.write(buffer.array(), 0, count);
      buffer.clear();
      if (answer.size() > mostBytes) {
        throw new IOException("the answer has more than " + mostBytes + " bytes");
      }
    }
  }

  private static Answer parse(byte[] answer) throws IOException {
    // ISO 8859-1 has one character for each byte, so positions in the text are positions in the
    // bytes.
    String text = new String(answer, StandardCharsets.ISO_8859_1);
    int end = text.indexOf(LINE_END + LINE_END);
    if (end < 0) {
      throw new EOFException("the connection was closed before an answer");
    }
    List<String> head = text.substring(0, end).lines().toList();
    String body = text.substring(end + 2 * LINE_END.length());
    Optional<String> length = header(head, "content-length");
    if (header(head, "transfer-encoding").filter("chunked"::equalsIgnoreCase).isPresent()) {
      body = joinChunks(body);
    } else if (length.isPresent()
        && Integer.compareUnsigned(body.length(), number(length.get(), DECIMAL)) < 0) {
      throw new EOFException(
          "the answer ended after %d of %s bytes".formatted(body.length(), length.get()));
    }
    return new Answer(
        status(head.getFirst()),
        header(head, "content-type").orElse(""),
        body.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static int status(String line) throws IOException {
    String[] words = line.split(" ", 3);
    if (words.length < 2 || !words[0].startsWith("HTTP/1.") || !words[1].matches("[1-5][0-9]{2}")) {
      throw new IOException("not HTTP: \"%s\"".formatted(line));
    }
    return Integer.parseInt(words[1]);
  }

  private static Optional<String> header(List<String> head, String name) {
    return head.stream()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name + ":"))
        .map(line -> line.substring(name.length() + 1).strip())
        .findFirst();
  }

  private static String joinChunks(String body) throws IOException {
    StringBuilder joined = new StringBuilder(body.length());
    int at = 0;
    while (true) {
      int lineEnd = body.indexOf(LINE_END, at);
      if (lineEnd < 0) {
        throw new EOFException("the answer ended between two chunks");
      }
      int size = chunkSize(body.substring(at, lineEnd));
      if (size == 0) {
        return joined.toString();
      }
      int start = lineEnd + LINE_END.length();
      if (size < 0 || size > body.length() - start) {
        throw new EOFException("the answer ended within a chunk");
      }
      joined.append(body, start, start + size);
      at = start + size + LINE_END.length();
    }
  }

  private static int chunkSize(String line) throws IOException {
    return number(line.split(";", 2)[0].strip(), HEXADECIMAL);
  }

  private static int number(String digits, int radix) throws IOException {
    try {
      return Integer.parseUnsignedInt(digits, radix);
    } catch (NumberFormatException none) {
      throw new IOException("not a size: \"%s\"".formatted(digits), none);
    }
  }
}
