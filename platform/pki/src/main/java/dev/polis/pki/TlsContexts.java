package dev.polis.pki;

import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.Provider;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.KeyManagerFactorySpi;
import javax.net.ssl.ManagerFactoryParameters;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** Makes TLS contexts from {@link TlsKeys} and {@link TlsTrust}. TLS 1.3 only. */
public final class TlsContexts {
  /**
   * The only TLS version in use. Each stack needs it too: a context alone does not switch off older
   * versions.
   */
  public static final List<String> PROTOCOLS = List.of("TLSv1.3");

  static {
    // Here, since each TLS connection of the project needs a context: in a node, in polisctl and in
    // tests.
    NamelessCertificates.install();
  }

  private TlsContexts() {}

  /** Returns a context, for either side of a connection, with these keys and this trust. */
  public static SSLContext context(TlsKeys keys, X509ExtendedTrustManager trust) {
    return init(new KeyManager[] {keys}, trust);
  }

  /** Returns a context for clients that present no certificate. */
  public static SSLContext anonymous(TlsTrust trust) {
    return init(new KeyManager[0], trust);
  }

  /** Returns parameters of a server socket or engine that requires a client certificate. */
  public static SSLParameters serverParameters() {
    SSLParameters parameters = clientParameters();
    parameters.setNeedClientAuth(true);
    return parameters;
  }

  /** Returns parameters of a client socket or engine. */
  public static SSLParameters clientParameters() {
    var parameters = new SSLParameters();
    parameters.setProtocols(PROTOCOLS.toArray(String[]::new));
    return parameters;
  }

  /** Returns the keys as a factory, for stacks that accept no key manager. */
  public static KeyManagerFactory keyManagerFactory(TlsKeys keys) {
    return new FixedFactory(keys);
  }

  private static SSLContext init(KeyManager[] keys, TrustManager trust) {
    try {
      SSLContext context = SSLContext.getInstance("TLSv1.3");
      context.init(keys, new TrustManager[] {trust}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new PkiException("this Java runtime has no TLS 1.3; run Polis on JDK 25", e);
    }
  }

  private static final class FixedFactory extends KeyManagerFactory {
    FixedFactory(TlsKeys keys) {
      super(new FixedFactorySpi(keys), new FixedProvider(), "fixed");
    }
  }

  /** Is the provider that the factory's constructor requires; it is never registered. */
  private static final class FixedProvider extends Provider {
    private static final long serialVersionUID = 1L;

    FixedProvider() {
      super("PolisKeys", "1", "one key manager");
    }
  }

  private static final class FixedFactorySpi extends KeyManagerFactorySpi {
    private final TlsKeys keys;

    FixedFactorySpi(TlsKeys keys) {
      this.keys = keys;
    }

    @Override
    protected void engineInit(KeyStore store, char[] password) {
      // The keys are given already.
    }

    @Override
    protected void engineInit(ManagerFactoryParameters parameters) {
      // The keys are given already.
    }

    @Override
    protected KeyManager[] engineGetKeyManagers() {
      return new KeyManager[] {keys};
    }
  }
}
