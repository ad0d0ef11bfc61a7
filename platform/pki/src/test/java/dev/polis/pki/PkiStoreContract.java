package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.TestThreads;
import java.math.BigInteger;
import java.net.InetAddress;
import java.security.KeyPair;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Tests the promises of a store on any backend. */
abstract class PkiStoreContract {
  private static final CertificateTemplate CA = CertificateTemplate.authority("Test CA");

  final ManualClock clock = new ManualClock();

  abstract PkiBackend backend();

  private PkiStore store() {
    return new PkiStore(backend(), clock);
  }

  private PkiAuthority authority() throws InterruptedException {
    return store().ensureAuthority("ca", CA);
  }

  private static CertificateTemplate server(String name) {
    return CertificateTemplate.server(name, List.of(name), List.of());
  }

  /** Lets both threads read before either writes, so that the race always occurs. */
  private final class MeetingBackend implements PkiBackend {
    private final CyclicBarrier meeting = new CyclicBarrier(2);
    private final ThreadLocal<Boolean> met = ThreadLocal.withInitial(() -> false);

    @Override
    public Optional<Entry> get(String key) throws InterruptedException {
      return backend().get(key);
    }

    @Override
    public boolean commit(List<Change> changes) throws InterruptedException {
      if (!met.get()) {
        met.set(true);
        try {
          meeting.await(20, TimeUnit.SECONDS);
        } catch (java.util.concurrent.BrokenBarrierException
            | java.util.concurrent.TimeoutException e) {
          throw new AssertionError("the other thread never came to write", e);
        }
      }
      return backend().commit(changes);
    }

    @Override
    public dev.polis.base.values.Value<byte[]> follow(String key) {
      return backend().follow(key);
    }
  }

  private static <T> List<Future<T>> together(Callable<T> one, Callable<T> other) throws Exception {
    try (var threads = new TestThreads(Thread.ofPlatform().factory())) {
      return threads.invokeAll(List.of(one, other));
    }
  }

  @Test
  @DisplayName("PKI-01 a CA ensured twice is the same; its child has issuer and CN, and is no CA")
  void pki01_authorityAndChild() throws Exception {
    PkiAuthority first = authority();
    PkiAuthority second = authority();

    assertEquals(first.certificate(), second.certificate());
    assertEquals(first.authority().privateKey(), second.authority().privateKey());

    X509Certificate child = first.ensureManaged("server", server("a.example")).certificate();
    assertEquals(first.certificate().getSubjectX500Principal(), child.getIssuerX500Principal());
    assertEquals(Optional.of("a.example"), Identity.commonName(child));
    assertEquals(-1, child.getBasicConstraints());
    assertEquals(
        child, second.ensureManaged("server", server("a.example")).certificate(), "same bytes");
    assertTrue(child.getSerialNumber().bitLength() <= 127);
  }

  @Test
  @DisplayName("PKI-02 an external name keeps its certificate for its key and refuses another key")
  void pki02_external() throws Exception {
    PkiAuthority ca = authority();
    KeyPair key = Ed25519.generate();
    X509Certificate first = ca.ensureExternal("client", server("x"), key.getPublic());

    assertEquals(first, ca.ensureExternal("client", server("x"), key.getPublic()));
    var refused =
        assertThrows(
            PkiException.class,
            () -> ca.ensureExternal("client", server("x"), Ed25519.generate().getPublic()));
    assertFalse(refused instanceof PkiConflictException, "trying again does not help");
    assertEquals(Optional.of(first), ca.find("client"));
    assertTrue(backend().get("keys/client-privkey.bin").isEmpty(), "no key is stored");
  }

  @Test
  @DisplayName("PKI-03 a new list is empty and signed; revocations add up")
  void pki03_revocation() throws Exception {
    PkiAuthority ca = authority();
    X509Certificate bad = ca.ensureManaged("badserver", server("bad")).certificate();
    X509Certificate good = ca.ensureManaged("server", server("good")).certificate();
    assertEquals(Set.of(), ca.crl().verify(ca.certificate()).serials());

    Crl one = ca.revoke("badserver");
    assertEquals(Set.of(bad.getSerialNumber()), one.serials());
    assertTrue(one.revokes(bad));
    assertFalse(one.revokes(good));

    Crl two = ca.revoke("server");
    assertEquals(Set.of(bad.getSerialNumber(), good.getSerialNumber()), two.serials());
    assertEquals(two, ca.crl());
    assertTrue(two.number().compareTo(one.number()) > 0);
    assertEquals(two, ca.revoke("server"), "twice is once");
  }

