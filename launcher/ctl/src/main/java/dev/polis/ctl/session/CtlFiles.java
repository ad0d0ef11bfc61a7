package dev.polis.ctl.session;

import dev.polis.files.AtomicFile;
import dev.polis.files.DiskTrouble;
import dev.polis.files.Mode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Reads the operator's files, and writes them whole and for the operator alone. */
public final class CtlFiles {

  private CtlFiles() {}

  public static String read(Path file, String remedy) {
    try {
      return Files.readString(file);
    } catch (NoSuchFileException e) {
      throw new CtlException(ExitCode.NOT_FOUND, file + " does not exist; " + remedy, e);
    } catch (IOException e) {
      throw new CtlException(ExitCode.FAILED, file + " cannot be read: " + e + "; " + remedy, e);
    }
  }

  public static void write(Path file, byte[] content) {
    try {
      AtomicFile.replace(file, content, Mode.SECRET, AtomicFile.Durability.POWER_LOSS);
    } catch (IOException e) {
      throw new CtlException(
          ExitCode.FAILED,
          "%s cannot be written: %s; %s, or choose another file"
              .formatted(file, DiskTrouble.reason(e), DiskTrouble.remedy(DiskTrouble.of(e))),
          e);
    }
  }
}
