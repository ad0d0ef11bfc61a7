package dev.polis.rpc;

import dev.polis.rpc.TlsHandler.Next;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Keeps one port open for TLS. The newest tenant of the port answers each request of each
 * connection; between requests a connection belongs to the port alone.
 */
final class TlsPort extends SharedPort {

  /**
   * The number of connections that wait for the acceptor; a flood that fills it delays others by a
   * second.
   */
  private static final int BACKLOG = 4096;

  /** The time for a handshake, as at the gRPC listeners of a node. */
  static final Duration HANDSHAKE_TIME = Duration.ofSeconds(10);

  /**
   * The time after which an idle connection is closed. It is longer than the 90 s of Go's clients,
   * so that the client closes first.
   */
  private static final Duration IDLE = Duration.ofMinutes(3);

  /** The time in which a peer must read the last answer and close its end. */
  private static final Duration LINGER = Duration.ofSeconds(5);

  /** The interval between two checks of the connections' limits. */
  private static final Duration CHECK = Duration.ofMillis(500);

  private final ServerSocketChannel server;
  private final InetSocketAddress address;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Set<TlsConnection> open = ConcurrentHashMap.newKeySet();

  private final Thread acceptor = Thread.ofVirtual().name("tls port").unstarted(this::acceptAll);

  private TlsPort(String pid, ServerSocketChannel server) throws IOException {
    super(pid);
    this.server = server;
    this.address = (InetSocketAddress) server.getLocalAddress();
  }

  /**
   * Serves at an address; an organ's newer tenant uses the port of the older one.
   *
   * @throws IOException if the port cannot be opened; the message names the remedy
   */
  static SharedPort join(String pid, InetSocketAddress address, PortTenant tenant)
      throws IOException {
    return join(pid, address, tenant, () -> new TlsPort(pid, bind(pid, address)));
  }

