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
import java.util.stream.Stream;

/**
 * Keeps files that are sent to the node piece by piece, until they are swapped in. What has come
 * stays when the sender or the process goes away. Usable from any thread.
 */
public final class StagedFiles {
  /** Many times the largest organ; a sender cannot fill the disk with one file. */
  public static final long LARGEST = 256L * 1024 * 1024;

  /** As many as a person tries in a row; the oldest is deleted first. */
  private static final int KEPT = 8;

  private static final String PART = ".part";
  private static final String WHOLE = ".jar";
  private static final String MANIFEST = ".plugin";

  private final Path folder;

  private StagedFiles(Path folder) {
    this.folder = folder;
  }

  /**
   * Opens the staged files of a store.
   *
   * @param store beside which they lie
   * @return the files
   */
  public static StagedFiles of(PluginStore store) {
    return new StagedFiles(store.folder().resolve("staged"));
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
    Files.createDirectories(folder);
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
            part, "what was sent has the digest " + found + " and not " + digest, "send it again");
      }
      AtomicFile.force(part);
      Files.move(part, whole, StandardCopyOption.ATOMIC_MOVE);
    }
    AtomicFile.replace(manifest(digest), manifest, Mode.SECRET, Durability.PROCESS);
    prune();
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

  private void prune() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(folder)) {
      files =
          all.filter(file -> !file.toString().endsWith(MANIFEST))
              .sorted(Comparator.comparing((Path file) -> file.toFile().lastModified()).reversed())
              .toList();
    }
    for (Path file : files.subList(Math.min(KEPT, files.size()), files.size())) {
      Files.delete(file);
      String name = file.getFileName().toString();
      Files.deleteIfExists(folder.resolve(name.substring(0, name.lastIndexOf('.')) + MANIFEST));
    }
  }
}
