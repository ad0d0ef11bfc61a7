package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.logtree.Secret;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.interfaces.XECPrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;

/**
 * The owner's recovery key as a file: an X25519 private key in PEM (PKCS #8).
 *
 * @param path where it is; empty if the operator gave none
 */
record RecoveryKeyFile(String path) {

  private static final String HEADER = "-----BEGIN PRIVATE KEY-----";
  private static final String FOOTER = "-----END PRIVATE KEY-----";

  /**
   * Reads the key.
   *
   * @return its 32 raw bytes
   * @throws EnrolmentException if none was given, the file is not there or is no such key
   */
  Secret read() {
    if (path.isEmpty()) {
      throw new EnrolmentException(
          "the volume is encrypted and the cluster's half of its key is on no other node; give the"
              + " owner's recovery key with --recovery-key FILE");
    }
    Path file = Path.of(path);
    try {
      String text = Files.readString(file);
      int begin = text.indexOf(HEADER);
      int end = text.indexOf(FOOTER);
      if (begin < 0 || end < begin) {
        throw refusal(file, "it has no PRIVATE KEY block", null);
      }
      byte[] der =
          Base64.getMimeDecoder().decode(text.substring(begin + HEADER.length(), end).strip());
      PrivateKey key =
          KeyFactory.getInstance("X25519").generatePrivate(new PKCS8EncodedKeySpec(der));
      return ((XECPrivateKey) key)
          .getScalar()
          .map(Secret::take)
          .orElseThrow(() -> refusal(file, "its key cannot be read out", null));
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw refusal(file, e.toString(), e);
    }
  }

  @Override
  public String toString() {
    return "recovery key " + path;
  }

  private static EnrolmentException refusal(Path file, String reason, Throwable cause) {
    return new EnrolmentException(
        "recovery key %s: %s; name the file that holds the owner's X25519 private key in PEM"
            .formatted(file, reason),
        cause);
  }
}
