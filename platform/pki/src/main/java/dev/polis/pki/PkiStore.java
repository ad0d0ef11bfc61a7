package dev.polis.pki;

import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Keeps keys, certificates and revocation lists in a key-value store, as
 *
 * <pre>
 *   keys/NAME-privkey.bin       private key, PKCS #8 DER (managed certificates and authorities)
 *   issued/NAME-cert.der        newest certificate
 *   issued/NAME-superseded.txt  serial numbers of its predecessors that have not expired
 *   NAME-crl.der                revocation list of an authority
 *   NAME-next                   a name as above: the successor of an authority, until it issues
 *   NAME-former-cert.der        certificate of the former authority, until it is retired
 *   NAME-succession.pem         links from former authorities, then the newest authority
 * </pre>
 *
 * <p>Each creation and change is one transaction guarded by the read revisions: if two callers do
 * the same at once, one wins and both get the winner's bytes. Safe for any thread; calls block on
 * the store.
 */
public final class PkiStore {
  /**
   * The number of attempts after conflicts: a conflict means that another writer made progress, and
   * eight in a row mean a fault.
   */
  private static final int ATTEMPTS = 8;

  private final PkiBackend backend;
  private final InstantSource clock;

  /** Creates a store on the system's clock. */
  public PkiStore(PkiBackend backend) {
    this(backend, InstantSource.system());
  }

  /** Creates a store on another clock. */
  public PkiStore(PkiBackend backend, InstantSource clock) {
    this.backend = backend;
    this.clock = clock;
  }

  /**
   * Reads or creates an authority with its empty revocation list. Near the end of its life the
   * authority renews its certificate for the same key, so that its signatures stay valid.
   *
   * @throws PkiException if the stored entries cannot be read; they stay as they are
   * @throws PkiConflictException if other writers keep changing it; try again
   */
  public PkiAuthority ensureAuthority(String name, CertificateTemplate template)
      throws InterruptedException {
    return authority(name, template, true).orElseThrow();
  }

  /** Does the same for an authority that exists; returns empty, and makes none, if it does not. */
  public Optional<PkiAuthority> existingAuthority(String name, CertificateTemplate template)
      throws InterruptedException {
    return authority(name, template, false);
  }

  private Optional<PkiAuthority> authority(
      String name, CertificateTemplate template, boolean mayCreate) throws InterruptedException {
    requireName(name);
    if (!template.ca()) {
      throw new PkiException("template of authority \"" + name + "\" is not one of an authority");
    }
    return retry(() -> PkiAuthority.attempt(this, name, template, mayCreate));
  }

  /**
   * Reads bytes, or stores the given ones if the key is missing. It serves for keys without a
   * certificate, such as the one that signs Kubernetes' service account tokens.
   *
   * @param key the key within the store
   * @param first makes the bytes; called at most once for each attempt
   */
  public byte[] ensureBytes(String key, Supplier<byte[]> first) throws InterruptedException {
    return retry(
        () -> {
          Optional<PkiBackend.Entry> stored = backend.get(key);
          if (stored.isPresent()) {
            return stored.get().value();
          }
          byte[] made = first.get();
          commit(key, List.of(new PkiBackend.Put(key, made, 0)));
          return made;
        });
  }

  /** Is one attempt of an operation, which a conflict may end. */
  @FunctionalInterface
  interface Attempt<T> {
    T run() throws InterruptedException;
  }

  <T> T retry(Attempt<T> attempt) throws InterruptedException {
    for (int tries = 1; ; tries++) {
      try {
        return attempt.run();
      } catch (PkiConflictException conflict) {
        if (tries == ATTEMPTS) {
          throw conflict;
        }
      }
    }
  }

  PkiBackend backend() {
    return backend;
  }

  InstantSource clock() {
    return clock;
  }

  void commit(String what, List<PkiBackend.Change> changes) throws InterruptedException {
    if (!changes.isEmpty() && !backend.commit(changes)) {
      throw new PkiConflictException(
          "\"" + what + "\" was changed by another in the meantime; read it again");
    }
  }

  static String requireName(String name) {
    if (name.isBlank() || name.contains("/")) {
      throw new PkiException(
          "\"" + name + "\" is no name for a stored object: it is empty or holds '/'");
    }
    return name;
  }
}
