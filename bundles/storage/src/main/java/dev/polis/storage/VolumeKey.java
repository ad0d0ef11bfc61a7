package dev.polis.storage;

import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.logtree.Secret;
import dev.polis.pki.Hmac;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;

/** Holds the key of one volume, and derives its public fingerprint. Its close wipes the key. */
final class VolumeKey implements AutoCloseable {

  private final Secret key;

  private VolumeKey(Secret key) {
    this.key = key;
  }

  /** Combines the halves: node xor cluster. */
  static VolumeKey of(UnlockKeys halves) throws FileException {
    halves.validate();
    byte[] node = halves.node().reveal();
    byte[] cluster = halves.cluster().reveal();
    try {
      for (int i = 0; i < node.length; i++) {
        node[i] ^= cluster[i];
      }
      return new VolumeKey(Secret.of(node));
    } finally {
      Arrays.fill(node, (byte) 0);
      Arrays.fill(cluster, (byte) 0);
    }
  }

  /**
   * Returns the key as the pass phrase of a key slot, in hexadecimal, because qemu accepts UTF-8
   * and gocryptfs one line of text. It has the entropy of the key, so key slots need no key
   * stretching.
   */
  byte[] passphrase() {
    byte[] raw = key.reveal();
    try {
      return HexFormat.of().formatHex(raw).getBytes(StandardCharsets.US_ASCII);
    } finally {
      Arrays.fill(raw, (byte) 0);
    }
  }

  /**
   * Returns a fingerprint of a node's half that reveals nothing about it. It binds a volume to a
   * sealed configuration, and an unfinished volume to the journal of its begin.
   */
  static String fingerprint(Secret nodeUnlockKey) {
    byte[] raw = nodeUnlockKey.reveal();
    try {
      return HexFormat.of()
          .formatHex(Hmac.sha256(raw, "polis data volume 1".getBytes(StandardCharsets.US_ASCII)));
    } finally {
      Arrays.fill(raw, (byte) 0);
    }
  }

  static boolean sameFingerprint(String one, String other) {
    return MessageDigest.isEqual(
        one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public void close() {
    key.destroy();
  }

  @Override
  public String toString() {
    return "<volume key>";
  }
}
