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
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Holds the files of the control plane's programs. The folder belongs to the node, and programs
 * with an account pass through it; only the node and the account of a file can read it.
 */
final class ControlFolder {

  /** The folder of the files on the data volume. */
  static final OrganFolder FOLDER =
      new OrganFolder("kubernetes-controller", Mode.PASSABLE_DIRECTORY);

  private final FolderPlacement folder;
  private final DirectoryPlacement flexVolumes;
  private final Map<ControlFile, FilePlacement> files = new EnumMap<>(ControlFile.class);

  /** The wanted content of each file; guarded by this. */
  private final Map<ControlFile, String> wanted = new EnumMap<>(ControlFile.class);

  ControlFolder(FolderPlacement folder) {
    this.folder = folder;
    this.flexVolumes = folder.declareDirectory("flexvolume", Mode.PRIVATE_DIRECTORY);
    for (ControlFile each : ControlFile.values()) {
      files.put(each, folder.declareFile(each.fileName(), Mode.SECRET));
    }
  }

  /** Returns the path of the folder. */
  Path path() {
    return folder.path();
  }

  /** Returns the path of a file. */
  String path(ControlFile file) {
    return files.get(file).path().toString();
  }

  /** Returns a file. */
  FilePlacement placement(ControlFile file) {
    return files.get(file);
  }

  /**
   * Returns the empty folder for the controller manager's volume plugins. The controller manager
   * would create its default, a directory of the machine.
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

  /** Replaces the content of a file, unless it is the same. */
  synchronized void write(ControlFile file, String content) throws FileException {
    wanted.put(file, content);
    put(file, content);
  }

  /** Records the present content of a file as the wanted one. */
  synchronized void keep(ControlFile file) throws FileException {
    read(file).ifPresent(content -> wanted.put(file, content));
  }

  /**
   * Restores the files that something else has changed or removed.
   *
   * @return the paths of those files
   */
  synchronized List<String> restore() throws FileException {
    List<String> changed = new ArrayList<>();
    for (Map.Entry<ControlFile, String> each : wanted.entrySet()) {
      if (put(each.getKey(), each.getValue())) {
        changed.add(path(each.getKey()));
      }
    }
    return changed;
  }

  private boolean put(ControlFile file, String content) throws FileException {
    boolean other = !read(file).equals(Optional.of(content));
    if (other) {
      files.get(file).write(content.getBytes(StandardCharsets.UTF_8));
    }
    return other;
  }

  /** Erases the folder with all its files, such as the keys of the CAs of Kubernetes. */
  void delete() throws IOException {
    FileTree.erase(folder.path());
  }
}