  @Test
  @DisplayName(
      "after a restore from a former state, a list that a node kept revokes the same again")
  void keptList() throws Exception {
    PkiAuthority ca = authority();
    X509Certificate before = ca.ensureManaged("before", server("before")).certificate();
    X509Certificate since = ca.ensureManaged("since", server("since")).certificate();
    Crl snapshot = ca.revoke("before");
    Crl kept = ca.authority().revocationList(BigInteger.TEN, List.of(since.getSerialNumber()));

    CaBundle trusted = CaBundle.of(ca.certificate());

    Crl both = ca.keepRevoked(kept, trusted);

    assertEquals(both, ca.crl());
    assertTrue(both.revokes(before) && both.revokes(since));
    assertTrue(both.number().compareTo(kept.number()) > 0, "nodes refuse an older list");
    assertEquals(both, ca.keepRevoked(kept, trusted), "twice is once");
    assertEquals(both, ca.keepRevoked(snapshot, trusted), "an older list changes nothing");
    Crl foreign = CertificateAuthority.create("other").revocationList(BigInteger.TEN, List.of());
    assertThrows(PkiException.class, () -> ca.keepRevoked(foreign, trusted));
    CertificateAuthority former = CertificateAuthority.create("former");
    assertEquals(
        both,
        ca.keepRevoked(
            former.revocationList(BigInteger.ONE, List.of()), CaBundle.of(former.certificate())),
        "a list of the CA before this one");
  }

  @Test
  @DisplayName("PKI-03 a certificate that was never issued cannot be revoked")
  void pki03_revokeUnknown() throws Exception {
    PkiAuthority ca = authority();
    assertThrows(PkiException.class, () -> ca.revoke("nobody"));
  }

  @Test
  @DisplayName("PKI-04 two revocations at once are both in the list")
  void pki04_concurrentRevocations() throws Exception {
    PkiAuthority ca = authority();
    BigInteger a = ca.ensureManaged("a", server("a")).certificate().getSerialNumber();
    BigInteger b = ca.ensureManaged("b", server("b")).certificate().getSerialNumber();
    var meeting = new PkiStore(new MeetingBackend(), clock);

    // Reading an existing authority commits nothing, so the threads first meet at the revocation.
    var done =
        together(
            () -> meeting.ensureAuthority("ca", CA).revoke("a"),
            () -> meeting.ensureAuthority("ca", CA).revoke("b"));

    done.forEach(Future::resultNow);
    assertEquals(Set.of(a, b), ca.crl().serials());
  }

  @Test
  @DisplayName("PKI-04 two concurrent calls of ensure get the winner's bytes")
  void pki04_concurrentEnsures() throws Exception {
    PkiAuthority ca = authority();
    var meeting = new PkiStore(new MeetingBackend(), clock);

    var done =
        together(
            () -> meeting.ensureAuthority("ca", CA).ensureManaged("x", server("x")),
            () -> meeting.ensureAuthority("ca", CA).ensureManaged("x", server("x")));

    assertEquals(done.get(0).resultNow(), done.get(1).resultNow());
    assertEquals(Optional.of(done.get(0).resultNow().certificate()), ca.find("x"));
  }

  @Test
  @DisplayName("PKI-04 two callers that create the authority at once get one authority")
  void pki04_concurrentAuthorities() throws Exception {
    var meeting = new PkiStore(new MeetingBackend(), clock);

    var done =
        together(
            () -> meeting.ensureAuthority("ca", CA).authority().privateKey(),
            () -> meeting.ensureAuthority("ca", CA).authority().privateKey());

    assertEquals(done.get(0).resultNow(), done.get(1).resultNow());
    authority().crl();
  }

