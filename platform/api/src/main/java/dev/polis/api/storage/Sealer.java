package dev.polis.api.storage;

import dev.polis.files.FileException;
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
}
