package dev.polis.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import javax.net.ssl.SSLSession;

/**
 * Has the {@link ConnectionGate} of a listener decide about each of its connections, before a byte
 * of it is read.
 */
final class HostSockets {
  /**
   * Bytes with which each HTTP/2 connection begins; whoever sent others is disconnected by gRPC.
   */
  private static final int PREFACE_BYTES = 24;

  /** Netty itself would rest for 1 s, and a peer is to wait for less once there is room. */
  private static final long REST_MILLIS = 250;

  private final ConnectionGate gate;
  private final HandshakeLog handshakes;
  private final Predicate<SSLSession> member;
  private final Duration handshakeTime;
  private final boolean tls;

  /**
   * Creates the sockets of a listener.
   *
   * @param member decides whether a peer belongs to the cluster
   * @param tls whether the listener speaks TLS; without it nobody is a member
   */
  HostSockets(
      ConnectionGate gate, HandshakeLog handshakes, Predicate<SSLSession> member, boolean tls) {
    this.gate = gate;
    this.handshakes = handshakes;
    this.member = member;
    this.handshakeTime = handshakes.handshakeTime();
    this.tls = tls;
  }

  ConnectionGate gate() {
    return gate;
  }

  NioServerSocketChannel channel() {
    return new Bounded();
  }

  private boolean admit(Channel connection) {
    // A peer that is gone again has no address any more.
    Optional<ConnectionGate.Pass> pass =
        connection.remoteAddress() instanceof InetSocketAddress peer
            ? gate.enter(peer.getAddress(), () -> close(connection))
            : Optional.empty();
    if (pass.isEmpty()) {
      connection.unsafe().closeForcibly();
      return false;
    }
    connection.closeFuture().addListener(closed -> pass.get().left());
    if (tls) {
      handshakes.watch(connection, session -> greet(pass.get(), session));
    } else {
      connection.pipeline().addFirst(new Preface(pass.get()));
    }
    return true;
  }

  /** Closes a connection that is displaced, maybe before a thread was chosen for it. */
  private static void close(Channel connection) {
    if (connection.isRegistered()) {
      connection.close();
    } else {
      connection.unsafe().closeForcibly();
    }
  }

  private void greet(ConnectionGate.Pass pass, SSLSession session) {
    if (member.test(session)) {
      pass.member();
    } else {
      pass.greeted();
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

    /** Accepts nothing for a moment: this process has too many open files. */
    private void rest() {
      config().setAutoRead(false);
      eventLoop().schedule(() -> config().setAutoRead(true), REST_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /** Waits for the first bytes of a connection in plain text, and closes it if they do not come. */
  private final class Preface extends ChannelInboundHandlerAdapter {
    private final ConnectionGate.Pass pass;
    private int heard;

    Preface(ConnectionGate.Pass pass) {
      this.pass = pass;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      context
          .executor()
          .schedule(() -> closeIfSilent(context), handshakeTime.toNanos(), TimeUnit.NANOSECONDS);
      context.fireChannelActive();
    }

    private void closeIfSilent(ChannelHandlerContext context) {
      if (!pass.isGreeted()) {
        context.close();
      }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      heard += bytes instanceof ByteBuf buffer ? buffer.readableBytes() : 0;
      context.fireChannelRead(bytes);
      if (heard >= PREFACE_BYTES && !context.isRemoved()) {
        pass.greeted();
        context.pipeline().remove(this);
      }
    }
  }
}
