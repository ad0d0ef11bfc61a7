package dev.polis.storage;

import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;

/** Reads and writes one sealed file: an {@link Envelope} that names the sealer of its content. */
final class SealedFile {

  private static final String SEALER = "sealer";

  private final String kind;
  private final FilePlacement file;
  private final Sealer sealer;

  /**
   * @param kind the kind of the envelope
   * @param sealer seals what is to be bound to the machine
   */
  SealedFile(String kind, FilePlacement file, Sealer sealer) {
    this.kind = kind;
    this.file = file;
    this.sealer = sealer;
  }

  /** Replaces the file, and erases the array. */
  void write(byte[] plain, boolean bind) throws FileException {
    if (bind && binds()) {
      // The sealer learns from what it unseals for which other boot it is to seal.
      read(Function.identity());
    }
    Sealer by = bind ? sealer : new SealerNone();
    try {
      file.write(new Envelope(kind, Map.of(SEALER, by.name()), by.seal(plain)).encode());
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  /** Returns whether this machine has a sealer that binds bytes to it. */
  boolean binds() {
    return !sealer.name().equals(Sealer.NONE);
  }

  /** Returns whether there is a file, and no sealer has bound it to this machine. */
  boolean unbound() {
    return envelope() instanceof Stored.Present<Envelope>(var _, Envelope present)
        && present.field(SEALER).equals(Sealer.NONE);
  }

  /** Reads the file, and leaves its content sealed. */
  Stored<Envelope> envelope() {
    return file.read().map(bytes -> Envelope.decode(kind, bytes, SEALER));
  }

  /**
   * Reads the content.
   *
   * @param decode throws an IllegalArgumentException that names what is wrong with the content
   */
  <T> Stored<T> read(Function<byte[], T> decode) {
    return envelope().then(envelope -> unseal(envelope, decode));
  }

  private <T> Stored<T> unseal(Envelope envelope, Function<byte[], T> decode) {
    try {
      byte[] plain = sealer(envelope.field(SEALER)).unseal(envelope.payload());
      try {
        return new Stored.Present<>(file.path(), decode.apply(plain));
      } finally {
        Arrays.fill(plain, (byte) 0);
      }
    } catch (FileException e) {
      return e.problem() == Problem.CORRUPTED
          ? new Stored.Corrupted<>(file.path(), e.getMessage())
          : new Stored.Unreadable<>(file.path(), e.getMessage(), e);
    }
  }

  /** Returns the sealer of a file; what no sealer bound needs none, on any machine. */
  private Sealer sealer(String by) throws StorageException {
    if (by.equals(sealer.name())) {
      return sealer;
    }
    if (by.equals(Sealer.NONE)) {
      return new SealerNone();
    }
    throw new StorageException(
        Refusal.UNSUPPORTED,
        "%s is sealed by \"%s\", this node has \"%s\"".formatted(file, by, sealer.name()),
        "start the node on the machine and with the bundles that sealed the file; nothing was changed");
  }
}
