package dev.polis.api.storage;

import java.nio.file.Path;
import java.util.Optional;

/** Says what opens the data volume after it was unmounted, in a cluster that cannot help. */
public sealed interface RecoveryStatus {

  /**
   * Tells an owner what to repair, on all screens in the same words.
   *
   * @param code a stable name for programs, in kebab-case
   * @param reason what is the case, in one sentence without its full stop
   * @param remedy what to do about it
   */
  record Advice(String code, String reason, String remedy) {}

  /** Returns what the owner should repair; empty if there is nothing. */
  default Optional<Advice> advice() {
    return Optional.empty();
  }

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
  record Missing() implements RecoveryStatus {
    @Override
    public Optional<Advice> advice() {
      return Optional.of(
          new Advice(
              "no-recovery-share",
              "no recovery key opens the data volume: once it is unmounted, nothing does",
              "make one now: ./polis ctl recovery-key enroll --to FILE"));
    }
  }

  /**
   * There is a recovery share, and it cannot be used.
   *
   * @param reason why, as text
   */
  record Damaged(String reason) implements RecoveryStatus {
    @Override
    public Optional<Advice> advice() {
      return Optional.of(
          new Advice(
              "recovery-share-damaged",
              "the recovery share cannot be used, so once the data volume is unmounted nothing opens it: "
                  + reason,
              "make another one now: ./polis ctl recovery-key enroll --to FILE"));
    }
  }

  /**
   * There is a recovery share, and the key is not in the state directory.
   *
   * @param publicKey the recovery key it is sealed to: an X25519 public key, hexadecimal
   */
  record Ready(String publicKey) implements RecoveryStatus {}

  /**
   * There is a recovery share, and the private key lies in the state directory: a thief of the disk
   * has both.
   *
   * @param publicKey the recovery key it is sealed to: an X25519 public key, hexadecimal
   * @param key the file that holds the private key
   */
  record KeyBesideVolume(String publicKey, Path key) implements RecoveryStatus {
    @Override
    public Optional<Advice> advice() {
      return Optional.of(
          new Advice(
              "recovery-key-beside-volume",
              "the recovery key is beside the data volume that it opens, in %s: a thief of the disk can read everything"
                  .formatted(key),
              "move it to another disk: ./polis ctl recovery-key move FILE"));
    }
  }
}
