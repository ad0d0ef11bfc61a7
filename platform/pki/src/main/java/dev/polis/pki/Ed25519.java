package dev.polis.pki;

import dev.polis.base.digest.Sha256;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.interfaces.EdECPrivateKey;
import java.security.interfaces.EdECPublicKey;
import java.security.spec.EdECPrivateKeySpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import javax.security.auth.DestroyFailedException;
import org.bouncycastle.asn1.edec.EdECObjectIdentifiers;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.asn1.x509.SubjectPublicKeyInfo;
import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;

/**
 * Converts Ed25519 keys between raw bytes (RFC 8032), DER (RFC 8410) and the JDK's types, and signs
 * with them. Every method is stateless and safe for any thread. A key of another algorithm is
 * refused with {@link PkiException}.
 */
public final class Ed25519 {
  /** Length in bytes of a raw public key and of a private key's seed. */
  public static final int KEY_BYTES = 32;

  private static final String NAME = "Ed25519";

  private Ed25519() {}

  /** Makes a new key pair from the platform's random source. */
  public static KeyPair generate() {
    try {
      return KeyPairGenerator.getInstance(NAME).generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new PkiException("this Java runtime has no Ed25519; run Polis on JDK 25", e);
    }
  }

  /** Returns whether this is an Ed25519 public key. */
  public static boolean is(PublicKey key) {
    return key instanceof EdECPublicKey ed && NAME.equals(ed.getParams().getName());
  }

  /** Returns the 32 raw bytes of a public key. */
  public static byte[] raw(PublicKey key) {
    if (!is(key)) {
      throw new PkiException(
          "public key is " + key.getAlgorithm() + ", not Ed25519; create the key with Ed25519");
    }
    return SubjectPublicKeyInfo.getInstance(key.getEncoded()).getPublicKeyData().getOctets();
  }

  /**
   * Returns a short text by which people compare public keys: SHA-256 of the raw key, in the form
   * that SSH shows.
   */
  public static String fingerprint(PublicKey key) {
    byte[] digest = Sha256.begin().digest(raw(key));
    return "SHA256:" + Base64.getEncoder().withoutPadding().encodeToString(digest);
  }

  /** Returns the public key with these 32 raw bytes. */
  public static PublicKey publicKey(byte[] raw) {
    if (raw.length != KEY_BYTES) {
      throw new PkiException(
          "an Ed25519 public key has 32 bytes, these are "
              + raw.length
              + ": "
              + HexFormat.of().formatHex(raw));
    }
    try {
      var info =
          new SubjectPublicKeyInfo(new AlgorithmIdentifier(EdECObjectIdentifiers.id_Ed25519), raw);
      return KeyFactory.getInstance(NAME).generatePublic(new X509EncodedKeySpec(info.getEncoded()));
    } catch (GeneralSecurityException | IOException e) {
      throw new PkiException(
          "these 32 bytes are no Ed25519 public key: " + HexFormat.of().formatHex(raw), e);
    }
  }

  /** Reads a public key from PKIX DER. */
  public static PublicKey publicKeyFromDer(byte[] pkix) {
    try {
      return KeyFactory.getInstance(NAME).generatePublic(new X509EncodedKeySpec(pkix));
    } catch (GeneralSecurityException e) {
      throw new PkiException(
          "the " + pkix.length + " bytes are no Ed25519 public key in PKIX DER", e);
    }
  }

  /** Returns the public half of a private key. */
  public static PublicKey publicKey(PrivateKey key) {
    byte[] seed = seed(key);
    try {
      return publicKey(new Ed25519PrivateKeyParameters(seed, 0).generatePublicKey().getEncoded());
    } finally {
      Arrays.fill(seed, (byte) 0);
    }
  }

  /** Returns the 32-byte seed of a private key; the caller wipes it. */
  public static byte[] seed(PrivateKey key) {
    if (!(key instanceof EdECPrivateKey ed) || !NAME.equals(ed.getParams().getName())) {
      throw new PkiException(
          "private key is " + key.getAlgorithm() + ", not Ed25519; create the key with Ed25519");
    }
    return ed.getBytes()
        .orElseThrow(() -> new PkiException("the private key does not give out its bytes"));
  }

  /** Returns the private key with this 32-byte seed. */
  public static PrivateKey privateKeyFromSeed(byte[] seed) {
    if (seed.length != KEY_BYTES) {
      throw new PkiException("an Ed25519 seed has 32 bytes, this one has " + seed.length);
    }
    try {
      return KeyFactory.getInstance(NAME)
          .generatePrivate(new EdECPrivateKeySpec(NamedParameterSpec.ED25519, seed));
    } catch (GeneralSecurityException e) {
      throw new PkiException("the seed is no Ed25519 private key", e);
    }
  }

  /** Reads a private key from PKCS #8 DER. */
  public static PrivateKey privateKey(byte[] pkcs8) {
    try {
      return KeyFactory.getInstance(NAME).generatePrivate(new PKCS8EncodedKeySpec(pkcs8));
    } catch (GeneralSecurityException e) {
      throw new PkiException(
          "the " + pkcs8.length + " bytes are no Ed25519 private key in PKCS #8 DER", e);
    }
  }

  /** Signs data; the signature has 64 bytes. */
  public static byte[] sign(PrivateKey key, byte[] data) {
    try {
      var signature = Signature.getInstance(NAME);
      signature.initSign(key);
      signature.update(data);
      return signature.sign();
    } catch (GeneralSecurityException e) {
      throw new PkiException("cannot sign with this " + key.getAlgorithm() + " key", e);
    }
  }

  /**
   * Returns whether the signature is the key's signature of the data; false for a malformed one.
   */
  public static boolean verify(PublicKey key, byte[] data, byte[] signature) {
    try {
      var verifier = Signature.getInstance(NAME);
      verifier.initVerify(key);
      verifier.update(data);
      return verifier.verify(signature);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  /** Returns whether a private and a public key form a pair. */
  public static boolean match(PrivateKey privateKey, PublicKey publicKey) {
    return Arrays.equals(raw(publicKey(privateKey)), raw(publicKey));
  }

  /**
   * Wipes a private key as far as the runtime allows.
   *
   * @return false if this kind of key cannot be wiped and stays in memory until it is collected
   */
  public static boolean destroy(PrivateKey key) {
    try {
      key.destroy();
      return key.isDestroyed();
    } catch (DestroyFailedException e) {
      return false;
    }
  }
}
