package dev.polis.kubernetes.proxy;

import dev.polis.pki.TlsContexts;
import javax.net.ssl.SSLParameters;

/** Chooses the parameters of the proxy's connections. */
final class ProxyTls {

  /**
   * The cipher suites, ChaCha20 first: in the code of the JVM's fast compiler it takes a quarter of
   * the time of AES. The others are for peers without it. All belong to TLS 1.3.
   */
  private static final String[] SUITES = {
    "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"
  };

  private ProxyTls() {}

  /** Returns the parameters of connections to the API server. */
  static SSLParameters toServer() {
    SSLParameters parameters = TlsContexts.clientParameters();
    parameters.setCipherSuites(SUITES);
    return parameters;
  }

  /**
   * Returns the parameters of clients' connections. The proxy asks for a certificate but does not
   * require one: a refusal with a reason is more useful than a broken handshake.
   */
  static SSLParameters ofClients() {
    SSLParameters parameters = toServer();
    parameters.setUseCipherSuitesOrder(true);
    parameters.setWantClientAuth(true);
    parameters.setApplicationProtocols(new String[] {"http/1.1"});
    return parameters;
  }
}