  @Test
  @DisplayName("SEED-12 of two creators one wins, the other may retry and gets the winner's bytes")
  void seed12_oneWins() throws Exception {
    PkiAuthority ca = authority();
    var meeting = new PkiStore(new MeetingBackend(), clock);
    Callable<TlsIdentity> once =
        () -> meeting.ensureAuthority("ca", CA).attemptManaged("x", server("x"));

    var done = together(once, once);

    var winners = done.stream().filter(f -> f.state() == Future.State.SUCCESS).toList();
    var losers = done.stream().filter(f -> f.state() == Future.State.FAILED).toList();
    assertEquals(1, winners.size());
    assertEquals(PkiConflictException.class, losers.getFirst().exceptionNow().getClass());
    assertEquals(winners.getFirst().resultNow(), ca.ensureManaged("x", server("x")));
  }

  @Test
  @DisplayName("D-38 bytes are stored once, with any first caller")
  void d38_ensureBytes() throws Exception {
    var meeting = new PkiStore(new MeetingBackend(), clock);

    var done =
        together(
            () -> meeting.ensureBytes("service-account-privkey.der", () -> new byte[] {1}),
            () -> meeting.ensureBytes("service-account-privkey.der", () -> new byte[] {2}));

    assertArrayEquals(done.get(0).resultNow(), done.get(1).resultNow());
  }

  @Test
  @DisplayName("D-38 bytes that another caller stored after this one had read are not overwritten")
  void d38_overtaken() throws Exception {
    String key = "service-account-privkey.der";
    byte[] got =
        store()
            .ensureBytes(
                key,
                () -> {
                  storeNow(key, new byte[] {1});
                  return new byte[] {2};
                });

    assertArrayEquals(new byte[] {1}, got);
    assertArrayEquals(new byte[] {1}, backend().get(key).orElseThrow().value());
  }

  private void storeNow(String key, byte[] bytes) {
    try {
      store().ensureBytes(key, () -> bytes);
    } catch (InterruptedException closing) {
      throw new IllegalStateException("interrupted while storing " + key, closing);
    }
  }

  @Test
  @DisplayName("D-19 key, certificate and list of an authority are written in one transaction")
  void d19_atomicCreation() throws Exception {
    authority();
    long key = backend().get("keys/ca-privkey.bin").orElseThrow().revision();
    assertEquals(key, backend().get("issued/ca-cert.der").orElseThrow().revision());
    assertEquals(key, backend().get("ca-crl.der").orElseThrow().revision());
  }

  @Test
  @DisplayName(
      "D-18 a certificate is renewed for the same key once a third of its validity is left")
  void d18_renewal() throws Exception {
    PkiAuthority ca = authority();
    TlsIdentity first = ca.ensureManaged("x", server("x"));
    clock.advance(CertificateTemplate.NODE_LIFETIME.multipliedBy(2).dividedBy(3).minusHours(1));
    assertEquals(first, ca.ensureManaged("x", server("x")), "not before it is due");

    clock.advance(Duration.ofHours(2));
    TlsIdentity second = ca.ensureManaged("x", server("x"));

    assertEquals(first.privateKey(), second.privateKey());
    assertNotEquals(first.certificate(), second.certificate());
    assertFalse(Renewal.of(second.certificate()).due(clock.instant()));
  }

  @Test
  @DisplayName("D-18 a revocation includes former certificates that are still valid")
  void d18_revokesFormer() throws Exception {
    PkiAuthority ca = authority();
    List<X509Certificate> issued = new ArrayList<>();
    for (int renewal = 0; renewal < 3; renewal++) {
      issued.add(ca.ensureManaged("x", server("x")).certificate());
      clock.advance(CertificateTemplate.NODE_LIFETIME.multipliedBy(7).dividedBy(10));
    }

    Crl list = ca.revoke("x");

    // The second was issued 1.4 lifetimes ago, so only the third is valid.
    Set<BigInteger> alive =
        issued.stream()
            .filter(cert -> cert.getNotAfter().toInstant().isAfter(clock.instant()))
            .map(X509Certificate::getSerialNumber)
            .collect(Collectors.toSet());
    assertTrue(list.serials().containsAll(alive));
    assertFalse(list.revokes(issued.getFirst()), "expired long ago");
  }

  @Test
  @DisplayName("D-18 right after a renewal both certificates are revoked together")
  void d18_revokesBoth() throws Exception {
    PkiAuthority ca = authority();
    X509Certificate first = ca.ensureManaged("x", server("x")).certificate();
    clock.advance(CertificateTemplate.NODE_LIFETIME.multipliedBy(7).dividedBy(10));
    X509Certificate second = ca.ensureManaged("x", server("x")).certificate();

    Crl list = ca.revoke("x");

    assertTrue(list.revokes(first) && list.revokes(second));
  }

