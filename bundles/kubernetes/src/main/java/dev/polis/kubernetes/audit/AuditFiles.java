package dev.polis.kubernetes.audit;

import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Finds the files of the API server's audit log.
 *
 * @param folder their folder; it may be missing
 */
public record AuditFiles(Path folder) {

  /**
   * Folder of the log on the data volume. It belongs to the API server, so this reads only files of
   * the log there and never the target of a link.
   */
  public static final OrganFolder FOLDER =
      new OrganFolder("kubernetes-audit", Mode.PRIVATE_DIRECTORY);

  /** The size of the longest record of the API server; the package explains it. */
  public static final int LONGEST = 8 << 20;

  private static final String CURRENT = "audit.log";

  /** The API server's names of full files; sorted by name, the oldest is first. */
  private static final String FULL = "audit-*.log";

  private static final int BUFFER = 1 << 16;

  /** Returns the file that is being written. */
  public Path current() {
    return folder.resolve(CURRENT);
  }

  /** Returns whether an API server has ever written here. */
  boolean exist() {
    return Files.exists(current());
  }

  /**
   * Is a file of the log at one moment.
   *
   * @param path its name, which changes when it is full
   * @param inode its inode, which stays
   */
  record Part(Path path, long inode) {

    /** Opens the file; the caller then checks that it was still this file. */
    InputStream open(long offset) throws IOException {
      return new BufferedInputStream(
          Channels.newInputStream(
              FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)
                  .position(offset)),
          BUFFER);
    }

    /** Returns whether the name still belongs to this file. */
    boolean named() throws IOException {
      try {
        return AuditFiles.inode(path) == inode;
      } catch (NoSuchFileException gone) {
        return false;
      }
    }
  }

  /** Returns all files, the oldest first. */
  List<Part> all() throws IOException {
    List<Path> names = new ArrayList<>();
    try (DirectoryStream<Path> full = Files.newDirectoryStream(folder, FULL)) {
      full.forEach(names::add);
    }
    names.sort(null);
    names.add(current());
    List<Part> parts = new ArrayList<>();
    for (Path name : names) {
      try {
        parts.add(new Part(name, inode(name)));
      } catch (NoSuchFileException deletedOrRenamed) {
        // The next check finds the file under its new name.
      }
    }
    return parts;
  }

  private static long inode(Path file) throws IOException {
    Map<String, Object> found =
        Files.readAttributes(file, "unix:ino,isRegularFile", LinkOption.NOFOLLOW_LINKS);
    if (!found.get("isRegularFile").equals(true)) {
      throw new IOException(
          file + " is not a file of an audit log, but a link or a device; remove it");
    }
    return ((Number) found.get("ino")).longValue();
  }

  /** Returns the place before the given number of newest records. */
  AuditPlace last(int records) throws IOException {
    long wanted = records;
    for (Part part : all().reversed()) {
      try {
        long lines = read(part, Long.MAX_VALUE).lines();
        if (lines >= wanted) {
          return new AuditPlace(part.inode(), read(part, lines - wanted).offset());
        }
        wanted -= lines;
      } catch (NoSuchFileException deleted) {
        // The file counts as empty, like the older ones, which the API server deletes first.
      }
    }
    return AuditPlace.OLDEST;
  }

  private record Lines(long lines, long offset) {}

  /** Reads at most this many lines; returns their number and the offset after them. */
  private static Lines read(Part part, long most) throws IOException {
    long lines = 0;
    long offset = 0;
    try (InputStream in = part.open(0)) {
      for (int c = 0; lines < most && (c = in.read()) >= 0; offset++) {
        lines += c == '\n' ? 1 : 0;
      }
    }
    return new Lines(lines, offset);
  }
}
