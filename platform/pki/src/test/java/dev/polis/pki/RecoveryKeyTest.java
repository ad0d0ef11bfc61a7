package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.security.KeyFactory;
import java.security.spec.NamedParameterSpec;
import java.security.spec.XECPrivateKeySpec;
import java.security.spec.XECPublicKeySpec;
import javax.crypto.KeyAgreement;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RecoveryKeyTest {
  @Test
  @DisplayName(
      "The public half equals the JDK's computation from the private half and the base point")
  void publicHalf() throws Exception {
    String pem = RecoveryKey.generate();
    KeyFactory keys = KeyFactory.getInstance("X25519");
    KeyAgreement agreement = KeyAgreement.getInstance("X25519");
    agreement.init(
        keys.generatePrivate(
            new XECPrivateKeySpec(NamedParameterSpec.X25519, RecoveryKey.privateKey(pem))));

    agreement.doPhase(
        keys.generatePublic(new XECPublicKeySpec(NamedParameterSpec.X25519, BigInteger.valueOf(9))),
        true);

    assertArrayEquals(agreement.generateSecret(), RecoveryKey.publicKey(pem));
  }

  @Test
  @DisplayName("A generated key is read, with any text around it")
  void generated() {
    String pem = RecoveryKey.generate();

    assertEquals(32, RecoveryKey.privateKey("a note\n" + pem + "\nanother").length);
    assertArrayEquals(RecoveryKey.publicKey(pem), RecoveryKey.publicKey("a note\n" + pem));
  }

  @Test
  @DisplayName("A key of another kind is refused with its kind, and its text is not repeated")
  void otherKinds() {
    String one = RecoveryKey.generate();
    String ed25519 = Pem.encode(Ed25519.generate().getPrivate());

    PkiException wrong = assertThrows(PkiException.class, () -> RecoveryKey.privateKey(ed25519));
    assertTrue(wrong.getMessage().contains("X25519"), wrong.getMessage());
    PkiException none = assertThrows(PkiException.class, () -> RecoveryKey.privateKey("hello"));
    assertTrue(none.getMessage().contains("PRIVATE KEY"), none.getMessage());
    PkiException two = assertThrows(PkiException.class, () -> RecoveryKey.privateKey(one + one));
    assertTrue(two.getMessage().contains("found 2"), two.getMessage());
  }
}
