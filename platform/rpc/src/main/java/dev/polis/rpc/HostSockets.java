package dev.polis.rpc;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import javax.net.ssl.SSLSession;

/**
 * Lets the {@link ConnectionGate} of a listener decide about each connection before the listener
 * reads a byte.
 */
final class HostSockets {
  /** The pause after a shortage of files; Netty's own is 1 s, and peers wait less with this one. */
  private static final long REST_MILLIS = 250;

  /**
   * The time in which the peer of a lost member's connection gets the ends of its calls, and the
   * answer to the call that revoked its own certificate. The audit log needs a part of it; calls
   * that begin meanwhile are refused.
   */
  private static final long PARTING_MILLIS = 250;

  private final ConnectionGate gate;
  private final HandshakeLog handshakes;
  private final Function<SSLSession, Optional<X509Certificate>> member;
  private final Duration handshakeTime;
  private final boolean tls;

  /** The open connections by the address of their peer. */
  private final Map<SocketAddress, Admitted> open = new ConcurrentHashMap<>();

  private record Admitted(Channel connection, ConnectionGate.Pass pass) {}

  /**
   * Creates the sockets of a listener.
   *
   * @param member returns the certificate of a peer that belongs to the cluster
   * @param tls whether the listener speaks TLS; without it no peer is a member
   */
  HostSockets(
      ConnectionGate gate,
      HandshakeLog handshakes,
      Function<SSLSession, Optional<X509Certificate>> member,
      boolean tls) {
    this.gate = gate;
    this.handshakes = handshakes;
    this.member = member;
    this.handshakeTime = handshakes.handshakeTime();
    this.tls = tls;
  }

  ConnectionGate gate() {
    return gate;
  }

  /**
   * Returns the filter that gives each call its connection's pass, at {@link
   * ConnectionGate.Pass#KEY}.
   */
  ServerTransportFilter passes() {
    return new Passes();
  }

  /** Counts the open connections. */
  int kept() {
    return open.size();
  }

  /** Closes the connections of peers with revoked certificates, after the time of parting. */
  void expel(Predicate<X509Certificate> revoked) {
    for (Admitted each : open.values()) {
      if (each.pass().hasShown(revoked)) {
        each.connection()
            .eventLoop()
            .schedule(each.pass()::close, PARTING_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
  }

  NioServerSocketChannel channel() {
    return new Bounded();
  }

  private boolean admit(Channel connection) {
    // A peer that has gone has no address.
    Optional<ConnectionGate.Pass> pass =
        connection.remoteAddress() instanceof InetSocketAddress peer
            ? gate.enter(peer.getAddress(), displaced -> close(connection, peer, displaced))
            : Optional.empty();
    if (pass.isEmpty()) {
      connection.unsafe().closeForcibly();
      return false;
    }
    SocketAddress peer = connection.remoteAddress();
    Admitted admitted = new Admitted(connection, pass.get());
    open.put(peer, admitted);
    connection
        .closeFuture()
        .addListener(
            closed -> {
              open.remove(peer, admitted);
              pass.get().left();
            });
    if (!connection.isOpen()) {
      // It was displaced before it was in the map.
      open.remove(peer, admitted);
    }
    if (tls) {
      handshakes.watch(connection, session -> greet(connection, pass.get(), session));
    } else {
      connection.pipeline().addFirst(new Opening(pass.get()));
    }
    return true;
  }

  /** Closes a connection, even before Netty has chosen its thread. */
  private void close(Channel connection, SocketAddress peer, ConnectionGate.Pass pass) {
    if (connection.isRegistered()) {
      // Bypasses the handlers, which would wait until the peer has read all answers.
      connection
          .eventLoop()
          .execute(() -> connection.unsafe().close(connection.unsafe().voidPromise()));
    } else {
      connection.unsafe().closeForcibly();
      // Netty does not report the end of a connection without a thread.
      open.remove(peer, new Admitted(connection, pass));
    }
  }

  private void greet(Channel connection, ConnectionGate.Pass pass, SSLSession session) {
    Optional<X509Certificate> shown = member.apply(session);
    if (shown.isPresent()) {
      pass.member(shown.get());
    } else {
      pass.greeted();
      new Silence(connection, pass);
    }
  }

  private final class Bounded extends NioServerSocketChannel {
    @Override
    protected int doReadMessages(List<Object> accepted) throws Exception {
      int read;
      try {
        read = super.doReadMessages(accepted);
      } catch (IOException shortage) {
        if (!isOpen()) {
          throw shortage;
        }
        rest();
        return 0;
      }
      if (read > 0 && !admit((Channel) accepted.getLast())) {
        accepted.removeLast();
        return 0;
      }
      return read;
    }

    /** Accepts nothing for a moment, since this process has too many open files. */
    private void rest() {
      config().setAutoRead(false);
      eventLoop().schedule(() -> config().setAutoRead(true), REST_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /** Closes a stranger's connection without a call after the time of a handshake. */
  private final class Silence implements Runnable {
    private final Channel connection;
    private final ConnectionGate.Pass pass;
    private Future<?> next; // for the thread of the connection

    Silence(Channel connection, ConnectionGate.Pass pass) {
      this.connection = connection;
      this.pass = pass;
      schedule(handshakeTime);
      connection.closeFuture().addListener(closed -> next.cancel(false));
    }

    private void schedule(Duration in) {
      next = connection.eventLoop().schedule(this, in.toNanos(), TimeUnit.NANOSECONDS);
    }

    @Override
    public void run() {
      Duration left = handshakeTime.minus(pass.quiet());
      if (!left.isPositive()) {
        connection.close();
      } else if (!pass.isKnown()) {
        schedule(left);
      }
    }
  }

  /** Begins to watch a plain-text connection, which has no handshake. */
  private final class Opening extends ChannelInboundHandlerAdapter {
    private final ConnectionGate.Pass pass;

    Opening(ConnectionGate.Pass pass) {
      this.pass = pass;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      new Silence(context.channel(), pass);
      context.fireChannelActive();
      context.pipeline().remove(this);
    }
  }

  /** Gives each call the pass of its connection. */
  private final class Passes extends ServerTransportFilter {
    @Override
    public Attributes transportReady(Attributes connection) {
      Admitted admitted = open.get(connection.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
      if (admitted == null) {
        throw new IllegalStateException("the connection has ended before its first call");
      }
      return connection.toBuilder().set(ConnectionGate.Pass.KEY, admitted.pass()).build();
    }
  }
}