  private static ServerSocketChannel bind(String pid, InetSocketAddress address)
      throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open();
    try {
      return server.bind(address, BACKLOG);
    } catch (IOException e) {
      server.close();
      throw taken(pid, address, e.getMessage(), e);
    }
  }

  @Override
  InetSocketAddress address() {
    return address;
  }

  @Override
  void start() {
    acceptor.start();
    threads.execute(this::enforceLimits);
  }

  private void acceptAll() {
    while (server.isOpen()) {
      try {
        admit(server.accept());
      } catch (ClosedChannelException stopped) {
        return;
      } catch (IOException shortage) {
        // Too many files are open, or this peer has gone: the next accept may succeed.
        pause();
      }
    }
  }

  private void admit(SocketChannel channel) throws IOException {
    Optional<TlsConnection> accepted = accepted(channel);
    if (accepted.isEmpty()) {
      return;
    }
    TlsConnection connection = accepted.get();
    Optional<ConnectionGate.Pass> pass =
        gate().enter(connection.peer().getAddress(), displaced -> connection.abort());
    if (pass.isEmpty()) {
      connection.abort();
      return;
    }
    open.add(connection);
    try {
      threads.execute(() -> serve(connection, pass.get()));
    } catch (RejectedExecutionException stopped) {
      connection.abort();
      ended(connection, pass.get());
    }
  }

  /** Takes a connection; returns empty if its peer has gone. */
  private static Optional<TlsConnection> accepted(SocketChannel channel) throws IOException {
    try {
      return Optional.of(TlsConnection.accepted(channel));
    } catch (IOException gone) {
      channel.close();
      return Optional.empty();
    }
  }

  private void enforceLimits() {
    while (server.isOpen()) {
      open.stream().filter(TlsConnection::overdue).forEach(TlsConnection::abort);
      newest()
          .map(PortTenant::handler)
          .ifPresent(
              handler ->
                  open.stream().filter(each -> lost(each, handler)).forEach(TlsConnection::abort));
      pause();
    }
  }

  private static void pause() {
    try {
      TimeUnit.NANOSECONDS.sleep(CHECK.toNanos());
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private void serve(TlsConnection connection, ConnectionGate.Pass pass) {
    try (connection) {
      if (greet(connection, pass)) {
        answer(connection, pass);
      }
    } catch (IOException gone) {
      // A peer may go at any time; there is no caller to answer.
    } catch (IllegalStateException | RejectedExecutionException stopped) {
      if (server.isOpen()) {
        throw stopped;
      }
    } finally {
      ended(connection, pass);
    }
  }

  private void ended(TlsConnection connection, ConnectionGate.Pass pass) {
    open.remove(connection);
    pass.left();
  }

  /** Makes the handshake; returns false if the connection has to close. */
  private boolean greet(TlsConnection connection, ConnectionGate.Pass pass) throws IOException {
    connection.limit(HANDSHAKE_TIME);
    int first = connection.firstByte();
    if (first < 0) {
      return false;
    }
    PortTenant tenant = awaitTenant();
    try {
      connection.accept(first, tenant.context(), tenant.parameters());
      member(connection, tenant.handler())
          .ifPresentOrElse(
              certificate -> {
                pass.member(certificate);
                connection.setOfMember(true);
              },
              pass::greeted);
      return true;
    } catch (IOException failed) {
      if (server.isOpen()) {
        report(connection, tenant.handshakes(), failed);
      }
      return false;
    }
  }

  private static Optional<X509Certificate> member(TlsConnection connection, TlsHandler handler) {
    return connection.certificate().filter(handler::isMember);
  }

  /**
   * Returns whether the peer has lost its membership. The handler answers a peer that was no member
   * when its request began, and sends it the reason.
   */
  private static boolean lost(TlsConnection connection, TlsHandler handler) {
    return connection.ofMember() && member(connection, handler).isEmpty();
  }

  private static void report(TlsConnection connection, HandshakeLog log, IOException failed) {
    String name = HostPort.of(connection.peer());
    if (connection.overdue()) {
      log.late(name);
    } else {
      log.failed(name, failed);
    }
  }

  /** Answers requests until the next one does not begin in time. */
  private void answer(TlsConnection connection, ConnectionGate.Pass pass) throws IOException {
    Duration silence = pass.isKnown() ? IDLE : HANDSHAKE_TIME;
    connection.limit(silence);
    while (connection.awaitRequest()) {
      switch (handle(connection, pass)) {
        case Next.Keep keep -> connection.limit(silence);
        case Next.Close close -> {
          part(connection);
          return;
        }
        case Next.Join(TlsConnection other) -> {
          pass(connection, other, () -> send(connection, other));
          return;
        }
        case Next.Stream(TlsConnection other) -> {
          pass(connection, other, () -> awaitEnd(connection, other));
          return;
        }
      }
    }
  }

  private Next handle(TlsConnection connection, ConnectionGate.Pass pass) throws IOException {
    PortTenant tenant = enter();
    Optional<StrangerRoom.Call> place = Optional.empty();
    try {
      connection.setOfMember(member(connection, tenant.handler()).isPresent());
      if (!connection.ofMember()) {
        place = Optional.of(pass.begin(StrangerRoom.Kind.REQUEST, full -> connection.abort()));
      }
      return tenant.handler().handle(connection);
    } catch (RpcException full) {
      // The gate counts the refusal; only the handler could answer in the protocol of the peer.
      return new Next.Close();
    } finally {
      place.ifPresent(StrangerRoom.Call::over);
      tenant.leave();
      // An interrupt for a finished request must not end the connection.
      Thread.interrupted();
    }
  }

  /** Waits until the peer has read the last answer, since an earlier close would discard it. */
  private static void part(TlsConnection connection) throws IOException {
    connection.limit(LINGER);
    connection.finishOutput();
    connection.drain();
  }

  /**
   * Passes the bytes of the far connection to the near one until the far one ends.
   *
   * @param way handles the bytes of the near connection meanwhile
   */
  private void pass(TlsConnection near, TlsConnection far, Runnable way) throws IOException {
    near.unlimited();
    try (far) {
      threads.execute(way);
      TlsConnection.copy(far, near);
      // The far end has sent everything, so the near one closes now.
      part(near);
    }
  }

  /** Waits until the near peer sends a byte or leaves, then ends both connections. */
  private static void awaitEnd(TlsConnection near, TlsConnection far) {
    try {
      near.awaitRequest();
    } catch (IOException gone) {
      // A broken connection has ended, too.
    }
    far.abort();
  }

  private static void send(TlsConnection near, TlsConnection far) {
    try {
      TlsConnection.copy(near, far);
    } catch (IOException gone) {
      // Aborts both: the thread of the other direction then ends as well.
      near.abort();
      far.abort();
    }
  }

  @Override
  void stop() {
    try {
      server.close();
    } catch (IOException closed) {
      // After a failed close, too, the file descriptor is free.
    }
    awaitAcceptor();
    open.forEach(TlsConnection::abort);
    threads.shutdownNow();
  }

  /** Waits for the accepting thread, since the system keeps the port until that thread returns. */
  private void awaitAcceptor() {
    acceptor.interrupt();
    try {
      acceptor.join(CHECK);
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }
}
