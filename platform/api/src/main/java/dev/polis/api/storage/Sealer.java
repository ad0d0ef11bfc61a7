package dev.polis.api.storage;

import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Binds bytes to this machine. The storage organ has the sealer {@code none}, which binds nothing;
 * a machine with a TPM registers its own sealer as a service, and the sealer with the highest
 * service ranking seals. Storage refuses bytes whose sealer is missing.
 */
@ConsumerType
public interface Sealer {

  /** Name of the sealer that does nothing. */
  String NONE = "none";

  /**
   * Returns the sealer's name in the envelope, at most 32 of {@code a-z 0-9 -}; it never changes
   * for one format.
   */
  String name();

  /** Returns the sealed form of plain bytes. */
  byte[] seal(byte[] plain) throws FileException;

  /**
   * Returns the plain bytes of a sealed form.
   *
   * @throws FileException a {@link StorageException} if the machine cannot unseal now, CORRUPTED if
   *     it never can
   */
  byte[] unseal(byte[] sealed) throws FileException;

  /**
   * Lets a boot of this machine with another boot file unseal, too, all that is sealed from now on.
   * It replaces what a former call has allowed.
   *
   * @param booted the boot file that this machine has booted
   * @param next the other one
   * @throws FileException a {@link StorageException} if that boot could not unseal
   */
  default void alsoFor(Path booted, Path next) throws FileException {
    throw new StorageException(
        Refusal.UNSUPPORTED,
        "the sealer \"%s\" cannot seal for another boot file than the present one"
            .formatted(name()),
        "install the image again, with the recovery key");
  }
}