  @Test
  @DisplayName("a revoked name is refused until it is removed; then any key may have it")
  void removal() throws Exception {
    PkiAuthority ca = authority();
    KeyPair key = Ed25519.generate();
    X509Certificate first = ca.ensureExternal("x", server("x"), key.getPublic());
    ca.revoke("x");
    assertThrows(PkiException.class, () -> ca.ensureExternal("x", server("x"), key.getPublic()));

    ca.remove("x");

    assertEquals(Optional.empty(), ca.find("x"));
    X509Certificate second = ca.ensureExternal("x", server("x"), Ed25519.generate().getPublic());
    assertTrue(ca.crl().revokes(first));
    assertFalse(ca.crl().revokes(second));
    ca.remove("never issued");
  }

  @Test
  @DisplayName(
      "another key that replaces one revokes all its certificates, and is not revoked itself")
  void replacement() throws Exception {
    PkiAuthority ca = authority();
    PublicKey old = Ed25519.generate().getPublic();
    PublicKey next = Ed25519.generate().getPublic();
    X509Certificate first = ca.ensureExternal("x", server("x"), old);
    X509Certificate second = ca.ensureExternal("x", server("x.y"), old);

    X509Certificate third = ca.replaceExternal("x", server("x"), next);

    assertEquals(Set.of(first.getSerialNumber(), second.getSerialNumber()), ca.crl().serials());
    assertEquals(third, ca.replaceExternal("x", server("x"), next), "twice is once");
    assertEquals(third, ca.ensureExternal("x", server("x"), next));
    assertThrows(PkiException.class, () -> ca.ensureExternal("x", server("x"), old));
    ca.revoke("x");
    assertTrue(ca.crl().revokes(third));
  }

  @Test
  @DisplayName(
      "a certificate that is issued while another key replaces its key is revoked, or refused")
  void replacementDuringIssue() throws Exception {
    PkiAuthority ca = authority();
    PublicKey old = Ed25519.generate().getPublic();
    PublicKey next = Ed25519.generate().getPublic();
    X509Certificate first = ca.ensureExternal("x", server("x"), old);
    var meeting = new PkiStore(new MeetingBackend(), clock);

    var done =
        together(
            () -> meeting.ensureAuthority("ca", CA).ensureExternal("x", server("x.y"), old),
            () -> meeting.ensureAuthority("ca", CA).replaceExternal("x", server("x"), next));

    X509Certificate newest = done.get(1).resultNow();
    assertEquals(next, newest.getPublicKey());
    assertEquals(Optional.of(newest), ca.find("x"));
    Crl list = ca.crl();
    assertTrue(list.revokes(first));
    assertFalse(list.revokes(newest));
    if (done.get(0).state() == Future.State.SUCCESS) {
      assertTrue(list.revokes(done.get(0).resultNow()), "issued before the replacement");
    } else {
      assertTrue(
          done.get(0).exceptionNow().getMessage().contains("belongs to another key"),
          done.get(0).exceptionNow().toString());
    }
  }

  @Test
  @DisplayName("a certificate that differs from the requested one is issued anew")
  void changedTemplate() throws Exception {
    PkiAuthority ca = authority();
    var one = InetAddress.ofLiteral("127.0.0.1");
    var two = InetAddress.ofLiteral("2001:db8::2");
    var before = CertificateTemplate.peer("etcd", List.of("a", "b"), List.of(one));
    TlsIdentity first = ca.ensureManaged("etcd", before);
    assertEquals(first, ca.ensureManaged("etcd", before));

    var after = CertificateTemplate.peer("etcd", List.of("a", "b"), List.of(one, two));
    TlsIdentity second = ca.ensureManaged("etcd", after);

    assertEquals(Set.of(one, two), Identity.addresses(second.certificate()));
    assertEquals(second, ca.ensureManaged("etcd", after));
    assertEquals(
        Set.of(Identity.SERVER_AUTH, Identity.CLIENT_AUTH),
        Set.copyOf(Identity.usages(second.certificate())));
  }

