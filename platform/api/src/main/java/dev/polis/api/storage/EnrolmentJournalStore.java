package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.wire.storage.EnrolmentJournal;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Stores the journal of becoming a member on {@code esp/}. It is written before each step, so that
 * a node that was killed continues where it was. It holds keys until they have a better place,
 * hence it is erased, not deleted.
 */
@ProviderType
public interface EnrolmentJournalStore {

  /** What is there. {@link Stored.None}: no enrolment is under way. */
  Stored<EnrolmentJournal> read();

  /** Replaces it atomically; when this returned, the entry survives a power loss. */
  void advance(EnrolmentJournal journal) throws FileException;

  /** Overwrites and removes it; no failure if it is not there. */
  void erase() throws FileException;
}
