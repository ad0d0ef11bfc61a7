package dev.polis.containers;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Names the organ's own files, in {@code data/containers/}. */
final class ContainersFiles {

  /** The organ's folder. */
  static final OrganFolder FOLDER = new OrganFolder("containers", Mode.PRIVATE_DIRECTORY);

  private final Path state;
  private final FolderPlacement folder;
  private final FilePlacement record;
  private final FilePlacement entry;
  private final FilePlacement configuration;
  private final FilePlacement image;
  private final DirectoryPlacement archives;
  private final DirectoryPlacement mirrors;
  private final DirectoryPlacement scratch;
  private final DirectoryPlacement runtime;
  private final DirectoryPlacement probe;

  ContainersFiles(Root root) {
    state = root.path();
    folder = root.data().organFolder(FOLDER);
    record = folder.declareFile("sandbox.json", Mode.SECRET);
    entry = folder.declareFile("entry", Mode.SECRET);
    configuration = folder.declareFile("containerd.toml", Mode.SECRET);
    image = folder.declareFile("runtime.ext4", Mode.SECRET);
    archives = folder.declareDirectory("archives", Mode.PRIVATE_DIRECTORY);
    mirrors = folder.declareDirectory("mirrors", Mode.PRIVATE_DIRECTORY);
    scratch = folder.declareDirectory("scratch", Mode.PRIVATE_DIRECTORY);
    runtime = folder.declareDirectory("runtime", Mode.PRIVATE_DIRECTORY);
    probe = folder.declareDirectory("probe", Mode.PRIVATE_DIRECTORY);
  }

  /** Makes the folder and its content before any process starts. */
  void create() throws FileException {
    folder.create();
    scratch.create();
    runtime.create();
    archives.create();
  }

  /** Returns the state directory of the node. */
  Path state() {
    return state;
  }

  /** Returns the organ's folder. */
  Path path() {
    return folder.path();
  }

  /** Returns the record of the sandbox. */
  FilePlacement record() {
    return record;
  }

  /** Returns the file with the process id through which the node enters a sandbox again. */
  FilePlacement entry() {
    return entry;
  }

  FilePlacement configuration() {
    return configuration;
  }

  /** Returns the folder of arriving archives. */
  DirectoryPlacement archives() {
    return archives;
  }

  /** Removes the archives of a killed node, also of earlier versions. */
  void removeArchives() throws IOException {
    Files.deleteIfExists(folder.path().resolve("archive.tar"));
    for (String left : archives.list()) {
      Files.deleteIfExists(archives.path().resolve(left));
    }
  }

  /** Returns the ext4 image for the runtime's data, if the volume cannot hold them. */
  FilePlacement image() {
    return image;
  }

  /** Returns the folder of containerd's configuration of registries. */
  DirectoryPlacement mirrors() {
    return mirrors;
  }

  /**
   * Returns the mount point of the sandbox's memory file system; the folder is empty on the
   * machine.
   */
  DirectoryPlacement scratch() {
    return scratch;
  }

  /** Returns containerd's own folder: images and containers. */
  DirectoryPlacement runtime() {
    return runtime;
  }

  /** Returns the folder for trials of overlays. */
  DirectoryPlacement probe() {
    return probe;
  }

  /** Returns the link to the sandbox's network namespace. */
  Path networkLink() {
    return folder.path().resolve("net");
  }

  /** Returns the link to the sandbox's mount namespace. */
  Path mountLink() {
    return folder.path().resolve("mnt");
  }
}
