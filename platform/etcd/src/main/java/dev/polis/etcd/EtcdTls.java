package dev.polis.etcd;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;

/**
 * Holds a client's key, certificate and trusted CAs for a mutual TLS 1.3 connection. Keys may be
 * Ed25519; the private key is never printed.
 *
 * @param trusted CA certificates that may sign a member's certificate, at least one
 * @param key private key of the client
 * @param chain certificate of the client first, then its issuers if any; its common name is the
 *     etcd user
 */
public record EtcdTls(List<X509Certificate> trusted, PrivateKey key, List<X509Certificate> chain) {

  public EtcdTls {
    trusted = List.copyOf(trusted);
    chain = List.copyOf(chain);
    if (trusted.isEmpty()) {
      throw new IllegalArgumentException("etcd TLS needs at least one trusted CA certificate");
    }
    if (chain.isEmpty()) {
      throw new IllegalArgumentException("etcd TLS needs a client certificate");
    }
  }

  @Override
  public String toString() {
    return "EtcdTls[user=" + chain.getFirst().getSubjectX500Principal() + ", key=<secret>]";
  }
}
