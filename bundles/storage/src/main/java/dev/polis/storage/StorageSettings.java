package dev.polis.storage;

import dev.polis.api.storage.MachineAttester;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.config.SettingCheck;
import dev.polis.process.Commands;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Holds the checked configuration of the storage organ.
 *
 * @param root the state directory, absolute
 * @param security the security of a new data volume
 * @param volumeBytes the size of a new data volume
 * @param deviceOrNull the partition for the data volume; null for an image file
 * @param tpm the way to the TPM; empty for none
 * @param slotsOrNull the folder that describes the slots; null if others maintain the system
 */
record StorageSettings(
    Path root, Wish security, long volumeBytes, Path deviceOrNull, String tpm, Path slotsOrNull) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.storage");

  // XFS needs 300 MiB; etcd needs the rest for its log and one snapshot.
  private static final int SMALLEST_MEBIBYTES = 512;

  /** Where the kernel shows what the firmware has measured. */
  private static final Path FIRMWARE_LOG =
      Path.of("/sys/kernel/security/tpm0/binary_bios_measurements");

  /** Lists the securities that an operator may request for a new data volume. */
  enum Wish {
    /** The strongest security that this machine can give. */
    STRONGEST,
    /** {@link StorageSecurity#INSECURE}. */
    INSECURE,
    /** {@link StorageSecurity#ENCRYPTED}. */
    ENCRYPTED,
    /** {@link StorageSecurity#AUTHENTICATED_ENCRYPTED}. */
    AUTHENTICATED_ENCRYPTED;

    /** Returns the security of a name; empty for the strongest. */
    Optional<StorageSecurity> named() {
      return this == STRONGEST ? Optional.empty() : Optional.of(StorageSecurity.valueOf(name()));
    }
  }

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value is not usable
   */
  static StorageSettings of(StorageConfig config) {
    return new StorageSettings(
        root(config.root()),
        CHECK.constant("security", config.security(), Wish.class),
        (long)
                CHECK.range(
                    "volume.mebibytes",
                    config.volume_mebibytes(),
                    SMALLEST_MEBIBYTES,
                    Integer.MAX_VALUE)
            << 20,
        config.device().isEmpty() ? null : path("device", config.device()),
        config.tpm().strip(),
        config.slots().isEmpty() ? null : path("slots", config.slots()));
  }

  /** Returns the partition for the data volume; empty for an image file. */
  Optional<Path> device() {
    return Optional.ofNullable(deviceOrNull);
  }

  /** Returns the folder that describes the slots; empty if others maintain the system. */
  Optional<Path> slots() {
    return Optional.ofNullable(slotsOrNull);
  }

  /** Returns the sealer that the configuration names. */
  Sealer sealer() {
    return tpm.isEmpty() ? new SealerNone() : new SealerTpm(tpm, new Commands());
  }

  /** Returns the prover that the configuration names. */
  MachineAttester attester() {
    return new AttesterTpm(tpm, new Commands(), FIRMWARE_LOG);
  }

  private static Path root(String configured) {
    if (configured.isBlank()) {
      throw CHECK.refuse(
          "root", configured, "but must be a directory; name one, for example with --state DIR");
    }
    return path("root", configured).toAbsolutePath().normalize();
  }

  private static Path path(String key, String configured) {
    try {
      return Path.of(configured);
    } catch (InvalidPathException e) {
      throw CHECK.refuse(key, configured, "which is not a path: " + e.getReason());
    }
  }
}
