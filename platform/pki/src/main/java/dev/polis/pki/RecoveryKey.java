package dev.polis.pki;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.interfaces.XECPrivateKey;
import java.security.spec.NamedParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import org.bouncycastle.crypto.AsymmetricCipherKeyPair;
import org.bouncycastle.crypto.InvalidCipherTextException;
import org.bouncycastle.crypto.hpke.HPKE;
import org.bouncycastle.crypto.params.X25519PrivateKeyParameters;
import org.bouncycastle.crypto.params.X25519PublicKeyParameters;
import org.bouncycastle.math.ec.rfc7748.X25519;

/**
 * Makes and reads the owner's recovery key, and seals messages to it. The key is an X25519 private
 * key in PEM (PKCS #8); the cluster's half of a volume key, and the answer of a {@link
 * RecoveryProof}'s challenge, are sealed to its public half with HPKE (RFC 9180, base mode,
 * HKDF-SHA256, AES-256-GCM), which the JDK does not have. Stateless; safe for any thread.
 */
public final class RecoveryKey {
  /** The length of a public half. */
  public static final int PUBLIC_BYTES = X25519.POINT_SIZE;

  private static final String PRIVATE_KEY = "PRIVATE KEY";

  private static final byte[] NO_AAD = new byte[0];

  /** Separates the messages that are sealed to one key: one of them does not open as another. */
  public enum Use {
    /** Seals the cluster's half of a volume key. */
    SHARE("polis recovery share 1"),
    /** Seals a copy of what a TPM has sealed. */
    CONFIGURATION("polis recovery configuration 1"),
    /** Seals the answer of a challenge. */
    CHALLENGE("polis owner recovery 1");

    // RFC 9180 "info".
    private final String info;

    Use(String info) {
      this.info = info;
    }

    private byte[] info() {
      return info.getBytes(StandardCharsets.US_ASCII);
    }
  }

  /**
   * Holds a sealed message.
   *
   * @param encapsulatedKey the input from which the private key derives the message key
   * @param ciphertext the encrypted message
   */
  public record Sealed(byte[] encapsulatedKey, byte[] ciphertext) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Sealed(byte[] encapsulated, byte[] cipher)
          && Arrays.equals(encapsulatedKey, encapsulated)
          && Arrays.equals(ciphertext, cipher);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(ciphertext);
    }

    @Override
    public String toString() {
      return ciphertext.length + " sealed bytes";
    }
  }

  private RecoveryKey() {}

  /**
   * Makes a recovery key.
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
   * @return 32 bytes, which the caller erases
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
   * Returns the public half.
   *
   * @return 32 bytes
   * @throws PkiException if the text does not hold exactly one X25519 private key
   */
  public static byte[] publicKey(String pem) {
    byte[] secret = privateKey(pem);
    try {
      return publicKey(secret);
    } finally {
      Arrays.fill(secret, (byte) 0);
    }
  }

  /**
   * Seals the cluster's half of a volume key for the holder of the private key.
   *
   * @param publicKey 32 bytes
   * @throws PkiException if this is no usable public key
   */
  public static Sealed seal(byte[] publicKey, byte[] message) {
    return seal(Use.SHARE, publicKey, message);
  }

  /**
   * Seals a message for the holder of the private key.
   *
   * @param publicKey 32 bytes
   * @throws PkiException if this is no usable public key
   */
  public static Sealed seal(Use use, byte[] publicKey, byte[] message) {
    try {
      byte[][] sealed =
          hpke()
              .seal(
                  new X25519PublicKeyParameters(publicKey),
                  use.info(),
                  NO_AAD,
                  message,
                  null,
                  null,
                  null);
      return new Sealed(sealed[1], sealed[0]);
    } catch (InvalidCipherTextException | IllegalArgumentException | IllegalStateException e) {
      throw new PkiException("this X25519 public key cannot be sealed to", e);
    }
  }

  /**
   * Opens the sealed half of a volume key.
   *
   * @param privateKey 32 bytes
   * @return the message, which the caller erases
   * @throws PkiException if it was sealed to another key or was changed
   */
  public static byte[] open(byte[] privateKey, Sealed sealed) {
    return open(Use.SHARE, privateKey, sealed);
  }

  /**
   * Opens a sealed message.
   *
   * @param privateKey 32 bytes
   * @return the message, which the caller erases
   * @throws PkiException if it was sealed to another key or for another use, or was changed
   */
  public static byte[] open(Use use, byte[] privateKey, Sealed sealed) {
    try {
      X25519PrivateKeyParameters key = new X25519PrivateKeyParameters(privateKey);
      return hpke()
          .open(
              sealed.encapsulatedKey(),
              new AsymmetricCipherKeyPair(key.generatePublicKey(), key),
              use.info(),
              NO_AAD,
              sealed.ciphertext(),
              null,
              null,
              null);
    } catch (InvalidCipherTextException | IllegalArgumentException | IllegalStateException e) {
      throw new PkiException("it was sealed to another key, or was changed", e);
    }
  }

  /**
   * Returns the public half of a raw private key.
   *
   * @param privateKey 32 bytes
   */
  public static byte[] publicKey(byte[] privateKey) {
    byte[] raw = new byte[X25519.POINT_SIZE];
    X25519.scalarMultBase(privateKey, 0, raw, 0);
    return raw;
  }

  private static HPKE hpke() {
    return new HPKE(
        HPKE.mode_base, HPKE.kem_X25519_SHA256, HPKE.kdf_HKDF_SHA256, HPKE.aead_AES_GCM256);
  }
}
