package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.base.posix.LoopDevices;
import dev.polis.base.posix.Machine;
import dev.polis.base.posix.Mounts;
import dev.polis.base.posix.PosixException;
import dev.polis.files.AtomicFile;
import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Mode;
import dev.polis.process.Commands;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Runs the system programs that volumes use. A probe names the missing parts; a failure names its
 * reason.
 */
final class VolumeTools {

  // Making a file system or a key slot takes seconds; a minute distinguishes a slow disk from one
  // that hangs.
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  // cryptsetup's documented exit code for a key that opens no slot.
  private static final int EXIT_NO_PERMISSION = 2;
  // Below this the node treats a file system as full: a write of a few blocks may have failed.
  private static final long NEARLY_FULL_BYTES = 1 << 20;

  /** Debian's package of each program. */
  private static final Map<String, String> PACKAGES =
      Map.ofEntries(
          Map.entry("qemu-storage-daemon", "qemu-system-common"),
          Map.entry("gocryptfs", "gocryptfs"),
          Map.entry("fusermount3", "fuse3"),
          Map.entry("mkfs.xfs", "xfsprogs"),
          Map.entry("cryptsetup", "cryptsetup-bin"));

  /** The remedy for each missing device. */
  private static final Map<Path, String> DEVICES =
      Map.of(
          Path.of("/dev/fuse"),
          "load the kernel module fuse (\"modprobe fuse\"), or give /dev/fuse to the container",
          Path.of("/dev/loop-control"),
          "load the kernel module loop (\"modprobe loop\"), or give the loop devices to the container",
          VolumeLuksMapper.CONTROL,
          "load the kernel modules dm_crypt and dm_integrity (\"modprobe -a dm_crypt dm_integrity\")");

  /** The size of the largest header of a volume, that of LUKS with its key slots. */
  private static final int HEADER_BYTES = 2 << 20;

  private final Commands commands;
  private final boolean root;

  VolumeTools(Commands commands, boolean root) {
    this.commands = commands;
    this.root = root;
  }

  /** Lists the missing programs, device nodes and rights, with their remedies. */
  Shortage shortage(List<String> programs, List<Path> devices, boolean rootNeeded) {
    List<String> missing = new ArrayList<>();
    TreeSet<String> packages = new TreeSet<>();
    for (String program : programs) {
      if (!commands.has(program)) {
        missing.add("program " + program);
        packages.add(PACKAGES.get(program));
      }
    }
    List<String> remedies = new ArrayList<>();
    if (!packages.isEmpty()) {
      remedies.add("install the Debian packages " + String.join(" ", packages));
    }
    int kernel = 0;
    for (Path device : devices) {
      Access access = access(device);
      if (access == Access.ABSENT) {
        kernel++;
        missing.add("device " + device);
        remedies.add(DEVICES.getOrDefault(device, "provide " + device));
      } else if (access == Access.DENIED && !(rootNeeded && !root)) {
        missing.add("the right to open " + device);
        remedies.add("start the node as root, or let its user open " + device);
      }
    }
    if (rootNeeded && !root) {
      missing.add(
          "the right to mount (this is user %s)".formatted(System.getProperty("user.name")));
      remedies.add("start the node as root");
    }
    return missing.isEmpty()
        ? Shortage.NONE
        : new Shortage(List.copyOf(missing), kernel, List.copyOf(remedies));
  }

  /** Lists the states of a device. */
  private enum Access {
    OPENS,
    DENIED,
    ABSENT
  }

  /**
   * Opens a device to check that it works, since cryptsetup creates device-mapper's node even on
   * kernels without it.
   */
  private static Access access(Path device) {
    try (FileChannel channel = FileChannel.open(device, StandardOpenOption.READ)) {
      return channel.isOpen() ? Access.OPENS : Access.ABSENT;
    } catch (AccessDeniedException e) {
      return Access.DENIED;
    } catch (IOException e) {
      return Access.ABSENT; // a device that cannot be opened does not work
    }
  }

  /** Returns whether a device works. */
  static boolean opens(Path device) {
    return access(device) == Access.OPENS;
  }

  /** Returns whether this process is root. */
  boolean root() {
    return root;
  }

