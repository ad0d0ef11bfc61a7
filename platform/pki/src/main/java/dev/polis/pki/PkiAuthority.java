package dev.polis.pki;

import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * Issues and revokes certificates of an authority in a {@link PkiStore}. There are three kinds of
 * certificates: <em>managed</em> ones, whose key is stored beside them; <em>external</em> ones,
 * whose holder keeps the key; <em>ephemeral</em> ones, of which nothing is stored, and which can be
 * revoked by serial number only.
 *
 * <p>A second call for a certificate returns the same bytes, until the certificate has a third of
 * its life left, differs from its template, or has another signer: then the authority issues it
 * again, in the same place, for the same key. It refuses a revoked name until the name is
 * {@linkplain #remove removed}.
 */
public final class PkiAuthority {
  private final PkiStore store;
  private final String name;
  private final CertificateAuthority ca;

  private PkiAuthority(PkiStore store, String name, CertificateAuthority ca) {
    this.store = store;
    this.name = name;
    this.ca = ca;
  }

  static Optional<PkiAuthority> attempt(
      PkiStore store, String name, CertificateTemplate template, boolean mayCreate)
      throws InterruptedException {
    PkiSlot slot = PkiSlot.read(store.backend(), name);
    if (!mayCreate && slot.storedCertificate() == null) {
      return Optional.empty();
    }
    if (slot.storedCertificate() != null && slot.storedKey() == null) {
      throw new PkiException(
          "authority \""
              + name
              + "\" has a certificate but no key; restore the store from a snapshot");
    }
    Instant now = store.clock().instant();
    List<PkiBackend.Change> changes = new ArrayList<>();
    PrivateKey key = slot.key().orElseGet(() -> newKey(slot, changes));
    PublicKey publicKey = Ed25519.publicKey(key);
    X509Certificate certificate =
        slot.certificate().filter(stored -> !Renewal.of(stored).due(now)).orElse(null);
    if (certificate == null) {
      certificate = CertificateAuthority.selfSigned(template, new KeyPair(publicKey, key), now);
      changes.addAll(slot.putCertificate(certificate, now));
    }
    if (!Ed25519.match(key, certificate.getPublicKey())
        && !PkiSlot.read(store.backend(), name).certificate().equals(slot.certificate())) {
      throw new PkiConflictException(
          "authority \"%s\" was succeeded by another while it was read; read it again"
              .formatted(name));
    }
    var authority =
        new PkiAuthority(store, name, new CertificateAuthority(key, certificate, store.clock()));
    if (store.backend().get(authority.crlPath()).isEmpty()) {
      Crl empty = authority.ca.revocationList(BigInteger.ONE, List.of());
      changes.add(new PkiBackend.Put(authority.crlPath(), empty.der(), 0));
    }
    store.commit(name, changes);
    return Optional.of(authority);
  }

  private static PrivateKey newKey(PkiSlot slot, List<PkiBackend.Change> changes) {
    PrivateKey made = Ed25519.generate().getPrivate();
    changes.add(slot.putKey(made));
    return made;
  }

  public CertificateAuthority authority() {
    return ca;
  }

  /** Returns the authority's certificate. */
  public X509Certificate certificate() {
    return ca.certificate();
  }

  /**
   * Returns a certificate with its stored key, and creates both if they are missing.
   *
   * @param child its name in the store
   * @throws PkiException if the name is revoked, or the stored entries cannot be read
   * @throws PkiConflictException if other writers keep changing it; try again
   */
  public TlsIdentity ensureManaged(String child, CertificateTemplate template)
      throws InterruptedException {
    requireChild(child, template);
    return store.retry(() -> attemptManaged(child, template));
  }

  /** Makes one attempt of {@link #ensureManaged}. */
  TlsIdentity attemptManaged(String child, CertificateTemplate template)
      throws InterruptedException {
    PkiSlot slot = PkiSlot.read(store.backend(), child);
    requireKeyWithCertificate(slot);
    List<PkiBackend.Change> changes = new ArrayList<>();
    PrivateKey key = slot.key().orElseGet(() -> newKey(slot, changes));
    X509Certificate certificate = current(slot, template, Ed25519.publicKey(key), changes);
    store.commit(child, changes);
    return TlsIdentity.of(key, certificate);
  }

  private static void requireKeyWithCertificate(PkiSlot slot) {
    if (slot.storedCertificate() != null && slot.storedKey() == null) {
      throw new PkiException(
          "\"%s\" is stored without a key: it is external, its holder has the key"
              .formatted(slot.name()));
    }
  }

  /**
   * Returns the certificate for a holder's own key, and issues it if it is missing.
   *
   * @param child its name in the store
   * @throws PkiException if the name belongs to another key or is revoked, or the stored entries
   *     cannot be read
   * @throws PkiConflictException if other writers keep changing it; try again
   */
  public X509Certificate ensureExternal(
      String child, CertificateTemplate template, PublicKey publicKey) throws InterruptedException {
    requireChild(child, template);
    return store.retry(() -> attemptExternal(child, template, publicKey));
  }

  /** Makes one attempt of {@link #ensureExternal}. */
  X509Certificate attemptExternal(String child, CertificateTemplate template, PublicKey publicKey)
      throws InterruptedException {
    PkiSlot slot = PkiSlot.read(store.backend(), child);
    slot.certificate()
        .filter(stored -> !stored.getPublicKey().equals(publicKey))
        .ifPresent(
            stored -> {
              throw new PkiException(
                  "\"%s\" belongs to another key; remove it first, or take another name"
                      .formatted(child));
            });
    List<PkiBackend.Change> changes = new ArrayList<>();
    X509Certificate certificate = current(slot, template, publicKey, changes);
    store.commit(child, changes);
    return certificate;
  }

  /**
   * Revokes all certificates of a name, and issues one for another key in the same transaction. If
   * the name has that key already, it does the same as {@link #ensureExternal}.
   *
   * @param child its name in the store; it may be revoked
   * @throws PkiException if the stored entries cannot be read
   * @throws PkiConflictException if other writers keep changing them; try again
   */
  public X509Certificate replaceExternal(
      String child, CertificateTemplate template, PublicKey publicKey) throws InterruptedException {
    requireChild(child, template);
    return store.retry(() -> attemptReplace(child, template, publicKey));
  }

  private X509Certificate attemptReplace(
      String child, CertificateTemplate template, PublicKey publicKey) throws InterruptedException {
    PkiSlot slot = PkiSlot.read(store.backend(), child);
    if (slot.certificate().filter(each -> each.getPublicKey().equals(publicKey)).isPresent()) {
      return attemptExternal(child, template, publicKey);
    }
    Instant now = store.clock().instant();
    PkiBackend.Entry list = storedCrl();
    X509Certificate issued = ca.issue(template, publicKey);
    List<PkiBackend.Change> changes = new ArrayList<>(slot.putCertificate(issued, now));
    changes.add(
        new PkiBackend.Put(
            crlPath(), extended(parse(list.value()), slot.serials(now)).der(), list.revision()));
    store.commit(child, changes);
    return issued;
  }

  /** Creates a certificate with a new key, and stores neither. */
  public TlsIdentity ephemeral(CertificateTemplate template) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issue(template, pair.getPublic()));
  }

  /**
   * Returns the stored certificate if it is still good, else a new one with the changes that store
   * it.
   */
  private X509Certificate current(
      PkiSlot slot, CertificateTemplate template, PublicKey key, List<PkiBackend.Change> changes)
      throws InterruptedException {
    Instant now = store.clock().instant();
    PkiBackend.Entry list = storedCrl();
    Optional<X509Certificate> stored = slot.certificate();
    if (stored.isPresent()) {
      requireNotRevoked(slot.name(), stored.get(), parse(list.value()));
      if (good(stored.get(), template, key, now)) {
        return stored.get();
      }
    }
    X509Certificate issued = ca.issue(template, key);
    changes.addAll(slot.putCertificate(issued, now));
    // Fails if a revocation comes between, which would miss the new serial number.
    changes.add(new PkiBackend.Require(crlPath(), list.revision()));
    return issued;
  }

  private boolean good(
      X509Certificate stored, CertificateTemplate template, PublicKey key, Instant now) {
    try {
      Identity.verifySignedBy(stored, ca.certificate());
    } catch (IdentityException replacedAuthority) {
      return false;
    }
    return !Renewal.of(stored).due(now)
        && stored.getPublicKey().equals(key)
        && template.describes(stored);
  }

  private void requireNotRevoked(String child, X509Certificate stored, Crl list) {
    if (list.revokes(stored)) {
      throw new PkiException(
          "\"%s\" is revoked by authority \"%s\"; remove it before it can be issued anew"
              .formatted(child, name));
    }
  }

  /** Returns the newest certificate of a name. */
  public Optional<X509Certificate> find(String child) throws InterruptedException {
    return PkiSlot.read(store.backend(), child).certificate();
  }

  /**
   * Returns the certificates of all names but the authority's own: the newest one of each, then its
   * predecessors that have not expired, the latest first.
   *
   * @param keys all keys of the store, relative to it
   */
  public List<IssuedCertificate> issued(Collection<String> keys) throws InterruptedException {
    Crl list = crl();
    Instant now = store.clock().instant();
    List<IssuedCertificate> issued = new ArrayList<>();
    List<String> names =
        keys.stream()
            .flatMap(key -> PkiSlot.nameOf(key).stream())
            .filter(each -> !each.equals(name) && !each.equals(next()))
            .sorted()
            .toList();
    for (String each : names) {
      PkiSlot slot = PkiSlot.read(store.backend(), each);
      slot.certificate()
          .map(PkiSlot.Superseded::of)
          .ifPresent(newest -> issued.add(issued(each, newest, true, list)));
      slot.superseded(now).reversed().forEach(old -> issued.add(issued(each, old, false, list)));
    }
    return issued;
  }

  private static IssuedCertificate issued(
      String child, PkiSlot.Superseded one, boolean newest, Crl list) {
    return new IssuedCertificate(
        child,
        one.serial(),
        one.notBeforeOrNull(),
        one.notAfter(),
        newest,
        list.serials().contains(one.serial()));
  }

  /**
   * Revokes all unexpired certificates of a name; a second call changes nothing.
   *
   * @return the list with them
   * @throws PkiException if the name has no certificate
   * @throws PkiConflictException if other writers keep changing the list; try again
   */
  public Crl revoke(String child) throws InterruptedException {
    return store.retry(
        () -> {
          PkiSlot slot = PkiSlot.read(store.backend(), child);
          if (slot.storedCertificate() == null) {
            throw new PkiException(
                "nothing was issued to \"%s\" by authority \"%s\"; nothing to revoke"
                    .formatted(child, name));
          }
          return revoke(slot.serials(store.clock().instant()), List.of(slot.unchanged()));
        });
  }

  /** Revokes serial numbers, for ephemeral certificates. */
  public Crl revokeSerials(Collection<BigInteger> serials) throws InterruptedException {
    return store.retry(() -> revoke(serials, List.of()));
  }

  /**
   * Revokes all certificates of a name and removes the name in one transaction, so that a later
   * certificate may have another key. It ignores an unknown name.
   */
  public Crl remove(String child) throws InterruptedException {
    requireName(child);
    return store.retry(
        () -> {
          PkiSlot slot = PkiSlot.read(store.backend(), child);
          return revoke(slot.serials(store.clock().instant()), slot.delete());
        });
  }

  private Crl revoke(Collection<BigInteger> serials, List<PkiBackend.Change> others)
      throws InterruptedException {
    PkiBackend.Entry stored = storedCrl();
    Crl before = parse(stored.value());
    List<PkiBackend.Change> changes = new ArrayList<>(others);
    Crl after = before;
    if (!before.serials().containsAll(serials)) {
      after = extended(before, serials);
      changes.add(new PkiBackend.Put(crlPath(), after.der(), stored.revision()));
    }
    store.commit(crlPath(), changes);
    return after;
  }

  private Crl extended(Crl list, Collection<BigInteger> serials) {
    var all = new TreeSet<>(list.serials());
    all.addAll(serials);
    return ca.revocationList(list.number().add(BigInteger.ONE), all);
  }

  /**
   * Keeps what another list of this authority revokes. It changes the stored list only if that is
   * older: then the store was restored from a former state.
   *
   * @param trusted the CAs of which one signed the list; not always that of the store, which a
   *     rotation replaces
   * @return the stored list
   * @throws PkiConflictException if other writers keep changing the list; try again
   */
  public Crl keepRevoked(Crl known, CaBundle trusted) throws InterruptedException {
    trusted.signerOf(known);
    return store.retry(
        () -> {
          PkiBackend.Entry stored = storedCrl();
          Crl present = parse(stored.value());
          BigInteger newest = present.number().max(known.number());
          if (newest.equals(present.number()) && present.serials().containsAll(known.serials())) {
            return present;
          }
          var all = new TreeSet<>(present.serials());
          all.addAll(known.serials());
          Crl both = ca.revocationList(newest.add(BigInteger.ONE), all);
          store.commit(
              crlPath(), List.of(new PkiBackend.Put(crlPath(), both.der(), stored.revision())));
          return both;
        });
  }

  /** Returns the present revocation list. */
  public Crl crl() throws InterruptedException {
    return parse(storedCrl().value());
  }

  /** Follows the revocation list; the reader verifies each state. */
  public Value<Crl> followCrl() {
    return Values.map(store.backend().follow(crlPath()), Crl::parse);
  }

  private PkiBackend.Entry storedCrl() throws InterruptedException {
    return store
        .backend()
        .get(crlPath())
        .orElseThrow(
            () ->
                new PkiException(
                    "revocation list %s is missing; ensure the authority again"
                        .formatted(crlPath())));
  }

  private Crl parse(byte[] der) throws InterruptedException {
    Crl list = Crl.parse(der);
    if (!list.isSignedBy(ca.certificate()) && !find(name).equals(Optional.of(ca.certificate()))) {
      throw new PkiConflictException(
          "authority \"%s\" with the serial number %s was succeeded by another; read it again"
              .formatted(name, ca.certificate().getSerialNumber().toString(16)));
    }
    return list.verify(ca.certificate());
  }

  // ---- succession

  /** Describes how far the succession of an authority is. */
  public sealed interface Succession {
    /** Means that there is neither a successor nor a former authority. */
    record None() implements Succession {}

    /**
     * Means that a successor is made and does not issue yet.
     *
     * @param next its certificate
     */
    record Prepared(X509Certificate next) implements Succession {}

    /**
     * Means that this authority issues, and its predecessor is not retired yet.
     *
     * @param former the certificate of the predecessor
     */
    record Issuing(X509Certificate former) implements Succession {}
  }

  /** Returns how far the succession is. */
  public Succession succession() throws InterruptedException {
    Optional<X509Certificate> next = PkiSlot.read(store.backend(), next()).certificate();
    if (next.isPresent()) {
      return new Succession.Prepared(next.get());
    }
    return store
        .backend()
        .get(formerPath())
        .<Succession>map(entry -> new Succession.Issuing(Pem.certificate(entry.value())))
        .orElseGet(Succession.None::new);
  }

  /**
   * Makes a successor, which does not issue yet, and the proof by which holders of this authority's
   * certificate trust it. Does nothing if there is one.
   *
   * @throws PkiException if a former authority is not retired yet
   */
  public void prepareSuccessor() throws InterruptedException {
    store.retry(
        () -> {
          PkiSlot slot = PkiSlot.read(store.backend(), next());
          Succession now = succession();
          if (now instanceof Succession.Prepared) {
            return now;
          }
          if (now instanceof Succession.Issuing) {
            throw new PkiException(
                "authority \"%s\" has succeeded one that is not retired yet; retire that one first"
                    .formatted(name));
          }
          Optional<PkiBackend.Entry> stored = store.backend().get(successionPath());
          CertificateAuthority made =
              CertificateAuthority.create(
                  CertificateTemplate.authority(Identity.commonName(ca.certificate()).orElse(name)),
                  store.clock());
          // Ends with this authority, which a node that missed its rotation must trust meanwhile.
          List<X509Certificate> links =
              new ArrayList<>(stored.map(PkiAuthority::chain).orElse(List.of()));
          links.add(ca.link(made.certificate()));
          links.add(made.certificate());
          List<PkiBackend.Change> changes = new ArrayList<>();
          changes.add(slot.putKey(made.privateKey()));
          changes.addAll(slot.putCertificate(made.certificate(), store.clock().instant()));
          changes.add(
              new PkiBackend.Put(
                  successionPath(),
                  Pem.encode(links.toArray(X509Certificate[]::new))
                      .getBytes(StandardCharsets.US_ASCII),
                  stored.map(PkiBackend.Entry::revision).orElse(0L)));
          changes.add(new PkiBackend.Require(crlPath(), storedCrl().revision()));
          store.commit(name, changes);
          return now;
        });
  }

  /**
   * Lets the successor issue in place of this authority, and sign the revocation list. Certificates
   * of this one stay good until it is {@linkplain #retireFormer retired}. The caller gets the
   * authority again from the store.
   *
   * @throws PkiException if no successor is prepared
   */
  public void succeed() throws InterruptedException {
    store.retry(
        () -> {
          PkiSlot successor = PkiSlot.read(store.backend(), next());
          PkiSlot present = PkiSlot.read(store.backend(), name);
          // Of a successor that another call lets issue meanwhile, the key alone may be gone.
          Supplier<PkiException> none =
              () ->
                  new PkiException(
                      "authority \"%s\" has no successor; prepare one first".formatted(name));
          X509Certificate certificate = successor.certificate().orElseThrow(none);
          CertificateAuthority begins =
              new CertificateAuthority(
                  successor.key().orElseThrow(none), certificate, store.clock());
          PkiBackend.Entry stored = storedCrl();
          Crl before = parse(stored.value());
          Crl after = begins.revocationList(before.number().add(BigInteger.ONE), before.serials());
          List<PkiBackend.Change> changes = new ArrayList<>(successor.delete());
          changes.add(present.putKey(begins.privateKey()));
          changes.addAll(present.putCertificate(certificate, store.clock().instant()));
          changes.add(new PkiBackend.Put(formerPath(), Pem.der(ca.certificate()), 0));
          changes.add(new PkiBackend.Put(crlPath(), after.der(), stored.revision()));
          store.commit(name, changes);
          return certificate;
        });
  }

  /**
   * Ends the trust in the former authority: the revocation list names the serial numbers of its
   * certificates. Does nothing if it is retired.
   */
  public void retireFormer() throws InterruptedException {
    store.retry(
        () -> {
          Optional<PkiBackend.Entry> former = store.backend().get(formerPath());
          if (former.isEmpty()) {
            return crl();
          }
          // Nodes may hold an earlier certificate of the former key: a CA renews its own.
          var serials =
              new TreeSet<>(PkiSlot.read(store.backend(), name).serials(store.clock().instant()));
          serials.remove(ca.certificate().getSerialNumber());
          serials.add(Pem.certificate(former.get().value()).getSerialNumber());
          return revoke(
              serials, List.of(new PkiBackend.Delete(formerPath(), former.get().revision())));
        });
  }

  /** Returns the proof of the newest authority; empty before the first succession. */
  public List<X509Certificate> proof() throws InterruptedException {
    return store.backend().get(successionPath()).map(PkiAuthority::chain).orElse(List.of());
  }

  /** Follows the proof of the newest authority, and waits for the first one. */
  public Value<List<X509Certificate>> followSuccession() {
    return Values.map(
        store.backend().follow(successionPath()),
        pem -> Pem.certificates(new String(pem, StandardCharsets.US_ASCII)));
  }

  private static List<X509Certificate> chain(PkiBackend.Entry stored) {
    return Pem.certificates(new String(stored.value(), StandardCharsets.US_ASCII));
  }

  private String next() {
    return name + "-next";
  }

  private String formerPath() {
    return name + "-former-cert.der";
  }

  private String successionPath() {
    return name + "-succession.pem";
  }

  private String crlPath() {
    return name + "-crl.der";
  }

  private void requireChild(String child, CertificateTemplate template) {
    requireName(child);
    if (template.ca()) {
      throw new PkiException(
          "\"" + child + "\" is to be an authority; authorities have one level only");
    }
  }

  private void requireName(String child) {
    PkiStore.requireName(child);
    if (child.equals(name) || child.equals(next())) {
      throw new PkiException("\"" + child + "\" is the name of the authority itself; take another");
    }
  }

  @Override
  public String toString() {
    return "PkiAuthority[" + name + "]";
  }
}
