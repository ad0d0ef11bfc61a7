package dev.polis.rpc;

import com.google.common.base.Throwables;
import dev.polis.logtree.Log;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.function.Consumer;
import javax.net.ssl.SSLSession;

/**
 * Logs each TLS handshake that fails: one line with the peer's address and the reason. It does not
 * log a peer that connects and leaves without sending a byte, as a port probe does.
 */
final class HandshakeLog {
  /** The longest logged reason; some libraries add bytes of the peer to their sentence. */
  private static final int LONGEST_REASON = 300;

  private final Log log;
  private final Duration handshakeTime;
  private final LogBudget budget = LogBudget.ofRefusals();

  /**
   * Makes the log of a listener.
   *
   * @param handshakeTime after which the listener closes a connection without a handshake
   */
  HandshakeLog(Log log, Duration handshakeTime) {
    this.log = log;
    this.handshakeTime = handshakeTime;
  }

  /**
   * Watches the handshake of an accepted connection.
   *
   * @param greeted receives the session after a successful handshake
   */
  void watch(Channel connection, Consumer<SSLSession> greeted) {
    connection.pipeline().addFirst(new Watch(greeted));
  }

  Duration handshakeTime() {
    return handshakeTime;
  }

  /** Logs a failure, within the budget of lines. */
  void failed(String peer, Throwable cause) {
    refused(peer, words(cause));
  }

  /** Logs that the listener closed the connection because the handshake took too long. */
  void late(String peer) {
    refused(peer, "it was not complete within " + handshakeTime.toMillis() + " ms");
  }

  private void refused(String peer, String reason) {
    budget.warn(log, "TLS handshake with %s failed: %s".formatted(peer, printable(reason)));
  }

  private static String peer(Channel connection) {
    return connection.remoteAddress() instanceof InetSocketAddress address
        ? HostPort.of(address)
        : "a peer that is gone";
  }

  /** Replaces control characters, so that a peer cannot write log lines of its own. */
  static String printable(String reason) {
    String text = reason.replaceAll("[^ -~]", "?");
    return text.length() <= LONGEST_REASON ? text : text.substring(0, LONGEST_REASON) + "...";
  }

  private static String words(Throwable failure) {
    if (failure instanceof NotSslRecordException) {
      return "the peer does not speak TLS";
    }
    String said = String.valueOf(failure.getMessage());
    String why = String.valueOf(Throwables.getRootCause(failure).getMessage());
    return said.contains(why) ? said : said + ": " + why;
  }

  /** Stays in a connection's pipeline until its handshake is over. */
  private final class Watch extends ChannelInboundHandlerAdapter {
    private final long began = System.nanoTime();
    private final Consumer<SSLSession> greeted;
    private boolean heard;

    Watch(Consumer<SSLSession> greeted) {
      this.greeted = greeted;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      SslHandler tls = context.pipeline().get(SslHandler.class);
      tls.handshakeFuture().addListener(over -> ended(context, tls, over));
      context.fireChannelActive();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      heard = true;
      context.fireChannelRead(bytes);
    }

    private void ended(ChannelHandlerContext context, SslHandler tls, Future<?> handshake) {
      Channel connection = context.channel();
      if (!context.isRemoved()) {
        context.pipeline().remove(this);
      }
      if (!handshake.isSuccess()) {
        ended(connection, handshake.cause());
      } else if (!ApplicationProtocolNames.HTTP_2.equals(tls.applicationProtocol())) {
        refused(
            peer(connection), "the peer did not ask for HTTP/2 (ALPN \"h2\"), which gRPC needs");
      } else {
        greeted.accept(tls.engine().getSession());
      }
    }

    private void ended(Channel connection, Throwable cause) {
      if (!connection.parent().isOpen()) {
        return; // the listener closes all its connections
      }
      if (!(cause instanceof ClosedChannelException)) {
        failed(peer(connection), cause);
      } else if (System.nanoTime() - began >= handshakeTime.toNanos()) {
        late(peer(connection));
      } else if (heard) {
        refused(peer(connection), "the peer closed the connection before it was complete");
      }
    }
  }
}
