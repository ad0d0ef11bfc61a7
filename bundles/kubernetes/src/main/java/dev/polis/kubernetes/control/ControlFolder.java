package dev.polis.kubernetes.control;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.FileTree;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.Stored;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/**
 * Holds the files that the control plane's programs read. The folder belongs to the node, and
 * programs with an account pass through it; only the node and the account of a file read that file.
 */
final class ControlFolder {

  /** The folder of the files on the data volume. */
  static final OrganFolder FOLDER =
      new OrganFolder("kubernetes-controller", Mode.PASSABLE_DIRECTORY);

  private final FolderPlacement folder;
  private final DirectoryPlacement flexVolumes;
  private final Map<ControlFile, FilePlacement> files = new EnumMap<>(ControlFile.class);

  ControlFolder(FolderPlacement folder) {
    this.folder = folder;
    this.flexVolumes = folder.declareDirectory("flexvolume", Mode.PRIVATE_DIRECTORY);
    for (ControlFile each : ControlFile.values()) {
      files.put(each, folder.declareFile(each.fileName(), Mode.SECRET));
    }
  }

  /** Returns where the folder is. */
  Path path() {
    return folder.path();
  }

  /** Returns where a file is. */
  String path(ControlFile file) {
    return files.get(file).path().toString();
  }

  /** Returns a file. */
  FilePlacement placement(ControlFile file) {
    return files.get(file);
  }

  /**
   * Returns the empty folder in which the controller manager looks for plugins of volumes. The
   * default is a directory of the machine, which it would make.
   */
  DirectoryPlacement flexVolumes() {
    return flexVolumes;
  }

  /** Returns the content of a file; empty if there is none. */
  Optional<String> read(ControlFile file) throws FileException {
    return switch (files.get(file).read()) {
      case Stored.Present<byte[]>(Path _, byte[] content) ->
          Optional.of(new String(content, StandardCharsets.UTF_8));
      case Stored.None<byte[]> _, Stored.Corrupted<byte[]> _ -> Optional.empty();
      case Stored.Unreadable<byte[]> unreadable -> throw unreadable.cause();
    };
  }

  /** Replaces the content of a file, unless it is the same already. */
  void write(ControlFile file, String content) throws FileException {
    if (!read(file).equals(Optional.of(content))) {
      files.get(file).write(content.getBytes(StandardCharsets.UTF_8));
    }
  }

  /** Deletes the folder with all its files. */
  void delete() throws IOException {
    FileTree.delete(folder.path());
  }
}
