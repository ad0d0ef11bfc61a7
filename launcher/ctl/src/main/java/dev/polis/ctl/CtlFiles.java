package dev.polis.ctl;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/** The operator's files: read with a remedy, written whole and for the operator alone. */
final class CtlFiles {

  private CtlFiles() {}

  static String read(Path file, String remedy) {
    try {
      return Files.readString(file);
    } catch (NoSuchFileException e) {
      throw new CtlException(ExitCode.NOT_FOUND, file + " does not exist; " + remedy, e);
    } catch (IOException e) {
      throw new CtlException(ExitCode.FAILED, file + " cannot be read: " + e + "; " + remedy, e);
    }
  }

  /** Half a file, or a key, is not left lying about. */
  private static void remove(Path temporary, IOException failure) {
    try {
      Files.deleteIfExists(temporary);
    } catch (IOException e) {
      failure.addSuppressed(e);
    }
  }

  static void write(Path file, byte[] content) {
    Path temporary = file.resolveSibling("." + file.getFileName() + ".tmp");
    try {
      if (file.toAbsolutePath().getParent() != null) {
        Files.createDirectories(file.toAbsolutePath().getParent());
      }
      Files.deleteIfExists(temporary);
      Files.createFile(
          temporary,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.write(temporary, content, StandardOpenOption.SYNC);
      Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      remove(temporary, e);
      throw new CtlException(
          ExitCode.FAILED, file + " cannot be written: " + e + "; make room or choose another", e);
    }
  }
}
