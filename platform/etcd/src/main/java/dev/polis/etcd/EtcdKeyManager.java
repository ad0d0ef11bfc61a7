package dev.polis.etcd;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;

/**
 * Presents the newest key and certificate of a client. A key store would encrypt and decrypt its
 * content with ten thousand rounds, at each start and for each client.
 */
final class EtcdKeyManager extends X509ExtendedKeyManager {

  private final Supplier<EtcdTls> newest;

  /** The newest identity and its predecessor, which a running handshake may still use. */
  private final AtomicReference<List<EtcdTls>> recent = new AtomicReference<>(List.of());

  EtcdKeyManager(Supplier<EtcdTls> newest) {
    this.newest = newest;
  }

  /** Returns a name of the identity, so that key and chain of one handshake belong together. */
  private static String alias(EtcdTls identity) {
    return identity.chain().getFirst().getSerialNumber().toString();
  }

  private EtcdTls take() {
    EtcdTls now = newest.get();
    recent.updateAndGet(
        known ->
            known.isEmpty()
                ? List.of(now)
                : known.getFirst().equals(now) ? known : List.of(now, known.getFirst()));
    return now;
  }

  private Optional<EtcdTls> find(String alias) {
    return recent.get().stream().filter(each -> alias(each).equals(alias)).findFirst();
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
    EtcdTls tls = take();
    String algorithm = tls.key().getAlgorithm();
    // Java names such a key EdDSA, while TLS asks for Ed25519 or EdDSA.
    List<String> mine =
        algorithm.equals("EdDSA") ? List.of("EdDSA", "Ed25519") : List.of(algorithm);
    return Arrays.stream(keyTypes).anyMatch(mine::contains) ? alias(tls) : null;
  }

  @Override
  public String[] getClientAliases(String keyType, Principal[] issuers) {
    return new String[] {alias(take())};
  }

  @Override
  public X509Certificate[] getCertificateChain(String alias) {
    return find(alias)
        .map(each -> each.chain().toArray(X509Certificate[]::new))
        .orElse(null); // the key manager's contract: null is "none"
  }

  @Override
  public PrivateKey getPrivateKey(String alias) {
    return find(alias).map(EtcdTls::key).orElse(null);
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
