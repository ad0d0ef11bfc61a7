package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.PrivateKey;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class OwnerKeyTest {
  /** A key that Go's {@code crypto/ed25519} made, in PKCS #8 as Go writes it. */
  private static final String PKCS8 =
      """
      -----BEGIN PRIVATE KEY-----
      MC4CAQAwBQYDK2VwBCIEIFOzHTzMzUEPiidw34tAscejIgAknQ3Rb0WEhv3Mssse
      -----END PRIVATE KEY-----
      """;

  /** The 64 bytes of Go's {@code ed25519.PrivateKey} for the same key. */
  private static final String METROPOLIS =
      """
      -----BEGIN METROPOLIS INITIAL OWNER PRIVATE KEY-----
      U7MdPMzNQQ+KJ3Dfi0Cxx6MiACSdDdFvRYSG/cyyyx7j4xy/jmiFXHVOAP9Woe5w
      k/4EU98qOXvdWxONeFysIQ==
      -----END METROPOLIS INITIAL OWNER PRIVATE KEY-----
      """;

  private static byte[] publicKey(PrivateKey key) {
    return Ed25519.raw(Ed25519.publicKey(key));
  }

  @Test
  @DisplayName("an owner's key is the same when read in both forms")
  void reads() {
    assertEquals(OwnerKey.Form.PKCS8, OwnerKey.form(PKCS8));
    assertEquals(OwnerKey.Form.METROPOLIS, OwnerKey.form(METROPOLIS));
    assertArrayEquals(publicKey(OwnerKey.read(PKCS8)), publicKey(OwnerKey.read(METROPOLIS)));
    assertEquals(
        new Fingerprint("b880eb6965017793c2f7505fda6d572359535ec92c1ebcac2af033ec1b908ed9"),
        Fingerprint.of(NamelessCertificateTest.readFromGo()));
    assertArrayEquals(
        Ed25519.raw(NamelessCertificateTest.readFromGo().getPublicKey()),
        publicKey(OwnerKey.read(METROPOLIS)));
  }

  @Test
  @DisplayName("an owner's key is written in both forms, byte for byte as other tools write it")
  void writes() {
    PrivateKey key = OwnerKey.read(PKCS8);
    assertEquals(PKCS8, OwnerKey.write(key, OwnerKey.Form.PKCS8));
    assertEquals(METROPOLIS, OwnerKey.write(key, OwnerKey.Form.METROPOLIS));
  }

  @Test
  @DisplayName("a text without a key, or with one in each form, is refused with its content named")
  void refusesOtherBlocks() {
    String certificate = Pem.encode("CERTIFICATE", new byte[] {1});

    var none = assertThrows(PkiException.class, () -> OwnerKey.read(certificate));
    var both = assertThrows(PkiException.class, () -> OwnerKey.read(PKCS8 + METROPOLIS));
    var twice = assertThrows(PkiException.class, () -> OwnerKey.read(METROPOLIS + METROPOLIS));

    assertTrue(none.getMessage().contains("[CERTIFICATE]"), none.getMessage());
    assertTrue(both.getMessage().contains("METROPOLIS INITIAL"), both.getMessage());
    assertTrue(twice.getMessage().contains("found 2"), twice.getMessage());
  }

  @Test
  @DisplayName("a raw key that is cut off, or whose halves do not match, is refused")
  void refusesDamage() {
    byte[] raw = Pem.only(METROPOLIS, OwnerKey.Form.METROPOLIS.label());
    String shorter = Pem.encode(OwnerKey.Form.METROPOLIS.label(), java.util.Arrays.copyOf(raw, 32));
    raw[40] ^= 1;
    String damaged = Pem.encode(OwnerKey.Form.METROPOLIS.label(), raw);

    var cut = assertThrows(PkiException.class, () -> OwnerKey.read(shorter));
    var mixed = assertThrows(PkiException.class, () -> OwnerKey.read(damaged));

    assertTrue(cut.getMessage().contains("32 bytes"), cut.getMessage());
    assertTrue(mixed.getMessage().contains("public half"), mixed.getMessage());
    assertFalse(mixed.getMessage().contains("U7Md"), "the message quotes the key");
  }

  @Test
  @DisplayName("a fingerprint is read in all usual forms, and no other text is accepted")
  void fingerprints() {
    String hex = "b880eb6965017793c2f7505fda6d572359535ec92c1ebcac2af033ec1b908ed9";
    String openssl = hex.toUpperCase(java.util.Locale.ROOT).replaceAll("(..)(?!$)", "$1:");

    assertEquals(new Fingerprint(hex), Fingerprint.parse(openssl));
    assertEquals(new Fingerprint(hex), Fingerprint.parse(" " + hex + "\n"));
    assertThrows(PkiException.class, () -> Fingerprint.parse(hex.substring(2)));
    assertThrows(PkiException.class, () -> Fingerprint.parse("SHA256:uIDraWUBd5PC91Bf2m1XI1lTXsk"));
  }
}
