package dev.polis.rpc;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpPrincipal;
import com.sun.net.httpserver.HttpsExchange;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import javax.net.ssl.SSLSession;

/** Holds one request of HTTP/1.1 and writes its answer. For one thread. */
final class HttpCall extends HttpsExchange {
  private static final int NO_BODY = -1;
  private static final int NO_CONTENT = 204;
  private static final int NOT_MODIFIED = 304;

  private final TlsConnection connection;
  private final String method;
  private final URI uri;
  private final String protocol;
  private final Headers headers;
  private final Headers answered = new Headers();
  private final Map<String, Object> attributes = new HashMap<>();
  private final RequestBody body;
  private boolean last;
  private int code = NO_BODY;
  private long promised;
  private final OutputStream answer;
  private long written;

  /**
   * Creates a request whose head has been read.
   *
   * @param length the length of the body
   * @param last whether the client sends no further request on this connection
   */
  HttpCall(
      TlsConnection connection,
      String method,
      URI uri,
      String protocol,
      Headers headers,
      long length,
      boolean last) {
    this.connection = connection;
    this.method = method;
    this.uri = uri;
    this.protocol = protocol;
    this.headers = headers;
    this.body = new RequestBody(connection.input(), length);
    this.last = last;
    this.answer = new AnswerBody(connection.output());
  }

  /** Sends the answer; returns whether another request may follow on the connection. */
  boolean finish() throws IOException {
    if (code == NO_BODY) {
      throw new IOException("the handler of " + uri + " has sent no answer");
    }
    connection.output().flush();
    return !last && body.left == 0 && written == promised;
  }

  /** Reads the body of this request, and nothing behind it. */
  private static final class RequestBody extends InputStream {
    private final InputStream in;
    private long left;

    RequestBody(InputStream in, long length) {
      this.in = in;
      this.left = length;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      if (left == 0) {
        return -1;
      }
      int read = in.read(buffer, offset, (int) Math.min(length, left));
      if (read < 0) {
        throw new IOException("the connection ended within the body of a request");
      }
      left -= read;
      return read;
    }
  }

  /** Counts the written bytes; its close leaves the connection open. */
  private final class AnswerBody extends FilterOutputStream {
    AnswerBody(OutputStream out) {
      super(out);
    }

    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] buffer, int offset, int length) throws IOException {
      if (promised > 0 && written + length > promised) {
        throw new IOException(
            "the answer is longer than the %d bytes promised".formatted(promised));
      }
      out.write(buffer, offset, length);
      written += length;
    }

    @Override
    public void close() throws IOException {
      out.flush();
    }
  }

  @Override
  public void sendResponseHeaders(int status, long length) throws IOException {
    code = status;
    promised = Math.max(0, length);
    if (length > 0) {
      answered.set("Content-Length", Long.toString(length));
    } else if (length == 0) {
      // A body of unknown length ends with the connection.
      last = true;
    } else if (!method.equals("HEAD") && status != NO_CONTENT && status != NOT_MODIFIED) {
      answered.set("Content-Length", "0");
    }
    if (last) {
      answered.set("Connection", "close");
    }
    StringBuilder head = new StringBuilder("HTTP/1.1 ").append(status).append(" \r\n");
    answered.forEach(
        (name, values) ->
            values.forEach(value -> head.append(name).append(": ").append(value).append("\r\n")));
    connection.output().write(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
  }

  @Override
  public SSLSession getSSLSession() {
    return connection.session();
  }

  @Override
  public Headers getRequestHeaders() {
    return headers;
  }

  @Override
  public Headers getResponseHeaders() {
    return answered;
  }

  @Override
  public URI getRequestURI() {
    return uri;
  }

  @Override
  public String getRequestMethod() {
    return method;
  }

  @Override
  public HttpContext getHttpContext() {
    throw new IllegalStateException("a port has one handler and no contexts");
  }

  /** Does nothing: the connection belongs to its port. */
  @Override
  public void close() {}

  @Override
  public InputStream getRequestBody() {
    return body;
  }

  @Override
  public OutputStream getResponseBody() {
    return answer;
  }

  @Override
  public InetSocketAddress getRemoteAddress() {
    return connection.peer();
  }

  @Override
  public int getResponseCode() {
    return code;
  }

  @Override
  public InetSocketAddress getLocalAddress() {
    return connection.local();
  }

  @Override
  public String getProtocol() {
    return protocol;
  }

  @Override
  public Object getAttribute(String name) {
    return attributes.get(name);
  }

  @Override
  public void setAttribute(String name, Object value) {
    attributes.put(name, value);
  }

  @Override
  public void setStreams(InputStream in, OutputStream out) {
    throw new IllegalStateException("the streams of a request cannot be replaced");
  }

  @Override
  public HttpPrincipal getPrincipal() {
    throw new IllegalStateException("members are known by the certificate of the session");
  }
}
