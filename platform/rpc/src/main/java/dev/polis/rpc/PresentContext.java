package dev.polis.rpc;

import java.security.KeyManagementException;
import java.security.SecureRandom;
import java.util.function.Supplier;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/** Makes each engine of the TLS context of the moment, for a port whose server is replaced. */
final class PresentContext extends SSLContext {

  private PresentContext(SSLContextSpi spi, SSLContext first) {
    super(spi, first.getProvider(), first.getProtocol());
  }

  /**
   * Makes a context.
   *
   * @param first names the provider and the protocol
   * @param present returns the context of the moment, and may wait for it
   */
  static SSLContext of(SSLContext first, Supplier<SSLContext> present) {
    return new PresentContext(new Present(present), first);
  }

  private static final class Present extends SSLContextSpi {
    private final Supplier<SSLContext> present;

    Present(Supplier<SSLContext> present) {
      this.present = present;
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return present.get().createSSLEngine();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return present.get().createSSLEngine(host, port);
    }

    @Override
    protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
        throws KeyManagementException {
      throw new KeyManagementException("the contexts behind this one were initialized before");
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return present.get().getSocketFactory();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return present.get().getServerSocketFactory();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return present.get().getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return present.get().getClientSessionContext();
    }
  }
}
