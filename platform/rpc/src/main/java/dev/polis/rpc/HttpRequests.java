package dev.polis.rpc;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpHandler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.time.Duration;

/**
 * Reads the requests of HTTP/1.1 from a connection, and has a handler answer each. For ports where
 * only members of the cluster finish the handshake.
 *
 * <p>The JDK's own server does not fit: it limits the number of connections, but cannot prefer
 * members to strangers. Netty's codec does not fit: it reads ahead, so a replaced handler would
 * lose the begin of the next request.
 */
public final class HttpRequests implements TlsHandler {
  /**
   * The largest head of a request; the project's clients send far less, and more is an attack on
   * the memory.
   */
  private static final int HEAD_BYTES = 16 << 10;

  /** The time for a request and its answer: the slowest page waits ten seconds for a program. */
  private static final Duration REQUEST_TIME = Duration.ofSeconds(30);

  private final HttpHandler handler;
  private final Runnable preparation;

  /** Creates a reader whose handler needs no preparation. */
  public HttpRequests(HttpHandler handler) {
    this(handler, () -> {});
  }

  /**
   * Creates a reader.
   *
   * @param handler answers all requests, on several threads at a time
   * @param preparation runs once, before the handler takes the place of another one at a port
   */
  public HttpRequests(HttpHandler handler, Runnable preparation) {
    this.handler = handler;
    this.preparation = preparation;
  }

  @Override
  public void prepare() {
    preparation.run();
  }

  /** Reports a fault in a request, with the HTTP status for the client. */
  private static final class Refused extends Exception {
    private static final long serialVersionUID = 1L;
    private final String status;

    Refused(String status) {
      super(status);
      this.status = status;
    }
  }

  /** Returns true, since only members finish the handshake. */
  @Override
  public boolean isMember(X509Certificate certificate) {
    return true;
  }

  @Override
  public Next handle(TlsConnection connection) throws IOException {
    connection.limit(REQUEST_TIME);
    try {
      String[] lines = head(connection.input()).split("\r\n");
      HttpCall call = call(connection, lines);
      handler.handle(call);
      return call.finish() ? new Next.Keep() : new Next.Close();
    } catch (Refused refused) {
      connection
          .output()
          .write(
              "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                  .formatted(refused.status)
                  .getBytes(StandardCharsets.ISO_8859_1));
      return new Next.Close();
    }
  }

  /** Reads up to the empty line that ends the head, and returns the lines before it. */
  private static String head(InputStream in) throws IOException, Refused {
    StringBuilder head = new StringBuilder();
    while (head.length() < 4 || !head.substring(head.length() - 4).equals("\r\n\r\n")) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("the connection ended within the head of a request");
      }
      if (head.length() == HEAD_BYTES) {
        throw new Refused("431 Request Header Fields Too Large");
      }
      head.append((char) next);
    }
    return head.toString();
  }

  private static HttpCall call(TlsConnection connection, String[] lines)
      throws IOException, Refused {
    // A head without a line splits into no part at all.
    String[] parts = lines.length == 0 ? lines : lines[0].split(" ");
    if (parts.length != 3 || !parts[2].startsWith("HTTP/1.")) {
      throw new Refused("400 Bad Request");
    }
    Headers headers = headers(lines);
    long length = bodyLength(headers);
    if (length > 0 && "100-continue".equalsIgnoreCase(headers.getFirst("Expect"))) {
      OutputStream out = connection.output();
      out.write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
      out.flush();
    }
    boolean last =
        parts[2].equals("HTTP/1.0") || "close".equalsIgnoreCase(headers.getFirst("Connection"));
    return new HttpCall(connection, parts[0], uri(parts[1]), parts[2], headers, length, last);
  }

  private static URI uri(String text) throws Refused {
    try {
      return new URI(text);
    } catch (URISyntaxException e) {
      throw new Refused("400 Bad Request");
    }
  }

  private static Headers headers(String[] lines) throws Refused {
    Headers headers = new Headers();
    for (int i = 1; i < lines.length; i++) {
      int colon = lines[i].indexOf(':');
      if (colon < 1) {
        throw new Refused("400 Bad Request");
      }
      try {
        headers.add(lines[i].substring(0, colon), lines[i].substring(colon + 1).strip());
      } catch (IllegalArgumentException e) {
        throw new Refused("400 Bad Request");
      }
    }
    return headers;
  }

  private static long bodyLength(Headers headers) throws Refused {
    if (headers.containsKey("Transfer-Encoding")) {
      throw new Refused("411 Length Required");
    }
    if (!headers.containsKey("Content-Length")) {
      return 0;
    }
    try {
      long length = Long.parseLong(headers.getFirst("Content-Length"));
      if (length >= 0 && headers.get("Content-Length").size() == 1) {
        return length;
      }
      throw new Refused("400 Bad Request");
    } catch (NumberFormatException e) {
      throw new Refused("400 Bad Request");
    }
  }
}
