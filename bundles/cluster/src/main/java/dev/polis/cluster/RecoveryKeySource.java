package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.logtree.Secret;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Names the place of the owner's recovery key: an X25519 private key in PEM (PKCS #8). */
sealed interface RecoveryKeySource {

  /**
   * Reads the key.
   *
   * @return its 32 raw bytes, which the caller closes
   * @throws EnrolmentException if the key is missing, unreadable or of another kind
   */
  Secret read();

  /** Returns whether the operator gave one. */
  default boolean isGiven() {
    return true;
  }

  /** The operator gave none. */
  record None() implements RecoveryKeySource {
    @Override
    public boolean isGiven() {
      return false;
    }

    @Override
    public Secret read() {
      throw new EnrolmentException(
          "the volume is encrypted and no other node has the cluster's half of its key; give the"
              + " owner's recovery key with --recovery-key FILE, or with --recovery-key - on"
              + " standard input");
    }

    @Override
    public String toString() {
      return "no recovery key";
    }
  }

  /**
   * Means that the key is in a file.
   *
   * @param path the file
   */
  record File(Path path) implements RecoveryKeySource {
    @Override
    public Secret read() {
      try {
        return parsed(Files.readAllBytes(path), "recovery key " + path);
      } catch (IOException e) {
        throw refusal("recovery key " + path, e.toString(), e);
      }
    }

    @Override
    public String toString() {
      return "recovery key " + path;
    }
  }

  /**
   * Means that the key comes on standard input, once, so that no disk and no list of arguments
   * contains it.
   *
   * @param input standard input
   */
  record StandardInput(InputStream input) implements RecoveryKeySource {

    // The PEM text has about 120 characters; a much longer text is not a key.
    private static final int LONGEST = 4096;

    @Override
    public Secret read() {
      try {
        byte[] text = input.readNBytes(LONGEST);
        if (text.length == 0) {
          throw new EnrolmentException(
              "recovery key on standard input: there is none, or the node has already read it;"
                  + " start the node again with the key on its standard input");
        }
        return parsed(text, "recovery key on standard input");
      } catch (IOException e) {
        throw refusal("recovery key on standard input", e.toString(), e);
      }
    }

    @Override
    public String toString() {
      return "recovery key on standard input";
    }
  }

  private static Secret parsed(byte[] text, String name) {
    try {
      return Secret.take(RecoveryKey.privateKey(new String(text, StandardCharsets.US_ASCII)));
    } catch (PkiException e) {
      // This replaces the message, which lacks the file, since the node shows its innermost own
      // message.
      throw refusal(name, e.getMessage(), e.getCause());
    } finally {
      Arrays.fill(text, (byte) 0);
    }
  }

  private static EnrolmentException refusal(String name, String reason, Throwable cause) {
    return new EnrolmentException(
        "%s: %s; give the owner's X25519 private key in PEM".formatted(name, reason), cause);
  }
}
