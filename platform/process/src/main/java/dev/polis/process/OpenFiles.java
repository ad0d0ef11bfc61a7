package dev.polis.process;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads the open files of a process from {@code /proc}. Stateless; safe for any thread. */
public final class OpenFiles {

  private OpenFiles() {}

  /**
   * Returns the names of the open files and sockets of a process, as the kernel shows them.
   *
   * @param process its directory in {@code /proc}
   * @return empty if the process has ended or belongs to another account
   */
  public static List<String> of(Path process) {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(process.resolve("fd"))) {
      descriptors.forEach(descriptor -> add(names, descriptor));
      return names;
    } catch (IOException | DirectoryIteratorException endedOrNotOurs) {
      return names;
    }
  }

  /**
   * Finds a process that has a file or socket open.
   *
   * @param proc the folder of the kernel's processes
   * @param name its name, as the kernel shows it
   * @return the directory of the process; empty if none has it, or it belongs to another account
   */
  static Optional<Path> holder(Path proc, String name) throws IOException {
    return Proc.folders(proc).stream().filter(process -> of(process).contains(name)).findFirst();
  }

  private static void add(List<String> names, Path descriptor) {
    try {
      names.add(Files.readSymbolicLink(descriptor).toString());
    } catch (IOException closed) {
      // A process opens and closes files while they are listed.
      return;
    }
  }
}
