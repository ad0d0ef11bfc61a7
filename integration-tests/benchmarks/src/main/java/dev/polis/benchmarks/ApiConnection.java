package dev.polis.benchmarks;

import dev.polis.pki.TlsContexts;
import dev.polis.rpc.TlsConnection;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;

/**
 * Makes one request after the other on a kept connection, with as little work of its own as
 * possible, so that the server's time is measured.
 */
final class ApiConnection implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final String LENGTH = "content-length:";
  private static final String CHUNKED = "transfer-encoding: chunked";

  private final TlsConnection connection;
  private final String host;

  private ApiConnection(TlsConnection connection, String host) {
    this.connection = connection;
    this.host = host;
  }

  static ApiConnection open(ApiAccess access) throws IOException {
    return new ApiConnection(
        TlsConnection.dial(access.socket(), access.tls(), TlsContexts.clientParameters(), PATIENCE),
        access.server().getAuthority());
  }

  /**
   * Gets a path, and returns the number of bytes received; a status other than 200 is a failure.
   */
  int get(String path) throws IOException {
    String request =
        "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\n\r\n".formatted(path, host);
    connection.output().write(request.getBytes(StandardCharsets.US_ASCII));
    connection.output().flush();
    String status = line();
    if (!status.startsWith("HTTP/1.1 200 ")) {
      throw new IOException("GET " + path + " was answered with " + status);
    }
    int length = 0;
    boolean chunked = false;
    for (String line = line(); !line.isEmpty(); line = line()) {
      String field = line.toLowerCase(Locale.ROOT);
      if (field.startsWith(LENGTH)) {
        length = Integer.parseInt(field.substring(LENGTH.length()).strip());
      }
      chunked |= field.equals(CHUNKED);
    }
    return chunked ? chunks() : skip(length);
  }

  private int chunks() throws IOException {
    int all = 0;
    for (int length = chunk(); length > 0; length = chunk()) {
      all += skip(length);
      line();
    }
    line();
    return all;
  }

  private int chunk() throws IOException {
    return Integer.parseInt(line(), 16);
  }

  private int skip(int length) throws IOException {
    connection.input().skipNBytes(length);
    return length;
  }

  private String line() throws IOException {
    InputStream in = connection.input();
    StringBuilder line = new StringBuilder();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0) {
        throw new EOFException("the connection ended within an answer");
      }
      if (next != '\r') {
        line.append((char) next);
      }
    }
    return line.toString();
  }

  @Override
  public void close() {
    connection.close();
  }
}
