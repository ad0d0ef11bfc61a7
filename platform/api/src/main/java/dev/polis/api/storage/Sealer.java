package dev.polis.api.storage;

import dev.polis.files.FileException;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Binds bytes to this machine. The storage organ brings the sealer {@code none}, which binds them
 * to nothing; a machine with a TPM provides one as a service, and the one of the highest service
 * ranking seals. What was sealed by a sealer that is gone is refused, not guessed at.
 */
@ConsumerType
public interface Sealer {

  /** Name of the sealer that does nothing. */
  String NONE = "none";

  /** Its name in the envelope, at most 32 of {@code a-z 0-9 -}; it never changes for one format. */
  String name();

  /** The sealed form of a plain text. */
  byte[] seal(byte[] plain) throws FileException;

  /**
   * The plain text of a sealed form.
   *
   * @throws FileException a {@link StorageException} if the machine is temporarily unable to,
   *     CORRUPTED if it never will
   */
  byte[] unseal(byte[] sealed) throws FileException;
}
