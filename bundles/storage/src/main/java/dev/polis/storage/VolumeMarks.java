package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import java.util.Map;
import java.util.Optional;

/**
 * Reads and writes the two files that name the owner of a volume.
 *
 * <p>The <em>marker</em> on {@code esp/} exists from before the first byte of a volume until just
 * before the volume's first use: no program has ever used a volume with a marker, and the marker
 * names the keys that began it. The <em>identity</em> inside the volume names the node's half of
 * its keys, so that the organ recognises a volume of another node even if it is a plain directory.
 */
final class VolumeMarks {

  private static final String MARKER = "unfinished-volume";
  private static final String IDENTITY = "volume";
  private static final String BY = "node-key";
  private static final String VOLUME = "volume";
  private static final String SECURITY = "security";

  private final Root root;

  /**
   * Describes an unfinished volume.
   *
   * @param by fingerprint of the keys that began it
   * @param volume its {@link Volume#name}
   */
  record Begun(String by, String volume) {}

  VolumeMarks(Root root) {
    this.root = root;
  }

  private FilePlacement marker() {
    return root.esp().volumeFormat();
  }

  /** Returns whether an unfinished volume exists. */
  boolean unfinished() throws FileException {
    return marker().exists();
  }

  /** Reads the marker; empty if there is none. */
  Optional<Begun> begun() throws FileException {
    Stored<Envelope> stored =
        marker().read().map(bytes -> Envelope.decode(MARKER, bytes, BY, VOLUME));
    if (stored instanceof Stored.None<Envelope>) {
      return Optional.empty();
    }
    Envelope marker = stored.orThrow();
    return Optional.of(new Begun(marker.field(BY), marker.field(VOLUME)));
  }

  /** Writes the marker, before the first byte of a volume. */
  void begin(Volume volume, String by) throws FileException {
    marker()
        .write(
            new Envelope(
                    MARKER,
                    Map.of(BY, by, VOLUME, volume.name(), SECURITY, volume.security().name()))
                .encode());
  }

  /** Removes the marker of a finished or removed volume. */
  void end() throws FileException {
    marker().delete();
  }

  /** Writes the identity into a mounted volume. */
  void identify(Volume volume, String by) throws FileException {
    root.data()
        .volume()
        .write(new Envelope(IDENTITY, Map.of(BY, by, SECURITY, volume.security().name())).encode());
  }

  /** Returns whether the mounted volume is of this kind, since two kinds may share a backing. */
  boolean madeAs(Volume volume) throws FileException {
    return isOf(identity().orThrow(), volume);
  }

  /** Refuses a mounted volume without an identity. */
  void requireIdentity() throws FileException {
    identity().orThrow();
  }

  /** Refuses a mounted volume of another node, or of another kind. */
  void requireIdentity(Volume volume, String by) throws FileException {
    Envelope found = identity().orThrow();
    if (!VolumeKey.sameFingerprint(found.field(BY), by)) {
      throw foreign(volume.backing() + " belongs to another node: it has another node unlock key");
    }
    if (!isOf(found, volume)) {
      throw foreign(
          "%s was made as %s, but the request is for %s"
              .formatted(root.data(), found.field(SECURITY), volume.security()));
    }
  }

  /** Refuses to mount an unfinished volume. */
  void requireFinished() throws FileException {
    if (unfinished()) {
      throw new FileException(
          Problem.CORRUPTED,
          marker()
              + " says that the making of the data volume never finished, but there is a sealed configuration",
          "restore the data volume and remove that file; nothing was changed");
    }
  }

  /** Returns the refusal of another key's marker. */
  FileException begunByOthers() {
    return new FileException(
        Problem.OCCUPIED,
        marker() + " says that the making of a volume began with other keys and did not finish",
        "continue with the journal of that enrolment; if it is lost, remove "
            + marker()
            + " and the volume; nothing was changed");
  }

  /** Returns the refusal of a marker with an unknown kind. */
  StorageException unknownVolume(String name) {
    return new StorageException(
        Refusal.UNSUPPORTED,
        marker() + " names a kind of volume \"" + name + "\", which this version does not know",
        "start the version that wrote it; nothing was changed");
  }

  private static boolean isOf(Envelope identity, Volume volume) {
    return identity.field(SECURITY).equals(volume.security().name());
  }

  static FileException foreign(String what) {
    return new StorageException(
        Refusal.FOREIGN,
        what,
        "bring back the data volume and the sealed configuration that belong together; nothing was changed");
  }

  private Stored<Envelope> identity() {
    return root.data().volume().read().map(bytes -> Envelope.decode(IDENTITY, bytes, BY, SECURITY));
  }
}
