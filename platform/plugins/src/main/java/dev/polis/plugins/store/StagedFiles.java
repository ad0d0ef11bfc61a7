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
 * Keeps the files that senders transfer to the node piece by piece, until a swap uses them.
 * Received pieces stay when the sender or the process ends, and a complete file survives a loss of
 * power. Usable from any thread.
 */
public final class StagedFiles {
  /** The largest file: many times the largest organ, but too small to fill the disk. */
  public static final long LARGEST = 256L * 1024 * 1024;

  /**
   * The number of kept files, apart from the cluster's wanted ones; the oldest is deleted first.
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

  /** Returns the folder of the files, which the store makes. */
  static Path folder(Path store) {
    return store.resolve("staged");
  }

  /**
   * Opens the staged files of a store.
   *
   * @param store the store
   * @return the files
   */
  public static StagedFiles of(PluginStore store) {
    return new StagedFiles(store.folder());
  }

  /**
   * Returns the number of received bytes of a file.
   *
   * @param digest the digest of the whole file
   * @return the number of bytes from its begin
   * @throws IOException if it cannot be read
   */
  public synchronized long size(Digest digest) throws IOException {
    Path whole = file(digest);
    Path there = Files.exists(whole) ? whole : part(digest);
    return Files.exists(there) ? Files.size(there) : 0;
  }

  /**
   * Returns whether a file is complete.
   *
   * @param digest the digest of the whole file
   * @return true if a swap may use it
   */
  public synchronized boolean isWhole(Digest digest) {
    return Files.exists(file(digest)) && Files.exists(manifest(digest));
  }

  /**
   * Returns the digests of the complete files.
   *
   * @return the digests, in no order
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
   * Writes a piece of a file at its offset.
   *
   * @param digest the digest of the whole file
   * @param offset at most the number of received bytes
   * @param data the piece
   * @throws IOException if the write fails, or the file would be too large
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
      // Also for incomplete files, since a sender may begin any number.
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
   * Completes a file after its last piece, and deletes a file with another digest.
   *
   * @param digest the digest of the whole file
   * @param manifest its manifest from the sender
   * @throws PluginStoreException if it has another digest
   * @throws IOException if the write fails
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
    // Forces also the folder, and so the new name of the file.
    AtomicFile.replace(manifest(digest), manifest, Mode.SECRET, Durability.POWER_LOSS);
    prune(digest);
  }

  /**
   * Returns the path of a complete file.
   *
   * @param digest the digest of the whole file
   * @return its path
   */
  public Path file(Digest digest) {
    return folder.resolve(digest.hex() + WHOLE);
  }

  /**
   * Returns the path of a complete file's manifest.
   *
   * @param digest the digest of the whole file
   * @return its path
   */
  public Path manifest(Digest digest) {
    return folder.resolve(digest.hex() + MANIFEST);
  }

  private Path part(Digest digest) {
    return folder.resolve(digest.hex() + PART);
  }

  /**
   * Deletes the oldest files, but never the newest one, whose time may be earlier than the others'.
   */
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
