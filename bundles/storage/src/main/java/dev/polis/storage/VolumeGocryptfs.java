package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.posix.Mounts;
import dev.polis.files.AtomicFile;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FileTree;
import dev.polis.files.UnforcedException;
import dev.polis.files.layout.Root;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Keeps an AUTHENTICATED_ENCRYPTED volume without device-mapper: gocryptfs, with AES-256-GCM for
 * each block of 4 KiB of each file. It does not need root.
 *
 * <pre>
 *   volume.gocryptfs/ ──gocryptfs──▶ data/
 * </pre>
 */
final class VolumeGocryptfs implements Volume {

  private static final String DAEMON = "volume-gocryptfs";
  static final String CONFIGURATION = "gocryptfs.conf";
  private static final String TYPE = "fuse.gocryptfs";
  // gocryptfs' documented exit code for a pass phrase that does not open the configuration.
  private static final int EXIT_PASSWORD_INCORRECT = 12;
  // The lowest scrypt cost that gocryptfs accepts: the pass phrase has the entropy of a key, so
  // stretching would only cost time.
  private static final String SCRYPT_COST = "10";

  private final Path cipher;
  private final Path data;
  private final Path keyPath;

  /** The line that gocryptfs prints when it is ready. */
  private static final String READY = "Filesystem mounted and ready.";

  private final Root root;
  private final VolumeTools tools;
  private final VolumeDaemons daemons;

  VolumeGocryptfs(Root root, Path keyPath, VolumeTools tools, VolumeDaemons daemons) {
    this.root = root;
    this.cipher = root.gocryptfsVolume().path();
    this.data = root.data().path();
    this.keyPath = keyPath;
    this.tools = tools;
    this.daemons = daemons;
  }

  @Override
  public String name() {
    return "gocryptfs";
  }

  @Override
  public StorageSecurity security() {
    return StorageSecurity.AUTHENTICATED_ENCRYPTED;
  }

  @Override
  public String how() {
    return "gocryptfs (AES-256-GCM for each 4 KiB block): it hides content and names and detects"
        + " a changed block; it shows sizes, times, the number of files and which names are"
        + " equal, and does not detect whole files put back to an older state";
  }

  @Override
  public String backing() {
    return cipher.toString();
  }

  @Override
  public String what() {
    return "an AUTHENTICATED_ENCRYPTED volume without device-mapper";
  }

  @Override
  public Shortage shortage() {
    return tools.shortage(
        List.of("gocryptfs", "fusermount3"), List.of(Path.of("/dev/fuse")), false);
  }

