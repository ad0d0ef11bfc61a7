package dev.polis.etcd;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;

/**
 * Presents the one key and certificate of a client. A key store would encrypt and decrypt its
 * content with ten thousand rounds, at each start and for each client.
 */
final class EtcdKeyManager extends X509ExtendedKeyManager {

  private static final String ALIAS = "client";

  private final EtcdTls tls;

  EtcdKeyManager(EtcdTls tls) {
    this.tls = tls;
  }

  @Override
  public String chooseEngineClientAlias(String[] keyTypes, Principal[] issuers, SSLEngine engine) {
    return choose(keyTypes);
  }

  @Override
  public String chooseClientAlias(String[] keyTypes, Principal[] issuers, Socket socket) {
    return choose(keyTypes);
  }

  private String choose(String[] keyTypes) {
    String algorithm = tls.key().getAlgorithm();
    // Java names such a key EdDSA, while TLS asks for Ed25519 or EdDSA.
    List<String> mine =
        algorithm.equals("EdDSA") ? List.of("EdDSA", "Ed25519") : List.of(algorithm);
    return Arrays.stream(keyTypes).anyMatch(mine::contains) ? ALIAS : null;
  }

  @Override
  public String[] getClientAliases(String keyType, Principal[] issuers) {
    return new String[] {ALIAS};
  }

  @Override
  public X509Certificate[] getCertificateChain(String alias) {
    return tls.chain().toArray(X509Certificate[]::new);
  }

  @Override
  public PrivateKey getPrivateKey(String alias) {
    return tls.key();
  }

  @Override
  public String[] getServerAliases(String keyType, Principal[] issuers) {
    return new String[0];
  }

  @Override
  public String chooseServerAlias(String keyType, Principal[] issuers, Socket socket) {
    return null;
  }
}
