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

  /** Connections that wait to be accepted: a flood that fills it costs others a second's pause. */
  private static final int BACKLOG = 4096;

  /** As at the gRPC listeners of a node. */
  static final Duration HANDSHAKE_TIME = Duration.ofSeconds(10);

  /** Longer than the 90 s after which Go's clients close what they do not need: they go first. */
  private static final Duration IDLE = Duration.ofMinutes(3);

  /** How long a peer may take to read the last answer and close its end. */
  private static final Duration LINGER = Duration.ofSeconds(5);

  /** How often connections are checked for their limit. */
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
   * Serves at an address: at the port of the one before, if there is one of the same organ.
   *
   * @throws IOException if the port cannot be opened; the message says what to do
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
        // Too many open files, or a peer that is gone again: the next one may be luckier.
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

  /** Takes a connection; empty if its peer is gone again. */
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

  /** Makes the handshake; false if the connection is to be closed. */
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
   * Returns whether the peer was a member and is none any more. A peer that was none when its
   * request began is answered by the handler, which tells it why.
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

  /** Answers requests, until one does not begin in time. */
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
      // The gate counts it; only the handler could tell the peer, in the words of its protocol.
      return new Next.Close();
    } finally {
      place.ifPresent(StrangerRoom.Call::over);
      tenant.leave();
      // The interruption of a request that is over must not end the connection.
      Thread.interrupted();
    }
  }

  /** Waits until the peer has read the last answer: to close earlier would take it away again. */
  private static void part(TlsConnection connection) throws IOException {
    connection.limit(LINGER);
    connection.finishOutput();
    connection.drain();
  }

  /**
   * Passes what the far connection sends until it ends.
   *
   * @param way deals with what the near one sends meanwhile
   */
  private void pass(TlsConnection near, TlsConnection far, Runnable way) throws IOException {
    near.unlimited();
    try (far) {
      threads.execute(way);
      TlsConnection.copy(far, near);
      // The far end has said all: the near one has to close now.
      part(near);
    }
  }

  /** Waits until the near peer says anything or goes, which ends both connections. */
  private static void awaitEnd(TlsConnection near, TlsConnection far) {
    try {
      near.awaitRequest();
    } catch (IOException gone) {
      // As good as its end.
    }
    far.abort();
  }

  private static void send(TlsConnection near, TlsConnection far) {
    try {
      TlsConnection.copy(near, far);
    } catch (IOException gone) {
      // The other direction has to end as well; its thread notices the aborted connections.
      near.abort();
      far.abort();
    }
  }

  @Override
  void stop() {
    try {
      server.close();
    } catch (IOException closed) {
      // Whatever the system says, the descriptor is gone.
    }
    awaitAcceptor();
    open.forEach(TlsConnection::abort);
    threads.shutdownNow();
  }

  /** Waits for the thread that accepts: the system keeps the port until it has returned. */
  private void awaitAcceptor() {
    acceptor.interrupt();
    try {
      acceptor.join(CHECK);
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }
}