  /** Makes the sparse file of a volume; its name survives a loss of power. */
  static void allocate(Path image, long bytes) throws IOException {
    Files.createFile(image, PosixFilePermissions.asFileAttribute(Mode.SECRET.permissions()));
    try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
      file.setLength(bytes);
    }
    AtomicFile.forceEntry(image);
  }

  /** Makes the directory of a volume; its name survives a loss of power. */
  static void allocateFolder(Path folder) throws IOException {
    Files.createDirectory(
        folder, PosixFilePermissions.asFileAttribute(Mode.PRIVATE_DIRECTORY.permissions()));
    AtomicFile.forceEntry(folder);
  }

  /** Makes the file system of a newly formatted volume. */
  void makeFileSystem(Path place, String device) throws FileException, InterruptedException {
    // -f: unwritten blocks decrypt to noise, which mkfs.xfs may mistake for a file system.
    run(place, "mkfs.xfs", "-q", "-f", "-K", "-L", "polis-data", device);
  }

  /** Runs a program that must succeed; a failure names the free space of the place. */
  String run(Path place, String... command) throws FileException, InterruptedException {
    return run(PATIENCE, new byte[0], place, List.of(command));
  }

  /** Runs a program that must succeed, with input. */
  String run(Duration patience, byte[] input, Path place, List<String> command)
      throws FileException, InterruptedException {
    Commands.Result result = attempt(patience, input, place, command);
    if (!result.ok()) {
      throw failed(place, result.words());
    }
    return result.output();
  }

  /** Runs a program that may fail. */
  Commands.Result attempt(Path place, String... command)
      throws FileException, InterruptedException {
    return attempt(PATIENCE, new byte[0], place, List.of(command));
  }

  /** Runs a program that may fail, with input. */
  Commands.Result attempt(Duration patience, byte[] input, Path place, List<String> command)
      throws FileException, InterruptedException {
    try {
      return commands.run(patience, command, input);
    } catch (IOException e) {
      throw new FileException(
          Problem.IO,
          "cannot run " + command.getFirst() + " for " + place + ": " + e.getMessage(),
          "read the log",
          e);
    }
  }

  /**
   * Refuses a wrong key and a broken header, with a cryptsetup command that needs no device-mapper
   * and has no effect.
   */
  void requireOpens(VolumeKey key, Path backing, List<String> testCommand)
      throws FileException, InterruptedException {
    byte[] phrase = key.passphrase();
    Commands.Result result;
    try {
      result = attempt(PATIENCE, phrase, backing, testCommand);
    } finally {
      Arrays.fill(phrase, (byte) 0);
    }
    if (result.exit() == EXIT_NO_PERMISSION) {
      throw new StorageException(
          Refusal.WRONG_KEY,
          "the keys do not open " + backing,
          "find the keys with which this volume was made; nothing was changed");
    }
    if (!result.ok()) {
      requireReadable(backing);
      throw new FileException(
          Problem.CORRUPTED,
          backing + " does not open: " + result.words(),
          "restore the header of the volume from a copy; nothing was changed");
    }
  }

  /**
   * Refuses a file whose header the disk does not read. The programs of a volume take it for a
   * damaged one, which must be restored from a copy.
   */
  void requireReadable(Path file) throws FileException {
    try (InputStream content = Files.newInputStream(file)) {
      content.readNBytes(HEADER_BYTES);
    } catch (IOException e) {
      throw new FileException(
          DiskTrouble.of(e),
          "cannot read %s: %s".formatted(file, DiskTrouble.reason(e)),
          "check the disk and the kernel log (dmesg); nothing was changed",
          e);
    }
  }

  /** Returns whether this process is root. */
  static boolean isRoot() throws FileException {
    try {
      return Machine.effectiveUser() == 0;
    } catch (IOException e) {
      throw new FileException(
          Problem.IO, "cannot find out which user runs this node", "mount /proc", e);
    }
  }

  /** Returns the topmost mount of a directory. */
  static Optional<Mounts.Mount> mounted(Path point) throws FileException {
    try {
      return Mounts.at(point);
    } catch (IOException e) {
      throw new FileException(
          Problem.IO, "cannot list what is mounted", "mount /proc; nothing was changed", e);
    }
  }

  /** Mounts XFS, with project quotas if the kernel has them, which only limit workloads. */
  void mountXfs(String device, Path point) throws FileException {
    try {
      Mounts.mount(device, point, "xfs", List.of("noexec", "pquota"));
    } catch (PosixException noQuota) {
      try {
        Mounts.mount(device, point, "xfs", List.of("noexec"));
      } catch (PosixException e) {
        throw failed(point, e.getMessage());
      }
    }
  }

  /** Unmounts a directory; does nothing without a mount. */
  void unmount(Path point) throws FileException {
    if (mounted(point).isPresent()) {
      try {
        Mounts.unmount(point);
      } catch (PosixException e) {
        throw failed(point, e.getMessage());
      }
    }
  }

  /** Attaches a file to a loop device and returns the node of that device. */
  Path attach(Path file) throws FileException {
    try {
      return LoopDevices.attach(file);
    } catch (PosixException e) {
      throw failed(file, e.getMessage());
    }
  }

  /** Detaches a loop device from its file. */
  void detach(Path device) throws FileException {
    try {
      LoopDevices.detach(device);
    } catch (PosixException e) {
      throw failed(device, e.getMessage());
    }
  }

  /** Lists the nodes of the loop devices on a file. */
  List<Path> attached(Path file) throws FileException {
    try {
      // The kernel adds " (deleted)" to the name of a file that is gone.
      return LoopDevices.list().stream()
          .filter(loop -> loop.file().toString().startsWith(file.toString()))
          .map(LoopDevices.Attached::device)
          .toList();
    } catch (IOException e) {
      throw failed(file, "cannot list loop devices: " + e.getMessage());
    }
  }

  /**
   * Returns a failure at a place, with its free space, since a full disk is the most frequent
   * cause.
   */
  FileException failed(Path place, String what) {
    try {
      FileStore store = Files.getFileStore(Files.exists(place) ? place : place.getParent());
      if (store.isReadOnly()) {
        return new FileException(
            Problem.READ_ONLY,
            what + "; the file system of " + place + " is mounted read-only",
            "mount it writable");
      }
      if (store.getUsableSpace() < NEARLY_FULL_BYTES) {
        return new FileException(
            Problem.FULL,
            "%s; the file system of %s is full (%d bytes free)"
                .formatted(what, place, store.getUsableSpace()),
            "free some space and try again");
      }
    } catch (IOException e) {
      what = what + "; the node cannot examine its file system either: " + e.getMessage();
    }
    return new FileException(
        Problem.IO, what + ", for " + place, "check the kernel log (dmesg) and try again");
  }
}