  @Test
  @DisplayName("the authority itself is renewed for the same key, and its signatures stay valid")
  void authorityRenewal() throws Exception {
    PkiAuthority before = authority();
    KeyPair key = Ed25519.generate();
    clock.advance(CertificateTemplate.AUTHORITY_LIFETIME.multipliedBy(7).dividedBy(10));
    X509Certificate node =
        before.ensureExternal(
            "n", CertificateTemplate.node(NodeId.of(key.getPublic())), key.getPublic());

    PkiAuthority after = authority();

    assertNotEquals(before.certificate(), after.certificate());
    assertEquals(NodeId.of(key.getPublic()), Identity.verifyNode(node, after.certificate()));
    assertEquals(node, after.find("n").orElseThrow());
    after.crl();
  }

  private X509Certificate node(PkiAuthority ca, KeyPair key) throws Exception {
    return ca.ensureExternal(
        "n", CertificateTemplate.node(NodeId.of(key.getPublic())), key.getPublic());
  }

  @Test
  @DisplayName("a successor issues after it is prepared, and the former authority is retired last")
  void succession() throws Exception {
    PkiAuthority before = authority();
    KeyPair key = Ed25519.generate();
    X509Certificate first = node(before, key);
    assertThrows(PkiException.class, before::succeed);
    before.retireFormer();
    assertEquals(List.of(), before.proof());

    before.prepareSuccessor();
    List<X509Certificate> proof = before.proof();
    before.prepareSuccessor();

    assertEquals(proof, authority().proof(), "a repeated call continues");
    assertEquals(new PkiAuthority.Succession.Prepared(proof.getLast()), before.succession());
    assertEquals(before.certificate(), authority().certificate());
    assertEquals(first, node(authority(), key), "the present one issues");
    CaBundle both = CaBundle.of(before.certificate()).learn(proof);
    before.revokeSerials(List.of(BigInteger.TEN));

    before.succeed();

    PkiAuthority after = authority();
    assertEquals(proof.getLast(), after.certificate());
    assertEquals(new PkiAuthority.Succession.Issuing(before.certificate()), after.succession());
    assertEquals(Set.of(BigInteger.TEN), after.crl().verify(after.certificate()).serials());
    assertThrows(PkiConflictException.class, () -> node(before, key), "the former one issues none");
    X509Certificate second = node(after, key);
    Identity.verifyNode(second, after.certificate());
    assertThrows(PkiException.class, after::prepareSuccessor, "the former one is not retired");
    assertThrows(PkiException.class, after::succeed);

    after.retireFormer();
    Crl retired = after.crl();
    after.retireFormer();

    assertEquals(retired, after.crl());
    assertTrue(retired.revokes(before.certificate()));
    assertEquals(CaBundle.of(after.certificate()), both.follow(retired));
    assertEquals(new PkiAuthority.Succession.None(), after.succession());

    after.prepareSuccessor();
    assertEquals(4, after.proof().size(), "a link and an authority for each succession");
    CaBundle.of(before.certificate()).learn(after.proof());
  }

  @Test
  @DisplayName("the revocation list can be watched")
  void follow() throws Exception {
    PkiAuthority ca = authority();
    X509Certificate x = ca.ensureManaged("x", server("x")).certificate();
    try (Watcher<Crl> watcher = ca.followCrl().watch()) {
      assertEquals(Set.of(), watcher.get(Duration.ofSeconds(20)).serials());

      ca.revoke("x");

      assertTrue(watcher.get(list -> list.revokes(x), Duration.ofSeconds(20)).revokes(x));
    }
  }

  @Test
  @DisplayName("an ephemeral certificate is stored nowhere and revoked by serial number")
  void ephemeral() throws Exception {
    PkiAuthority ca = authority();
    TlsIdentity identity = ca.ephemeral(CertificateTemplate.client("kubernetes"));

    Crl list = ca.revokeSerials(List.of(identity.certificate().getSerialNumber()));

    assertTrue(list.revokes(identity.certificate()));
    assertEquals(Optional.empty(), ca.find("kubernetes"));
  }

  @Test
  @DisplayName("names that would leave their folder are refused")
  void names() throws Exception {
    PkiAuthority ca = authority();
    for (String name : List.of("", " ", "a/b", "ca")) {
      assertThrows(PkiException.class, () -> ca.ensureManaged(name, server("x")), name);
    }
    assertThrows(PkiException.class, () -> ca.ensureManaged("x", CA));
    assertThrows(PkiException.class, () -> store().ensureAuthority("x", server("x")));
  }
}
