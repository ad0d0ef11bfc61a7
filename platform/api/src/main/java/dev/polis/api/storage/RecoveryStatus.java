package dev.polis.api.storage;

import java.nio.file.Path;
import java.util.Optional;

/** Says what opens the data volume after it was unmounted, in a cluster that cannot help. */
public sealed interface RecoveryStatus {

  /**
   * Nothing can be said yet: the volume is not mounted, or the node is still being enrolled and the
   * journal holds both halves of the key.
   *
   * @param reason what is waited for
   */
  record Pending(String reason) implements RecoveryStatus {}

  /** The volume is not encrypted, so no key is needed. */
  record NotNeeded() implements RecoveryStatus {}

  /** There is no recovery share: once the volume is unmounted, nothing opens it again. */
  record Missing() implements RecoveryStatus {}

  /**
   * There is a recovery share, and it cannot be used.
   *
   * @param reason why, in words
   */
  record Damaged(String reason) implements RecoveryStatus {}

  /**
   * There is a recovery share.
   *
   * @param publicKey the recovery key it is sealed to: an X25519 public key, hexadecimal
   * @param keyBesideVolume the file in the state directory that holds the private key, if it is
   *     still there: whoever takes the disk has both
   */
  record Ready(String publicKey, Optional<Path> keyBesideVolume) implements RecoveryStatus {}
}
