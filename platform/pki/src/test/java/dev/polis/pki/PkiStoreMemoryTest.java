package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PkiStoreMemoryTest extends PkiStoreContract {
  private final MemoryBackend memory = new MemoryBackend();

  @Override
  PkiBackend backend() {
    return memory;
  }

  @Test
  @DisplayName("keys have the layout that other tools expect")
  void layout() throws Exception {
    var ca =
        new PkiStore(memory, clock)
            .ensureAuthority("cluster-ca", CertificateTemplate.authority("Cluster CA"));
    ca.ensureManaged("server", CertificateTemplate.server("s", List.of("s"), List.of()));

    assertEquals(
        List.of(
            "cluster-ca-crl.der",
            "issued/cluster-ca-cert.der",
            "issued/server-cert.der",
            "keys/cluster-ca-privkey.bin",
            "keys/server-privkey.bin"),
        memory.keys());
  }

  @Test
  @DisplayName("ensuring an existing object writes nothing")
  void noWrite() throws Exception {
    var store = new PkiStore(memory, clock);
    var template = CertificateTemplate.server("s", List.of("s"), List.of());
    store.ensureAuthority("ca", CertificateTemplate.authority("CA")).ensureManaged("s", template);
    int before = memory.commits();

    store.ensureAuthority("ca", CertificateTemplate.authority("CA")).ensureManaged("s", template);

    assertEquals(before, memory.commits());
  }

  @Test
  @DisplayName("an existing authority is read, and none is made in its place")
  void existingAuthority() throws Exception {
    var store = new PkiStore(memory, clock);
    var template = CertificateTemplate.authority("CA");

    assertEquals(Optional.empty(), store.existingAuthority("ca", template));
    assertEquals(List.of(), memory.keys());
    assertEquals(
        store.ensureAuthority("ca", template).certificate(),
        store.existingAuthority("ca", template).orElseThrow().certificate());
  }

  @Test
  @DisplayName("a stored object that cannot be read is named and left alone")
  void damaged() throws Exception {
    var store = new PkiStore(memory, clock);
    var template = CertificateTemplate.server("s", List.of("s"), List.of());
    var ca = store.ensureAuthority("ca", CertificateTemplate.authority("CA"));
    ca.ensureManaged("s", template);
    byte[] garbage = {1, 2, 3};
    for (String key : List.of("issued/s-cert.der", "keys/s-privkey.bin")) {
      memory.damage(key, garbage);

      var refused = assertThrows(PkiException.class, () -> ca.ensureManaged("s", template));

      assertTrue(refused.getMessage().contains(key), refused.getMessage());
      assertArrayEquals(garbage, memory.get(key).orElseThrow().value());
      memory.commit(List.of(new PkiBackend.Delete(key, memory.get(key).orElseThrow().revision())));
    }
  }

  @Test
  @DisplayName("a list signed by another authority is refused")
  void foreignList() throws Exception {
    var store = new PkiStore(memory, clock);
    var ca = store.ensureAuthority("ca", CertificateTemplate.authority("CA"));
    var other = CertificateAuthority.create("CA");
    memory.damage("ca-crl.der", other.revocationList(java.math.BigInteger.TEN, List.of()).der());

    assertThrows(IdentityException.class, ca::crl);
  }
}
