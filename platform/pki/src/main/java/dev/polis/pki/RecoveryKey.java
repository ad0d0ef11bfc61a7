package dev.polis.pki;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.interfaces.XECPrivateKey;
import java.security.spec.NamedParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import org.bouncycastle.math.ec.rfc7748.X25519;

/**
 * The owner's recovery key: an X25519 private key in PEM (PKCS #8), to whose public half the
 * cluster's half of a volume key is sealed. Stateless; safe for any thread.
 */
public final class RecoveryKey {
  private static final String PRIVATE_KEY = "PRIVATE KEY";

  private RecoveryKey() {}

  /**
   * Makes one.
   *
   * @return its PEM text, a secret: write it with mode 0600 and never log it
   */
  public static String generate() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("XDH");
      generator.initialize(NamedParameterSpec.X25519);
      return Pem.encode(PRIVATE_KEY, generator.generateKeyPair().getPrivate().getEncoded());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java runtime has X25519", e);
    }
  }

  /**
   * Reads the private key.
   *
   * @return 32 bytes, which are the caller's to erase
   * @throws PkiException if the text does not hold exactly one X25519 private key
   */
  public static byte[] privateKey(String pem) {
    byte[] der = Pem.only(pem, PRIVATE_KEY);
    try {
      var key =
          (XECPrivateKey)
              KeyFactory.getInstance("X25519").generatePrivate(new PKCS8EncodedKeySpec(der));
      return key.getScalar()
          .orElseThrow(() -> new PkiException("the private key cannot be read out"));
    } catch (GeneralSecurityException e) {
      throw new PkiException("the private key is none of X25519: " + e.getMessage(), e);
    } finally {
      Arrays.fill(der, (byte) 0);
    }
  }

  /**
   * The public half.
   *
   * @return 32 bytes
   * @throws PkiException if the text does not hold exactly one X25519 private key
   */
  public static byte[] publicKey(String pem) {
    byte[] secret = privateKey(pem);
    byte[] raw = new byte[X25519.POINT_SIZE];
    X25519.scalarMultBase(secret, 0, raw, 0);
    Arrays.fill(secret, (byte) 0);
    return raw;
  }
}
