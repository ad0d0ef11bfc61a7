package dev.polis.etcd;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** Trusts the members whose certificates the newest CAs have signed. */
final class EtcdTrustManager extends X509ExtendedTrustManager {

  /** Pairs CAs with the JDK's trust in them. */
  private record Known(List<X509Certificate> trusted, X509ExtendedTrustManager trust) {}

  private final Supplier<EtcdTls> newest;
  private volatile Known known;

  EtcdTrustManager(Supplier<EtcdTls> newest) {
    this.newest = newest;
    this.known = read();
  }

  private Known read() {
    List<X509Certificate> trusted = newest.get().trusted();
    return new Known(trusted, trust(trusted));
  }

  private static X509ExtendedTrustManager trust(List<X509Certificate> trusted) {
    try {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      for (X509Certificate ca : trusted) {
        store.setCertificateEntry("ca-" + store.size(), ca);
      }
      TrustManagerFactory factory =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(store);
      return (X509ExtendedTrustManager) factory.getTrustManagers()[0];
    } catch (GeneralSecurityException | IOException unusable) {
      throw new IllegalArgumentException(
          "the CAs of etcd cannot be used for TLS: " + trusted, unusable);
    }
  }

  private X509ExtendedTrustManager present() {
    if (!known.trusted().equals(newest.get().trusted())) {
      known = read();
    }
    return known.trust();
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    present().checkServerTrusted(chain, type, engine);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    present().checkServerTrusted(chain, type, socket);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
    present().checkServerTrusted(chain, type);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    throw noServer();
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    throw noServer();
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
    throw noServer();
  }

  private static CertificateException noServer() {
    return new CertificateException("this trust is a client's: it accepts members of etcd only");
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return present().getAcceptedIssuers();
  }
}
