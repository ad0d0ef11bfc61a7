package dev.polis.rpc;

import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.DelegatingSslContext;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Makes the TLS contexts of listeners and channels: TLS 1.3 of the JDK's provider, which supports
 * Ed25519.
 */
final class NettyTls {
  /**
   * The cipher suites, ChaCha20 first. A node's JVM compiles with C1 alone, which has no
   * instructions for AES and GHASH: it seals 300 bytes in 5 µs with ChaCha20 and in 12 µs with AES,
   * and 8 KiB in 55 and 290 µs.
   */
  private static final List<String> CIPHERS =
      List.of("TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384");

  /** Offers and accepts HTTP/2 alone. */
  private static final ApplicationProtocolConfig HTTP_2 =
      new ApplicationProtocolConfig(
          ApplicationProtocolConfig.Protocol.ALPN,
          ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
          ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
          ApplicationProtocolNames.HTTP_2);

  private NettyTls() {}

  /**
   * Returns the context of a server that asks for a client certificate and also serves clients
   * without one.
   */
  static SslContext server(TlsKeys keys) {
    return context(keys, new TakeAny(), false, ClientAuth.OPTIONAL);
  }

  /** Returns the context of a client. */
  static SslContext client(TlsKeys keys, X509ExtendedTrustManager trust) {
    return new OnCurve25519(context(keys, trust, true, ClientAuth.NONE));
  }

  /**
   * Makes a context without Netty's builder: before its first server it makes an encrypted key
   * store, to learn how the JDK treats trust managers of another kind than ours.
   */
  private static SslContext context(
      TlsKeys keys, X509ExtendedTrustManager trust, boolean client, ClientAuth clients) {
    return new JdkSslContext(
        TlsContexts.context(keys, trust),
        client,
        CIPHERS,
        SupportedCipherSuiteFilter.INSTANCE,
        HTTP_2,
        clients,
        TlsContexts.PROTOCOLS.toArray(String[]::new),
        false);
  }

  /**
   * Agrees on keys with X25519 alone, which each server of this API supports. Without this limit,
   * Java's TLS would also make a P-256 key pair for each connection, and tables for P-256 before
   * the first one. Servers accept both curves.
   */
  private static final class OnCurve25519 extends DelegatingSslContext {
    private static final String[] GROUPS = {"x25519"};

    OnCurve25519(SslContext context) {
      super(context);
    }

    @Override
    protected void initEngine(SSLEngine engine) {
      SSLParameters parameters = engine.getSSLParameters();
      parameters.setNamedGroups(GROUPS);
      engine.setSSLParameters(parameters);
    }
  }

  /**
   * Takes any certificate. The handshake proves possession of the key, and each call judges the
   * certificate again: a refused call gets a reason, a failed handshake does not. The connection
   * keeps only the shown certificates.
   */
  private static final class TakeAny extends X509ExtendedTrustManager {
    /**
     * The longest chain that the handshake accepts: the call refuses a second certificate with a
     * reason.
     */
    private static final int LONGEST_CHAIN = 2;

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      if (chain.length > LONGEST_CHAIN) {
        throw new CertificateException(
            "%d certificates were shown, show exactly one".formatted(chain.length));
      }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
