package dev.polis.kubernetes.pki;

import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.spec.ECGenParameterSpec;

/**
 * Holds the key that signs service account tokens, as PEM. The store has both halves, since the
 * private half alone does not reveal the public one.
 *
 * @param privatePem the private half
 * @param publicPem the public half
 */
public record ServiceAccountKey(String privatePem, String publicPem) {

  private static final String PUBLIC = "-----BEGIN PUBLIC KEY-----";

  /** Makes a new key of EC P-256, since the API server accepts no Ed25519 key for tokens. */
  static ServiceAccountKey generate() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      KeyPair pair = generator.generateKeyPair();
      return new ServiceAccountKey(Pem.encode(pair.getPrivate()), Pem.encode(pair.getPublic()));
    } catch (GeneralSecurityException e) {
      throw new PkiException("this Java runtime has no EC P-256; run Polis on JDK 25", e);
    }
  }

  byte[] bytes() {
    return (privatePem + publicPem).getBytes(StandardCharsets.UTF_8);
  }

  static ServiceAccountKey of(byte[] stored) {
    String text = new String(stored, StandardCharsets.UTF_8);
    int second = text.indexOf(PUBLIC);
    if (second <= 0) {
      throw new PkiException(
          "the stored service account key is damaged, and the node does not replace it; restore etcd from a snapshot");
    }
    return new ServiceAccountKey(text.substring(0, second), text.substring(second));
  }

  /** Omits the private half. */
  @Override
  public String toString() {
    return "ServiceAccountKey[" + publicPem + ", <secret key>]";
  }
}
