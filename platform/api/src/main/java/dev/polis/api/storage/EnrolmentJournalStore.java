package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.wire.storage.EnrolmentJournal;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Stores the journal of an enrolment on {@code esp/}. The node writes it before each step, so that
 * it continues there after a crash. The journal holds keys for a while, hence the node overwrites
 * it before it deletes it.
 */
@ProviderType
public interface EnrolmentJournalStore {

  /** Returns the journal; {@link Stored.None} means that no enrolment is running. */
  Stored<EnrolmentJournal> read();

  /** Replaces the journal atomically; when it returns, the entry survives a power loss. */
  void advance(EnrolmentJournal journal) throws FileException;

  /** Overwrites and removes the journal; a missing one is no failure. */
  void erase() throws FileException;
}
