package dev.polis.storage;

import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import java.nio.file.Files;
import java.nio.file.Path;

/** Prepares the state directory, or fails with the reason. */
final class StateDirectory {

  private StateDirectory() {}

  /** Returns the declared tree at a path, with existing {@code esp/} and {@code ephemeral/}. */
  static Root prepare(Path path) throws FileException {
    if (Files.exists(path) && !Files.isDirectory(path)) {
      throw new FileException(
          Problem.OCCUPIED,
          "the state directory " + path + " is not a directory",
          "name another one; nothing was changed");
    }
    Root root = Root.at(path);
    root.esp().create();
    root.ephemeral().create();
    root.ephemeral().storage().create();
    root.esp().removeTemporaryFiles();
    return root;
  }
}
