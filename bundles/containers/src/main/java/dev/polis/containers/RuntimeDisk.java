package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.base.posix.Mounts;
import dev.polis.files.AtomicFile;
import dev.polis.process.Commands;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * Gives the runtime a place that supports overlays: its folder on the data volume, or an ext4 image
 * in a file there if the volume's file system does not support them. If an operator sets a size,
 * the runtime always uses an image, which then limits the Pods' data.
 */
final class RuntimeDisk {

  /** The time for making an image; the tables of a sparse file of 100 GiB take a second. */
  private static final Duration MAKING = Duration.ofMinutes(5);

  private static final long MEBI = 1L << 20;

  /** The image's share of the free space; all other data on the volume get the rest. */
  private static final int SHARE_NUMERATOR = 3;

  private static final int SHARE_DENOMINATOR = 4;

  private final ContainersSettings settings;
  private final ContainersFiles files;

  RuntimeDisk(ContainersSettings settings, ContainersFiles files) {
    this.settings = settings;
    this.files = files;
  }

  /** Returns whether the runtime's data is in an image file. */
  boolean imageFile() {
    return Files.exists(files.image().path());
  }

  /**
   * Makes the image file if the runtime needs one, or if the operator has given it a size, which
   * then limits all containers. An existing image stays.
   *
   * @param overlays whether the volume's own file system supports them
   * @throws ContainersException if the image would hide existing containers
   */
  void prepare(boolean overlays) throws IOException, InterruptedException {
    if (imageFile() || overlays && settings.imageMebibytes() == 0) {
      return;
    }
    if (overlays) {
      requireUnused();
    }
    SystemCommands.require(List.of("mkfs.ext4"));
    Path image = files.image().path();
    Path making = image.resolveSibling(image.getFileName() + ".new");
    try (RandomAccessFile sparse = new RandomAccessFile(making.toFile(), "rw")) {
      sparse.setLength(0);
      sparse.setLength(bytes());
    }
    Commands.Result said =
        new Commands().run(MAKING, List.of("mkfs.ext4", "-q", "-F", "-m", "0", making.toString()));
    if (!said.ok()) {
      throw new ContainersException(
          "the data volume does not support overlays, and the node could not make an ext4 image on it: "
              + said.words());
    }
    // mkfs.ext4 has forced its writes to the disk.
    Files.move(making, image, StandardCopyOption.ATOMIC_MOVE);
    AtomicFile.forceEntry(image);
  }

  /** Refuses to hide the images and containers on the volume itself. */
  private void requireUnused() throws IOException {
    Path runtime = files.runtime().path();
    if (!Files.isDirectory(runtime)) {
      return;
    }
    try (Stream<Path> there = Files.list(runtime)) {
      if (there.findAny().isPresent()) {
        throw new ContainersException(
            "image.mebibytes of dev.polis.containers is %d, but %s already has containers, which an image would hide; drain the node and delete the content of that folder, or leave the setting out"
                .formatted(settings.imageMebibytes(), runtime));
      }
    }
  }

  private long bytes() throws IOException {
    if (settings.imageMebibytes() != 0) {
      return settings.imageMebibytes() * MEBI;
    }
    long free = Files.getFileStore(files.path()).getUsableSpace();
    return free / SHARE_DENOMINATOR * SHARE_NUMERATOR / MEBI * MEBI;
  }

  /** Mounts the image file on the machine, if there is one that no namespace mounts. */
  void mountOnMachine(List<Path> folders) throws IOException, InterruptedException {
    Path runtime = files.runtime().path();
    if (!imageFile() || Mounts.at(runtime).isPresent()) {
      return;
    }
    SystemCommands commands = new SystemCommands();
    String image = files.image().path().toString();
    commands.require(
        "mount the image of containers",
        List.of("mount", "-t", "ext4", "-o", "loop", image, runtime.toString()));
    for (Path folder : folders) {
      Path inside = Files.createDirectories(runtime.resolve(folder.getFileName()));
      Files.createDirectories(folder);
      commands.require(
          "show " + folder + " in the image",
          List.of("mount", "--bind", inside.toString(), folder.toString()));
    }
  }
}
