package dev.polis.files;

import java.nio.file.Path;

/**
 * Places the declared folder of an organ or role. Its user declares each of its files once for each
 * instance of this class.
 */
public final class FolderPlacement extends DirectoryPlacement {

  FolderPlacement(Path path, Mode mode) {
    super(path, mode);
  }

  /**
   * Declares a file of this folder.
   *
   * @throws IllegalArgumentException if the name is no file name, or was declared here before
   */
  public FilePlacement declareFile(String name, Mode mode) {
    return file(name, mode);
  }

  /**
   * Declares a directory of this folder.
   *
   * @throws IllegalArgumentException if the name is no file name, or was declared here before
   */
  public DirectoryPlacement declareDirectory(String name, Mode mode) {
    return directory(name, mode);
  }
}
