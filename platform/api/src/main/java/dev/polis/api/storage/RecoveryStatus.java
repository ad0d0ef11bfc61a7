package dev.polis.api.storage;

import java.nio.file.Path;
import java.util.Optional;

/** Describes what opens the data volume after an unmount if the cluster cannot help. */
public sealed interface RecoveryStatus {

  /**
   * Names a repair for the owner, in the same words on all screens.
   *
   * @param code a stable name for programs, in kebab-case
   * @param reason the fault, in one sentence without its full stop
   * @param remedy the repair
   */
  record Advice(String code, String reason, String remedy) {}

  /** Returns the owner's next repair; empty if there is none. */
  default Optional<Advice> advice() {
    return Optional.empty();
  }

  /**
   * Means that the status is unknown: the volume is not mounted, or the node is still being
   * enrolled and the journal holds both halves of the key.
   *
   * @param reason the awaited event
   */
  record Pending(String reason) implements RecoveryStatus {}

  /** Means that the volume is not encrypted, so it needs no key. */
  record NotNeeded() implements RecoveryStatus {}

  /** Means that there is no recovery share: after an unmount the volume is lost. */
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
   * Means that the recovery share is unusable.
   *
   * @param reason the cause, as text
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
   * Means that there is a recovery share, and its key is outside the state directory.
   *
   * @param publicKey the recovery key of the share: an X25519 public key, hexadecimal
   */
  record Ready(String publicKey) implements RecoveryStatus {}

  /**
   * Means that the private key of the recovery share is in the state directory, so that a thief of
   * the disk has both.
   *
   * @param publicKey the recovery key of the share: an X25519 public key, hexadecimal
   * @param key the file that holds the private key, in the folder {@code owner} of the state
   *     directory
   */
  record KeyBesideVolume(String publicKey, Path key) implements RecoveryStatus {
    @Override
    public Optional<Advice> advice() {
      return Optional.of(
          new Advice(
              "recovery-key-beside-volume",
              "the recovery key is beside the data volume that it opens, in %s: a thief of the disk can read everything"
                  .formatted(key),
              "move it to another disk: ./polis ctl --state %s recovery-key move FILE"
                  .formatted(key.resolveSibling("..").normalize())));
    }
  }
}
