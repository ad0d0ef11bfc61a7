package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.logtree.Secret;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The owner's recovery key as a file: an X25519 private key in PEM (PKCS #8).
 *
 * @param path where it is; empty if the operator gave none
 */
record RecoveryKeyFile(String path) {

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
      return Secret.take(RecoveryKey.privateKey(Files.readString(file)));
    } catch (IOException e) {
      throw refusal(file, e.toString(), e);
    } catch (PkiException e) {
      // In place of its words, which do not know the file: the innermost of ours is what is shown.
      throw refusal(file, e.getMessage(), e.getCause());
    }
  }

  private static EnrolmentException refusal(Path file, String reason, Throwable cause) {
    return new EnrolmentException(
        "recovery key %s: %s; name the file that holds the owner's X25519 private key in PEM"
            .formatted(file, reason),
        cause);
  }

  @Override
  public String toString() {
    return "recovery key " + path;
  }
}
