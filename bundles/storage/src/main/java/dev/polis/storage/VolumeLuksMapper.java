package dev.polis.storage;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Keeps an ENCRYPTED or AUTHENTICATED_ENCRYPTED volume by the kernel: LUKS2 on dm-crypt, for the
 * latter with dm-integrity below. cryptsetup attaches a loop device itself if the backing is a
 * file, and reads the key from standard input.
 *
 * <pre>
 *   volume.luks2 or a partition ──(dm-integrity)──dm-crypt──▶ /dev/mapper/polis-… ──XFS──▶ data/
 * </pre>
 */
final class VolumeLuksMapper implements Volume {

  static final Path CONTROL = Path.of("/dev/mapper/control");
  // dm-integrity writes the whole device once, so that every block has a tag: hours on a large
  // disk.
  private static final Duration WIPE_PATIENCE = Duration.ofHours(12);
  // The part of a disk in which all file systems and partition tables have their signatures.
  private static final int PROBED_BYTES = 1 << 20;

  private final StorageSecurity security;
  private final Root root;
  private final Path backing;
  private final boolean partition;
  private final String mapping;
  private final long size;
  private final VolumeTools tools;

  /**
   * @param device a partition to use; empty for an image of the given size in bytes beside data/
   * @param mapping name of the device-mapper device
   */
  VolumeLuksMapper(
      StorageSecurity security,
      Root root,
      Optional<Path> device,
      String mapping,
      long size,
      VolumeTools tools) {
    this.security = security;
    this.root = root;
    this.partition = device.isPresent();
    this.backing = device.orElseGet(() -> root.path().resolve("volume.luks2"));
    this.mapping = mapping;
    this.size = size;
    this.tools = tools;
  }

  @Override
  public String name() {
    return authenticated() ? "luks2-integrity" : "luks2";
  }

  @Override
  public StorageSecurity security() {
    return security;
  }

  @Override
  public String how() {
    return authenticated()
        ? "LUKS2 on dm-crypt and dm-integrity (AES-256-XTS, HMAC-SHA-256), with XFS: it hides"
            + " the content and detects a changed block, but not a block put back to an older"
            + " state"
        : "LUKS2 on dm-crypt (AES-256-XTS), with XFS: it hides the content, and does not detect a changed block";
  }

  @Override
  public String backing() {
    return backing.toString();
  }

  @Override
  public String what() {
    return "an %s volume with device-mapper".formatted(security);
  }

  @Override
  public Shortage shortage() {
    return tools.shortage(List.of("cryptsetup", "mkfs.xfs"), List.of(CONTROL), true);
  }

  /**
   * Returns false for a partition that begins with zeros, so that the organ never overwrites
   * unrecognised content.
   */
  @Override
  public boolean exists() throws FileException {
    if (!partition) {
      return Files.exists(backing, LinkOption.NOFOLLOW_LINKS);
    }
    try (var stream = Files.newInputStream(backing)) {
      byte[] start = stream.readNBytes(PROBED_BYTES);
      return !Arrays.equals(start, new byte[start.length]);
    } catch (IOException e) {
      throw tools.failed(backing, "cannot read " + backing + ": " + e.getMessage());
    }
  }

  @Override
  public Presence presence() throws FileException {
    return VolumeTools.mounted(root.data().path())
            .filter(m -> m.source().equals(device()))
            .isEmpty()
        ? Presence.ABSENT
        : Presence.ALIVE;
  }

  @Override
  public void create(VolumeKey key) throws FileException, InterruptedException {
    if (!partition) {
      allocate();
    }
    withKey(key, WIPE_PATIENCE, formatCommand());
    withKey(key, Duration.ofMinutes(1), openCommand());
    tools.makeFileSystem(backing, device());
    mount();
  }

  @Override
  public void open(VolumeKey key) throws FileException, InterruptedException {
    tools.requireOpens(key, backing, testCommand());
    withKey(key, Duration.ofMinutes(1), openCommand());
    mount();
  }

  @Override
  public void close() throws FileException, InterruptedException {
    if (presence() == Presence.ALIVE) {
      tools.unmount(root.data().path());
    }
    if (Files.exists(Path.of(device()))) {
      tools.run(backing, "cryptsetup", "close", mapping);
    }
  }

  @Override
  public void discard() throws FileException {
    try {
      if (partition) {
        try (RandomAccessFile file = new RandomAccessFile(backing.toFile(), "rw")) {
          file.write(new byte[PROBED_BYTES]);
          file.getFD().sync();
        }
      } else {
        Files.deleteIfExists(backing);
      }
    } catch (IOException e) {
      throw tools.failed(backing, "cannot clear the unfinished " + backing + ": " + e.getMessage());
    }
  }

  List<String> formatCommand() {
    // The fewest iterations that cryptsetup accepts, because the pass phrase has the entropy of a
    // key and stretching would only cost time.
    List<String> command =
        new ArrayList<>(
            List.of(
                "cryptsetup",
                "luksFormat",
                "--type",
                "luks2",
                "--batch-mode",
                "--cipher",
                "aes-xts-plain64",
                "--key-size",
                "512",
                "--pbkdf",
                "pbkdf2",
                "--pbkdf-force-iterations",
                "1000",
                "--key-file",
                "-"));
    if (authenticated()) {
      command.addAll(List.of("--integrity", "hmac-sha256"));
    }
    command.add(backing.toString());
    return List.copyOf(command);
  }

  List<String> testCommand() {
    return List.of(
        "cryptsetup",
        "open",
        "--type",
        "luks2",
        "--test-passphrase",
        "--key-file",
        "-",
        backing.toString());
  }

  List<String> openCommand() {
    List<String> command =
        new ArrayList<>(List.of("cryptsetup", "open", "--type", "luks2", "--key-file", "-"));
    if (!authenticated()) {
      // Discards reveal the free blocks, which ENCRYPTED does not hide; dm-integrity has none.
      command.add("--allow-discards");
    }
    command.addAll(List.of(backing.toString(), mapping));
    return List.copyOf(command);
  }

  private void allocate() throws FileException {
    try {
      VolumeTools.allocate(backing, size);
    } catch (IOException e) {
      throw tools.failed(root.path(), "cannot make " + backing + ": " + e.getMessage());
    }
  }

  private void withKey(VolumeKey key, Duration patience, List<String> command)
      throws FileException, InterruptedException {
    byte[] phrase = key.passphrase();
    try {
      tools.run(patience, phrase, backing, command);
    } finally {
      Arrays.fill(phrase, (byte) 0);
    }
  }

  private void mount() throws FileException, InterruptedException {
    tools.mountXfs(device(), root.data().create());
  }

  private String device() {
    return "/dev/mapper/" + mapping;
  }

  private boolean authenticated() {
    return security == StorageSecurity.AUTHENTICATED_ENCRYPTED;
  }
}
