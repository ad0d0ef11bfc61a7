package dev.polis.storage;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.storage.EnrolmentJournalStore;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.wire.storage.EnrolmentJournal;
import java.util.Map;

/**
 * Reads and writes the enrolment journal: the wire message in an {@link Envelope}, since after a
 * crash the node has only this file.
 */
final class EnrolmentJournalFile implements EnrolmentJournalStore {

  private static final String KIND = "enrolment-journal";

  private final FilePlacement file;

  EnrolmentJournalFile(FilePlacement file) {
    this.file = file;
  }

  @Override
  public Stored<EnrolmentJournal> read() {
    return file.read().map(EnrolmentJournalFile::decode);
  }

  @Override
  public void advance(EnrolmentJournal journal) throws FileException {
    // Each version holds all keys, and the erasure at the end overwrites only the last one.
    file.replaceErasing(new Envelope(KIND, Map.of(), journal.toByteArray()).encode());
  }

  @Override
  public void erase() throws FileException {
    file.erase();
  }

  private static EnrolmentJournal decode(byte[] bytes) {
    try {
      return EnrolmentJournal.parseFrom(Envelope.decode(KIND, bytes).payload());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the content is not an enrolment journal", e);
    }
  }
}
