package dev.polis.pki;

import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Keys, certificates and revocation lists in a key-value store, as
 *
 * <pre>
 *   keys/NAME-privkey.bin       private key, PKCS #8 DER (managed certificates and authorities)
 *   issued/NAME-cert.der        newest certificate
 *   issued/NAME-superseded.txt  serial numbers of its predecessors that have not expired
 *   NAME-crl.der                revocation list of an authority
 * </pre>
 *
 * <p>Every creation and change is one transaction guarded by the revisions that were read: of two
 * that do the same at once, one wins and both get the winner's bytes. Safe for any thread; calls
 * block on the store.
 */
public final class PkiStore {
  /**
   * How often a conflict is retried: each means that another writer made progress, and eight in a
   * row that something is wrong.
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
   * Reads or creates an authority with its empty revocation list. Near the end of its life its
   * certificate is issued again for the same key, so that what it signed stays good.
   *
   * @throws PkiException if the stored entries cannot be read; they stay as they are
   * @throws PkiConflictException if others keep changing it; try again
   */
  public PkiAuthority ensureAuthority(String name, CertificateTemplate template)
      throws InterruptedException {
    requireName(name);
    if (!template.ca()) {
      throw new PkiException("template of authority \"" + name + "\" is not one of an authority");
    }
    return retry(() -> PkiAuthority.attempt(this, name, template));
  }

  /**
   * Reads bytes, or stores the given ones if there are none; for keys that are no certificates,
   * such as the one that signs Kubernetes service account tokens.
   *
   * @param key where, within the store
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

  /** Is an operation that a conflict may spoil. */
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
