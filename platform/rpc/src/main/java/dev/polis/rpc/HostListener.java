package dev.polis.rpc;

import com.google.common.base.Throwables;
import dev.polis.logtree.Log;
import dev.polis.pki.TlsKeys;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import javax.net.ssl.SSLSession;

/** Opens and closes one listening socket with its connections. */
final class HostListener {
  /**
   * The time in which a silent connection must answer a keep-alive: some round trips on the worst
   * line.
   */
  private static final int KEEP_ALIVE_ANSWER_SECONDS = 10;

  /** The largest headers of a call; the project's own are far smaller, and proxies may add some. */
  private static final int METADATA_BYTES = 16 << 10;

  /**
   * Limits calls that a client begins and resets at once, which cost the node much and the client
   * nothing. An honest client may end all streams of a connection eight times in ten seconds.
   */
  private static final int RESETS = 2048;

  private static final int RESETS_SECONDS = 10;

  /**
   * The bytes that a connection sends at most before the node has taken them. gRPC's 1 MiB lets any
   * peer send so much of each call that is refused at its head, and all of it is deciphered first.
   * A plugin's upload still gets 25 MiB/s over a network that answers in 10 ms.
   */
  private static final int WINDOW = 256 << 10;

  /**
   * The loggers of gRPC and Netty that write a stack trace for each fault of a caller, or for each
   * connection that a flood displaces. They write on a thread that serves all connections. The
   * callers get a status, and the node's own log has the calls. This list holds the loggers, since
   * the JDK forgets the level of a logger without a reference.
   */
  private static final List<Logger> VERBOSE_LOGGERS =
      Stream.of(
              "io.grpc.netty.NettyServerHandler",
              "io.grpc.netty.NettyServerStream",
              "io.grpc.netty.NettyServerTransport.connections",
              "io.netty.bootstrap.ServerBootstrap")
          .map(Logger::getLogger)
          .toList();

  private final RpcSettings.Listener settings;
  private final RpcSettings.Limits limits;
  private final CallRouter router;
  private final TlsKeys keys;
  private final HostSockets sockets;
  private final PortFloods floods;
  private final Log log;
  private final EventLoopGroup acceptors;
  private final EventLoopGroup events;

  // Guarded by this.
  private Server server; // null while closed
  private String detail = "waits for credentials";

  /**
   * Creates a listener that is not open yet.
   *
   * @param keys the certificate that a TLS listener presents
   * @param strangers the room of its strangers
   * @param member returns the certificate of a peer that belongs to the cluster
   * @param log receives the failed handshakes
   */
  HostListener(
      RpcSettings.Listener settings,
      RpcSettings.Limits limits,
      CallRouter router,
      StrangerRoom strangers,
      TlsKeys keys,
      Function<SSLSession, Optional<X509Certificate>> member,
      Log log,
      EventLoopGroup acceptors,
      EventLoopGroup events) {
    VERBOSE_LOGGERS.forEach(logger -> logger.setLevel(Level.OFF));
    this.settings = settings;
    this.limits = limits;
    this.router = router;
    this.keys = keys;
    this.log = log;
    this.sockets =
        new HostSockets(
            new ConnectionGate(strangers),
            new HandshakeLog(log, limits.handshakeTime()),
            member,
            settings.tls());
    this.floods = new PortFloods(settings.name(), sockets.gate(), () -> address().getPort());
    this.acceptors = acceptors;
    this.events = events;
    if (!settings.tls()) {
      detail = "waits for its first service";
    }
  }

  RpcSettings.Listener settings() {
    return settings;
  }

  CallRouter router() {
    return router;
  }

  /** Ends the calls and the connections of peers that have lost their membership. */
  void expel(Predicate<X509Certificate> lost) {
    router.expel();
    sockets.expel(lost);
  }

  /** Looks for floods; returns whether its status has changed. */
  boolean lookForFloods() {
    return floods.look(log);
  }

  /** Counts the connections of this listener. */
  RpcStatistics.Port connections() {
    return sockets.gate().statistics(settings.name());
  }

  synchronized boolean isOpen() {
    return server != null;
  }

  /** Opens the socket; does nothing if it is open. */
  synchronized void open() {
    if (server != null) {
      return;
    }
    Server starting = build();
    try {
      server = starting.start();
      detail = "";
      OwnPorts.note(address(), settings.setting());
    } catch (IOException e) {
      starting.shutdownNow();
      detail = failure(e);
      throw new RpcListenException(detail, e);
    }
  }

  private Server build() {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(settings.address())
            .channelFactory(sockets::channel)
            .bossEventLoopGroup(acceptors)
            .workerEventLoopGroup(events)
            .directExecutor()
            .fallbackHandlerRegistry(router)
            .addTransportFilter(sockets.passes())
            .addStreamTracerFactory(new CallTimeout())
            .addStreamTracerFactory(new RequestBytes.Factory())
            .handshakeTimeout(limits.handshakeTime().toMillis(), TimeUnit.MILLISECONDS)
            .flowControlWindow(WINDOW)
            .maxInboundMessageSize(limits.messageBytes())
            .maxInboundMetadataSize(METADATA_BYTES)
            .maxConcurrentCallsPerConnection(limits.callsPerConnection())
            .maxRstFramesPerWindow(RESETS, RESETS_SECONDS)
            .keepAliveTime(limits.keepAliveTime().toMillis(), TimeUnit.MILLISECONDS)
            .keepAliveTimeout(KEEP_ALIVE_ANSWER_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(limits.keepAliveMinimum().toMillis(), TimeUnit.MILLISECONDS)
            .permitKeepAliveWithoutCalls(true)
            .maxConnectionIdle(limits.idleTime().toMillis(), TimeUnit.MILLISECONDS);
    if (settings.tls()) {
      builder.sslContext(NettyTls.server(keys));
    }
    return builder.build();
  }

  private String failure(IOException e) {
    InetSocketAddress address = settings.address();
    return "listener '%s' cannot open port %d on %s: %s; %s"
        .formatted(
            settings.name(),
            address.getPort(),
            address.getAddress().getHostAddress(),
            Throwables.getRootCause(e).getMessage(),
            OwnPorts.conflict(address, settings.setting()));
  }

  /** Closes the socket and all connections; calls in progress are ended. */
  void close(String why) {
    Server closing;
    synchronized (this) {
      closing = server;
      if (server != null) {
        OwnPorts.forget(address());
      }
      server = null;
      detail = why;
    }
    if (closing != null) {
      shutdown(closing);
    }
  }

  private static void shutdown(Server server) {
    server.shutdownNow();
    try {
      // The calls are cancelled; their threads need a moment to end.
      server.awaitTermination(2, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns the listener's address, with the chosen port if the configured one is 0. */
  synchronized InetSocketAddress address() {
    return server == null
        ? settings.address()
        : new InetSocketAddress(settings.address().getAddress(), server.getPort());
  }

  synchronized RpcListenerStatus status() {
    InetSocketAddress at = address();
    return new RpcListenerStatus(
        settings.name(),
        HostPort.of(at),
        server != null,
        detail,
        floods.connections(),
        floods.calls(),
        router.services(),
        router.away());
  }
}
