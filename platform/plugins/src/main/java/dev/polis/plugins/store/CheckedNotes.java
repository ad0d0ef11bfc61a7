package dev.polis.plugins.store;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.zip.CRC32C;

/**
 * Remembers the length and the CRC-32C of each file whose digest was compared once. So each start
 * finds damage without the digest: the processor computes a CRC a hundred times faster than a JVM
 * without its optimizing compiler computes SHA-256.
 *
 * <p>A note never overrules the file: after a missing, torn or different note, the node computes
 * the digest again.
 */
public final class CheckedNotes {
  private static final int BUFFER_BYTES = 64 * 1024;

  private final Path folder;

  /**
   * @param folder the folder of the notes, which holds no other files
   */
  public CheckedNotes(Path folder) {
    this.folder = folder;
  }

  /**
   * Returns whether the file is unchanged since the comparison of its digest.
   *
   * @throws IOException if it can not be read
   */
  public boolean agrees(Digest digest, Path file) throws IOException {
    Optional<String> noted = read(digest);
    return noted.isPresent() && noted.get().equals(sum(file));
  }

  /**
   * Returns true if the kernel has changed nothing of a file since its digest was compared. It does
   * not read the file, so it does not find damage by the disk.
   *
   * @throws IOException if the file's attributes can not be read
   */
  boolean outlives(Digest digest, Path file) throws IOException {
    Path note = place(digest);
    return Files.exists(note) && Files.getLastModifiedTime(note).compareTo(changed(file)) > 0;
  }

  /**
   * Returns when content or place of a file last changed, which no program sets to another time.
   */
  private static FileTime changed(Path file) throws IOException {
    return (FileTime) Files.getAttribute(file, "unix:ctime");
  }

  /**
   * Stores the checksum of a file whose digest was just compared.
   *
   * @throws IOException if it can not be read, or the note not written
   */
  public void note(Digest digest, Path file) throws IOException {
    Files.createDirectories(folder);
    // Neither forced nor renamed, since a torn note does not match the file.
    Files.writeString(place(digest), sum(file), StandardCharsets.ISO_8859_1);
  }

  /**
   * Drops the notes of unwanted files.
   *
   * @param wanted returns whether the note of a digest, in hexadecimal digits, stays
   * @throws IOException if a note cannot be deleted
   */
  public void keep(Predicate<String> wanted) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (DirectoryStream<Path> notes = Files.newDirectoryStream(folder)) {
      for (Path note : notes) {
        if (!wanted.test(note.getFileName().toString())) {
          Files.delete(note);
        }
      }
    }
  }

  private Optional<String> read(Digest digest) throws IOException {
    try {
      return Optional.of(Files.readString(place(digest), StandardCharsets.ISO_8859_1));
    } catch (NoSuchFileException never) {
      return Optional.empty();
    }
  }

  private Path place(Digest digest) {
    return folder.resolve(digest.hex());
  }

  private static String sum(Path file) throws IOException {
    CRC32C crc = new CRC32C();
    long length = 0;
    try (InputStream in = Files.newInputStream(file)) {
      byte[] buffer = new byte[BUFFER_BYTES];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        crc.update(buffer, 0, n);
        length += n;
      }
    }
    return length + " " + Long.toHexString(crc.getValue()) + "\n";
  }
}
