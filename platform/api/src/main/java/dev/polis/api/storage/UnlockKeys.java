package dev.polis.api.storage;

import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.logtree.Secret;
import java.security.SecureRandom;

/**
 * Holds the two halves of a data volume's key. The key of the volume is {@code node xor cluster},
 * so neither half reveals anything about it.
 *
 * @param node the node's half (NUK), kept in the sealed configuration
 * @param cluster the cluster's half (CUK), kept by the curator
 */
public record UnlockKeys(Secret node, Secret cluster) {

  /** Length of each half in bytes: the key of AES-256. */
  public static final int LENGTH = 32;

  /** Returns new random halves. */
  public static UnlockKeys generate(SecureRandom random) {
    return new UnlockKeys(half(random), half(random));
  }

  private static Secret half(SecureRandom random) {
    byte[] bytes = new byte[LENGTH];
    random.nextBytes(bytes);
    return Secret.of(bytes);
  }

  /**
   * Refuses halves that cannot be a key.
   *
   * @throws StorageException if a half has a wrong length or the two are equal, which would make a
   *     key of zeros
   */
  public void validate() throws StorageException {
    validate("node unlock key", node);
    validate("cluster unlock key", cluster);
    if (node.equals(cluster)) {
      throw new StorageException(
          Refusal.BAD_KEY,
          "the node unlock key and the cluster unlock key are equal, their combination would be zeros",
          "generate both from a random source; nothing was changed");
    }
  }

  /** Refuses a half of a wrong length. */
  public static void validate(String name, Secret half) throws StorageException {
    if (half.length() != LENGTH) {
      throw new StorageException(
          Refusal.BAD_KEY,
          "the %s has %d bytes, wanted %d".formatted(name, half.length(), LENGTH),
          "find out which program truncated it; nothing was changed");
    }
  }
}
