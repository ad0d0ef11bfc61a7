package dev.polis.rpc;

import java.net.InetSocketAddress;
import java.security.KeyManagementException;
import java.security.SecureRandom;
import java.util.concurrent.Executor;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * Makes the engines of another TLS context, and has their handshakes reported when they fail. The
 * JDK's HTTPS server closes such connections without telling anybody.
 */
final class WatchedContext extends SSLContext {

  /**
   * The engine that this thread made last. The JDK's server makes an engine by the peer's name,
   * which whoever owns the peer's address chooses, and then has it configured on the same thread by
   * the peer's address.
   */
  private static final ThreadLocal<WatchedEngine> LATEST = new ThreadLocal<>();

  private WatchedContext(SSLContextSpi spi, SSLContext context) {
    super(spi, context.getProvider(), context.getProtocol());
  }

  /** Tells the engine that this thread made last who its peer is. */
  static void configured(InetSocketAddress peer) {
    LATEST.get().belongsTo(peer);
    LATEST.remove();
  }

  /**
   * Wraps a context.
   *
   * @param threads runs one short-lived task for each connection
   */
  static SSLContext of(SSLContext context, HandshakeLog log, Executor threads) {
    return new WatchedContext(new Engines(context, log, threads), context);
  }

  private static final class Engines extends SSLContextSpi {
    private final SSLContext context;
    private final HandshakeLog log;
    private final Executor threads;

    Engines(SSLContext context, HandshakeLog log, Executor threads) {
      this.context = context;
      this.log = log;
      this.threads = threads;
    }

    private SSLEngine watched(SSLEngine engine) {
      WatchedEngine watched = new WatchedEngine(engine, log);
      LATEST.set(watched);
      threads.execute(watched::reportIfLate);
      return watched;
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return watched(context.createSSLEngine());
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return watched(context.createSSLEngine(host, port));
    }

    @Override
    protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
        throws KeyManagementException {
      throw new KeyManagementException("this context was initialized before it was wrapped");
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return context.getSocketFactory();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return context.getServerSocketFactory();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return context.getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return context.getClientSessionContext();
    }
  }
}
