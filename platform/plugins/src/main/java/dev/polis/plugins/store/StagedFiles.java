package dev.polis.plugins.store;

import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.Mode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Keeps files that are sent to the node piece by piece, until they are swapped in. What has come
 * stays when the sender or the process goes away, and a file that is there whole outlives a loss of
 * power. Usable from any thread.
 */
public final class StagedFiles {
  /** Many times the largest organ; a sender cannot fill the disk with one file. */
  public static final long LARGEST = 256L * 1024 * 1024;

  /**
   * As many as a person tries in a row; the oldest is deleted first. What the cluster wants is not
   * counted.
   */
  private static final int KEPT = 8;

  private static final String PART = ".part";
  private static final String WHOLE = ".jar";
  private static final String MANIFEST = ".plugin";

  private final Path store;
  private final Path folder;

  private StagedFiles(Path store) {
    this.store = store;
    this.folder = folder(store);
  }

  /** Returns where they are; the store makes the folder. */
  static Path folder(Path store) {
    return store.resolve("staged");
  }

  /**
   * Opens the staged files of a store.
   *
   * @param store beside which they lie
   * @return the files
   */
  public static StagedFiles of(PluginStore store) {
    return new StagedFiles(store.folder());
  }

  /**
   * Returns how much of a file is there.
   *
   * @param digest of the whole file
   * @return so many bytes from its begin
   * @throws IOException if it cannot be read
   */
  public synchronized long size(Digest digest) throws IOException {
    Path whole = file(digest);
    Path there = Files.exists(whole) ? whole : part(digest);
    return Files.exists(there) ? Files.size(there) : 0;
  }

  /**
   * Returns whether a file is there whole.
   *
   * @param digest of the whole file
   * @return true if it may be swapped in
   */
  public synchronized boolean isWhole(Digest digest) {
    return Files.exists(file(digest)) && Files.exists(manifest(digest));
  }

  /**
   * Returns the digests of the files that are there whole.
   *
   * @return in no order
   * @throws IOException if the folder cannot be read
   */
  public synchronized Set<Digest> whole() throws IOException {
    if (!Files.exists(folder)) {
      return Set.of();
    }
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(WHOLE))
          .map(name -> new Digest(name.substring(0, name.length() - WHOLE.length())))
          .filter(this::isWhole)
          .collect(Collectors.toSet());
    }
  }

  /**
   * Writes a piece of a file where it belongs.
   *
   * @param digest of the whole file
   * @param offset not more than is there
   * @param data the piece
   * @throws IOException if it cannot be written, or would make the file larger than any may be
   */
  public synchronized void write(Digest digest, long offset, ByteBuffer data) throws IOException {
    if (Files.exists(file(digest))) {
      return;
    }
    long there = size(digest);
    if (offset > there) {
      throw new IOException(
          "the piece begins at %d, and only %d bytes are there".formatted(offset, there));
    }
    if (offset + data.remaining() > LARGEST) {
      throw new IOException("a plugin has at most " + LARGEST + " bytes");
    }
    if (!Files.exists(part(digest))) {
      // Not only when one is whole: a sender may begin any number of files.
      prune(digest);
    }
    try (FileChannel channel =
        FileChannel.open(part(digest), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      channel.position(offset);
      while (data.hasRemaining()) {
        channel.write(data);
      }
    }
  }

  /**
   * Says that all pieces have come. A file that has another digest is deleted.
   *
   * @param digest of the whole file
   * @param manifest what was sent with it
   * @throws PluginStoreException if it has another digest
   * @throws IOException if it cannot be written
   */
  public synchronized void finish(Digest digest, byte[] manifest)
      throws PluginStoreException, IOException {
    Path whole = file(digest);
    if (!Files.exists(whole)) {
      Path part = part(digest);
      Digest found = Digest.of(part);
      if (!found.equals(digest)) {
        Files.delete(part);
        throw new PluginStoreException(
            part, "the sent file has the digest " + found + " and not " + digest, "send it again");
      }
      AtomicFile.force(part);
      Files.move(part, whole, StandardCopyOption.ATOMIC_MOVE);
    }
    // Forces the folder, too, and so the name that the file has got.
    AtomicFile.replace(manifest(digest), manifest, Mode.SECRET, Durability.POWER_LOSS);
    prune(digest);
  }

  /**
   * Returns where a file is that is there whole.
   *
   * @param digest of the whole file
   * @return its place
   */
  public Path file(Digest digest) {
    return folder.resolve(digest.hex() + WHOLE);
  }

  /**
   * Returns where the manifest of a file is that is there whole.
   *
   * @param digest of the whole file
   * @return its place
   */
  public Path manifest(Digest digest) {
    return folder.resolve(digest.hex() + MANIFEST);
  }

  private Path part(Digest digest) {
    return folder.resolve(digest.hex() + PART);
  }

  /** Deletes the oldest files, but not the newest one, whose time may be before the others'. */
  private void prune(Digest newest) throws IOException {
    Set<Digest> wanted = ClusterWants.read(store).anywhere();
    List<Path> files;
    try (Stream<Path> all = Files.list(folder)) {
      files =
          all.filter(file -> !file.toString().endsWith(MANIFEST))
              .filter(file -> wanted.stream().noneMatch(each -> isNamed(file, each)))
              .sorted(
                  Comparator.comparing((Path file) -> isNamed(file, newest))
                      .thenComparing(file -> file.toFile().lastModified())
                      .reversed())
              .toList();
    }
    for (Path file : files.subList(Math.min(KEPT, files.size()), files.size())) {
      Files.delete(file);
      String name = file.getFileName().toString();
      Files.deleteIfExists(folder.resolve(name.substring(0, name.lastIndexOf('.')) + MANIFEST));
    }
  }

  private static boolean isNamed(Path file, Digest digest) {
    return file.getFileName().toString().startsWith(digest.hex());
  }
}
