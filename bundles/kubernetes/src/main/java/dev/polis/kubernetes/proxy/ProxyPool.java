package dev.polis.kubernetes.proxy;

import dev.polis.rpc.TlsConnection;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.Function;
import javax.net.ssl.SSLContext;

/**
 * Keeps free connections to the API server, so that a request does not wait for a handshake.
 * Thread-safe; its owner closes it.
 */
final class ProxyPool implements AutoCloseable {

  /** The time for a connection; a local API server accepts at once or not at all. */
  private static final Duration DIAL = Duration.ofSeconds(5);

  /** The time for which a connection is kept, less than the 90 s of the API server. */
  private static final Duration IDLE = Duration.ofSeconds(60);

  /** The time for a preparation, which delays the replacement of this code. */
  private static final Duration PREPARATION = Duration.ofSeconds(1);

  /** A request that an API server answers to any client. */
  private static final String HEALTH = "GET /readyz HTTP/1.1\r\nHost: kubernetes\r\n\r\n";

  /**
   * The most free connections, as many as a burst of requests leaves; the pool closes more after
   * their request.
   */
  private static final int MOST = 32;

  /**
   * Holds a free connection.
   *
   * @param since the time when it became free, by {@link System#nanoTime}
   */
  private record Free(TlsConnection connection, long since) {}

  /**
   * Holds a connection for one request.
   *
   * @param connection the connection to the API server
   * @param used true if it has served a request before, and may just have ended
   */
  record Taken(TlsConnection connection, boolean used) {}

  // Guarded by this.
  private final Deque<Free> free = new ArrayDeque<>();
  private ProxyBackend.Present backend; // null before the first request
  private boolean closed;

  private final Function<ProxyBackend.Present, SSLContext> tls;

  /**
   * Creates a pool without connections.
   *
   * @param tls chooses their certificate
   */
  ProxyPool(Function<ProxyBackend.Present, SSLContext> tls) {
    this.tls = tls;
  }

  /** Returns a connection, preferably a free one. */
  Taken take(ProxyBackend.Present to) throws IOException {
    for (Optional<Free> next = pop(to); next.isPresent(); next = pop(to)) {
      TlsConnection connection = next.get().connection();
      if (System.nanoTime() - next.get().since() < IDLE.toNanos() && connection.usable()) {
        return new Taken(connection, true);
      }
      connection.abort();
    }
    return fresh(to);
  }

  /** Returns a new connection. */
  Taken fresh(ProxyBackend.Present to) throws IOException {
    return new Taken(
        TlsConnection.dial(to.address(), tls.apply(to), ProxyTls.toServer(), DIAL), false);
  }

  /** Connects to an API server for the first request; does nothing if it does not answer. */
  void prepare(ProxyBackend.Present to) {
    dialEarly(to).ifPresent(connection -> give(to, connection));
  }

  /** Connects as {@link #prepare} does, and makes one request. */
  void prepareWithRequest(ProxyBackend.Present to) {
    dialEarly(to)
        .ifPresent(
            connection -> {
              if (answersEarly(connection)) {
                give(to, connection);
              } else {
                connection.abort();
              }
            });
  }

  private Optional<TlsConnection> dialEarly(ProxyBackend.Present to) {
    synchronized (this) {
      backend = to;
    }
    try {
      return Optional.of(
          TlsConnection.dial(to.address(), tls.apply(to), ProxyTls.toServer(), PREPARATION));
    } catch (IOException away) {
      // The first request reports it.
      return Optional.empty();
    }
  }

  private static boolean answersEarly(TlsConnection connection) {
    try {
      connection.readWithin(PREPARATION);
      connection.output().write(HEALTH.getBytes(StandardCharsets.US_ASCII));
      connection.output().flush();
      HttpResponse response = HttpResponse.read(connection.input());
      HttpBody body = HttpBody.ofResponse(response.head(), response.code(), "GET");
      body.copy(connection.input(), OutputStream.nullOutputStream(), () -> {});
      return response.keepsAlive() && !(body instanceof HttpBody.UntilEnd);
    } catch (IOException ended) {
      // The first request makes a connection of its own.
      return false;
    }
  }

  /** Takes back a connection, which waits for the next request. */
  synchronized void give(ProxyBackend.Present of, TlsConnection connection) {
    if (closed || !of.equals(backend) || free.size() == MOST) {
      connection.abort();
    } else {
      free.push(new Free(connection, System.nanoTime()));
    }
  }

  private synchronized Optional<Free> pop(ProxyBackend.Present to) {
    if (!to.equals(backend)) {
      abortAll();
      backend = to;
    }
    return Optional.ofNullable(free.poll());
  }

  private void abortAll() {
    free.forEach(each -> each.connection().abort());
    free.clear();
  }

  @Override
  public synchronized void close() {
    closed = true;
    abortAll();
  }
}
