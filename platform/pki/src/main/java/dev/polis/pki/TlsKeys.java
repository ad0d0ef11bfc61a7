package dev.polis.pki;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;

/**
 * Presents the supplier's newest identity, so that the next handshake uses a renewed certificate
 * without a new listener or channel. While the supplier has none, a server refuses handshakes and a
 * client presents nothing. Safe for any thread.
 */
public final class TlsKeys extends X509ExtendedKeyManager {
  private final Supplier<Optional<TlsIdentity>> source;

  /** The newest identity and its predecessor, which a running handshake may still use. */
  private final AtomicReference<List<TlsIdentity>> recent = new AtomicReference<>(List.of());

  /** Creates keys from a supplier, which must not block, since handshakes call it. */
  public TlsKeys(Supplier<Optional<TlsIdentity>> source) {
    this.source = source;
  }

  /** Returns keys that present one identity for ever. */
  public static TlsKeys fixed(TlsIdentity identity) {
    return new TlsKeys(() -> Optional.of(identity));
  }

  /** Returns a name of the identity, so that key and chain of one handshake belong together. */
  private static String alias(TlsIdentity identity) {
    return HexFormat.of().formatHex(identity.certificate().getSerialNumber().toByteArray());
  }

  private String choose(String... keyTypes) {
    Optional<TlsIdentity> now = source.get();
    now.ifPresent(identity -> recent.updateAndGet(known -> with(identity, known)));
    return now.filter(
            identity -> Arrays.asList(keyTypes).contains(identity.privateKey().getAlgorithm()))
        .map(TlsKeys::alias)
        .orElse(null); // the key manager's contract: null is "none"
  }

  private static List<TlsIdentity> with(TlsIdentity newer, List<TlsIdentity> known) {
    if (known.isEmpty()) {
      return List.of(newer);
    }
    return known.getFirst().equals(newer) ? known : List.of(newer, known.getFirst());
  }

  private Optional<TlsIdentity> find(String alias) {
    return recent.get().stream().filter(identity -> alias(identity).equals(alias)).findFirst();
  }

  @Override
  public String chooseEngineClientAlias(String[] keyTypes, Principal[] issuers, SSLEngine engine) {
    return choose(keyTypes);
  }

  @Override
  public String chooseEngineServerAlias(String keyType, Principal[] issuers, SSLEngine engine) {
    return choose(keyType);
  }

  @Override
  public String chooseClientAlias(String[] keyTypes, Principal[] issuers, Socket socket) {
    return choose(keyTypes);
  }

  @Override
  public String chooseServerAlias(String keyType, Principal[] issuers, Socket socket) {
    return choose(keyType);
  }

  @Override
  public String[] getClientAliases(String keyType, Principal[] issuers) {
    return aliases(keyType);
  }

  @Override
  public String[] getServerAliases(String keyType, Principal[] issuers) {
    return aliases(keyType);
  }

  private String[] aliases(String keyType) {
    String alias = choose(keyType);
    return alias == null ? null : new String[] {alias};
  }

  @Override
  public X509Certificate[] getCertificateChain(String alias) {
    return find(alias)
        .map(TlsIdentity::chain)
        .map(List::toArray)
        .map(chain -> Arrays.copyOf(chain, chain.length, X509Certificate[].class))
        .orElse(null);
  }

  @Override
  public PrivateKey getPrivateKey(String alias) {
    return find(alias).map(TlsIdentity::privateKey).orElse(null);
  }
}
