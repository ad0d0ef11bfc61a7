package dev.polis.storage;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.posix.Mounts;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Mode;
import dev.polis.files.layout.Root;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Keeps an ENCRYPTED volume without device-mapper: qemu-storage-daemon exports a LUKS image
 * decrypted over FUSE, with a loop device on the export and XFS on the loop device. The image is
 * real LUKS: a machine with dm-crypt opens it.
 *
 * <pre>
 *   volume.luks ──qemu-storage-daemon──▶ ephemeral/storage/volume.img ──loop──▶ XFS ──▶ data/
 * </pre>
 */
final class VolumeLuksFuse implements Volume {

  private static final String DAEMON = "volume-luks";
  private static final String LOOP = "/dev/loop";
  // LUKS1's header with eight key slots of a 512-bit key, rounded up by cryptsetup.
  private static final long HEADER_BYTES = 2 << 20;

  private final Path image;
  private final Path export;
  private final Path data;
  private final Path keyPath;
  private final Root root;
  private final long size;
  private final VolumeTools tools;
  private final VolumeDaemons daemons;

  /**
   * @param size the size of the volume in bytes; the image is sparse
   * @param keyPath the path on a tmpfs for the key
   */
  VolumeLuksFuse(Root root, long size, Path keyPath, VolumeTools tools, VolumeDaemons daemons) {
    this.root = root;
    this.image = root.luksVolume().path();
    this.export = root.ephemeral().storage().path().resolve("volume.img");
    this.data = root.data().path();
    this.keyPath = keyPath;
    this.size = size;
    this.tools = tools;
    this.daemons = daemons;
  }

  @Override
  public String name() {
    return "luks-fuse";
  }

  @Override
  public StorageSecurity security() {
    return StorageSecurity.ENCRYPTED;
  }

  @Override
  public String how() {
    return "a LUKS image (AES-256-XTS) served in user space by qemu-storage-daemon, with XFS: it"
        + " hides the content, and does not detect a changed block";
  }

  @Override
  public String backing() {
    return image.toString();
  }

  @Override
  public String what() {
    return "an ENCRYPTED volume without device-mapper";
  }

  @Override
  public Shortage shortage() {
    return tools.shortage(
        List.of("cryptsetup", "qemu-storage-daemon", "mkfs.xfs"),
        List.of(Path.of("/dev/fuse"), Path.of("/dev/loop-control")),
        true);
  }

  @Override
  public boolean exists() {
    return Files.exists(image, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public Presence presence() throws FileException {
    Optional<Mounts.Mount> mount = VolumeTools.mounted(data);
    if (mount.isEmpty() || !loops().contains(mount.get().source())) {
      return Presence.ABSENT;
    }
    return daemons.running(DAEMON) ? Presence.ALIVE : Presence.STALE;
  }

  @Override
  public void create(VolumeKey key) throws FileException, InterruptedException {
    allocate();
    withKey(key, formatCommand(image));
    serving(key);
    mounting(device -> tools.makeFileSystem(image, device));
  }

  @Override
  public void open(VolumeKey key) throws FileException, InterruptedException {
    tools.requireOpens(key, image, testCommand(image));
    serving(key);
    mounting(device -> {});
  }

  static List<String> formatCommand(Path image) {
    // LUKS1, because qemu supports no other. The fewest iterations, because the pass phrase has the
    // entropy of a key and stretching would only cost time.
    return List.of(
        "cryptsetup",
        "luksFormat",
        "--type",
        "luks1",
        "--batch-mode",
        "--cipher",
        "aes-xts-plain64",
        "--key-size",
        "512",
        "--hash",
        "sha256",
        "--pbkdf-force-iterations",
        "1000",
        "--key-file",
        "-",
        image.toString());
  }

  static List<String> testCommand(Path image) {
    return List.of(
        "cryptsetup",
        "open",
        "--type",
        "luks1",
        "--test-passphrase",
        "--key-file",
        "-",
        image.toString());
  }

  private void allocate() throws FileException {
    try {
      VolumeTools.allocate(image, size + HEADER_BYTES);
    } catch (IOException e) {
      throw tools.failed(root.path(), "cannot make " + image + ": " + e.getMessage());
    }
  }

  private void withKey(VolumeKey key, List<String> command)
      throws FileException, InterruptedException {
    byte[] phrase = key.passphrase();
    try {
      tools.run(Duration.ofMinutes(1), phrase, image, command);
    } finally {
      Arrays.fill(phrase, (byte) 0);
    }
  }

  private void serving(VolumeKey key) throws FileException, InterruptedException {
    try (VolumeKeyFile _ = VolumeKeyFile.write(keyPath, key)) {
      serve();
    }
  }

  private void serve() throws FileException, InterruptedException {
    root.ephemeral().storage().create();
    try {
      if (!Files.exists(export)) {
        Files.createFile(export, PosixFilePermissions.asFileAttribute(Mode.SECRET.permissions()));
      }
    } catch (IOException e) {
      throw tools.failed(export, "cannot make " + export + ": " + e.getMessage());
    }
    daemons.start(
        DAEMON,
        List.of(
            "qemu-storage-daemon",
            "--object",
            "secret,id=key,format=raw,file=" + keyPath,
            "--blockdev",
            "driver=file,node-name=image,discard=unmap,filename=" + escape(image),
            "--blockdev",
            "driver=luks,node-name=clear,file=image,key-secret=key,discard=unmap",
            "--export",
            "type=fuse,id=export,node-name=clear,writable=on,mountpoint=" + escape(export)),
        _ ->
            VolumeTools.mounted(export).isPresent()
                && Files.isReadable(export)
                && size(export) > 0);
  }

  @FunctionalInterface
  private interface OnDevice {
    void apply(String device) throws FileException, InterruptedException;
  }

  private void mounting(OnDevice first) throws FileException, InterruptedException {
    String device = tools.attach(export).toString();
    first.apply(device);
    root.data().create();
    tools.mountXfs(device, data);
  }

  @Override
  public void close() throws FileException, InterruptedException {
    // A mount of another kind is the operator's.
    if (VolumeTools.mounted(data).filter(mount -> mount.source().startsWith(LOOP)).isPresent()) {
      tools.unmount(data);
    }
    for (String device : loops()) {
      tools.detach(Path.of(device));
    }
    daemons.stop(DAEMON);
    tools.unmount(export);
    try {
      VolumeKeyFile.wipe(keyPath);
      Files.deleteIfExists(export);
    } catch (IOException e) {
      throw tools.failed(export, "cannot remove " + export + ": " + e.getMessage());
    }
  }

  @Override
  public void discard() throws FileException {
    try {
      Files.deleteIfExists(image);
    } catch (IOException e) {
      throw tools.failed(image, "cannot remove the unfinished " + image + ": " + e.getMessage());
    }
  }

  /** Returns the nodes of the loop devices on the export of this volume. */
  private List<String> loops() throws FileException {
    return tools.attached(export).stream().map(Path::toString).toList();
  }

  private static long size(Path file) throws FileException {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw new FileException(Problem.IO, "cannot look at " + file, "read the log", e);
    }
  }

  /** Returns a path for a qemu option list, which doubles each comma. */
  private static String escape(Path path) {
    return path.toString().replace(",", ",,");
  }
}