  @Override
  public boolean exists() {
    return Files.exists(cipher, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public Presence presence() throws FileException {
    Optional<Mounts.Mount> mount = VolumeTools.mounted(data);
    if (mount.isEmpty()
        || !mount.get().type().equals(TYPE)
        || !mount.get().source().equals(cipher.toString())) {
      return Presence.ABSENT;
    }
    return daemons.running(DAEMON) ? Presence.ALIVE : Presence.STALE;
  }

  @Override
  public void create(VolumeKey key) throws FileException, InterruptedException {
    try {
      VolumeTools.allocateFolder(cipher);
    } catch (IOException e) {
      throw tools.failed(root.path(), "cannot make " + cipher + ": " + e.getMessage());
    }
    try (VolumeKeyFile secret = VolumeKeyFile.write(keyPath, key)) {
      tools.run(
          cipher,
          "gocryptfs",
          "-init",
          "-q",
          // Else each directory has a file without which its names are unreadable, and which
          // gocryptfs never forces: after a loss of power the directory answers ENOSYS for ever.
          "-deterministic-names",
          "-scryptn",
          SCRYPT_COST,
          "-passfile",
          secret.toString(),
          cipher.toString());
      keepConfiguration(cipher);
      serve();
    } catch (UnforcedException e) {
      throw tools.failed(cipher, "cannot keep " + cipher + ": " + e.getMessage());
    }
  }

  /** Forces the name that gocryptfs gave its file: it forces the content, then renames. */
  static void keepConfiguration(Path cipher) throws UnforcedException {
    AtomicFile.forceEntry(cipher.resolve(CONFIGURATION));
  }

  @Override
  public void open(VolumeKey key) throws FileException, InterruptedException {
    if (Files.notExists(cipher.resolve(CONFIGURATION))) {
      throw new FileException(
          Problem.CORRUPTED,
          cipher + " has no " + CONFIGURATION,
          "restore that file from a copy; nothing was changed");
    }
    try (VolumeKeyFile secret = VolumeKeyFile.write(keyPath, key)) {
      requireOpens(secret);
      serve();
    }
  }

  private void requireOpens(VolumeKeyFile secret) throws FileException, InterruptedException {
    Path probe = probe();
    Commands.Result result =
        tools.attempt(
            cipher,
            "gocryptfs",
            "-q",
            "-ro",
            "-nosyslog",
            "-passfile",
            secret.toString(),
            cipher.toString(),
            probe.toString());
    if (result.ok()) {
      unmount(probe);
    } else if (result.exit() == EXIT_PASSWORD_INCORRECT) {
      throw new StorageException(
          Refusal.WRONG_KEY,
          "the keys do not open " + cipher,
          "find the keys with which this volume was made; nothing was changed");
    } else {
      tools.requireReadable(cipher.resolve(CONFIGURATION));
      throw new FileException(
          Problem.CORRUPTED,
          cipher + " does not open: " + result.words(),
          "restore its " + CONFIGURATION + " from a copy; nothing was changed");
    }
  }

  /**
   * Returns the directory of the trial mount, with which the organ checks a key before it starts
   * the daemon.
   */
  private Path probe() throws FileException {
    Path probe = root.ephemeral().storage().create().resolve("probe");
    try {
      return Files.createDirectories(probe);
    } catch (IOException e) {
      throw tools.failed(probe, "cannot make " + probe + ": " + e.getMessage());
    }
  }

  private void serve() throws FileException, InterruptedException {
    root.data().create();
    List<String> command =
        new ArrayList<>(List.of("gocryptfs", "-fg", "-nosyslog", "-noexec", "-rw"));
    if (tools.root()) {
      // Workloads run as other users; the modes of the files then decide which user sees what.
      command.add("-allow_other");
    }
    command.addAll(List.of("-passfile", keyPath.toString(), cipher.toString(), data.toString()));
    // The mount exists before the daemon is ready: the daemon still opens a file of its own in it.
    // If another process makes a file in that moment, the kernel locks the folder until the daemon
    // answers, and the daemon waits for the folder: both hang for ever.
    daemons.start(
        DAEMON,
        List.copyOf(command),
        said -> said.contains(READY) && VolumeTools.mounted(data).isPresent());
  }

  @Override
  public void close() throws FileException, InterruptedException {
    unmount(root.ephemeral().storage().path().resolve("probe"));
    unmount(data);
    daemons.stop(DAEMON);
    unmount(data);
    try {
      VolumeKeyFile.wipe(keyPath);
    } catch (IOException e) {
      throw tools.failed(keyPath, "cannot remove " + keyPath + ": " + e.getMessage());
    }
  }

  private void unmount(Path point) throws FileException, InterruptedException {
    // A mount of another kind is the operator's.
    if (VolumeTools.mounted(point).filter(mount -> mount.type().equals(TYPE)).isPresent()) {
      tools.run(cipher, "fusermount3", "-u", point.toString());
    }
  }

  @Override
  public void discard() throws FileException {
    if (!exists()) {
      return;
    }
    try {
      FileTree.delete(cipher);
    } catch (IOException e) {
      throw tools.failed(cipher, "cannot remove the unfinished " + cipher + ": " + e.getMessage());
    }
  }
}
