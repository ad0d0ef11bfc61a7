package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.digest.Sha256;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * Lists all kinds of data volumes in order of preference, the kernel's first if it has
 * device-mapper. It determines which of them this machine can give, and which one exists.
 */
final class VolumeCatalog {

  // 64 bits of the digest of the state directory: several nodes on one machine do not share a name.
  private static final int NAME_BYTES = 8;

  private final List<Volume> volumes;
  private final boolean asRoot;

  private VolumeCatalog(List<Volume> volumes, boolean asRoot) {
    this.volumes = List.copyOf(volumes);
    this.asRoot = asRoot;
  }

  /**
   * Lists the kinds for one state directory.
   *
   * @param size the size of a new volume in bytes
   * @param device the partition for the volume; empty for an image file
   */
  static VolumeCatalog of(
      Root root, long size, Optional<Path> device, VolumeTools tools, VolumeDaemons daemons)
      throws FileException {
    String name = name(root.path());
    String mapping = "polis-" + name;
    Path key = VolumeKeyFile.place(name);
    return new VolumeCatalog(
        List.of(
            new VolumePlain(root),
            new VolumeLuksMapper(StorageSecurity.ENCRYPTED, root, device, mapping, size, tools),
            new VolumeLuksMapper(
                StorageSecurity.AUTHENTICATED_ENCRYPTED, root, device, mapping, size, tools),
            new VolumeLuksFuse(root, size, key, tools, daemons),
            new VolumeGocryptfs(root, key, tools, daemons)),
        tools.root());
  }

  /** Returns the name of a state directory's programs and devices. */
  static String name(Path root) {
    byte[] digest = Sha256.begin().digest(root.toString().getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().formatHex(digest, 0, NAME_BYTES);
  }

  /** Returns whether this process is root. */
  boolean asRoot() {
    return asRoot;
  }

  List<Volume> all() {
    return volumes;
  }

  List<Volume> of(StorageSecurity security) {
    return volumes.stream().filter(volume -> volume.security() == security).toList();
  }

  Volume plain() {
    return of(StorageSecurity.INSECURE).getFirst();
  }

  Optional<Volume> named(String name) {
    return volumes.stream().filter(volume -> volume.name().equals(name)).findFirst();
  }

  /**
   * Returns the preferred kind of a security that this machine can give.
   *
   * @throws StorageException UNSUPPORTED if it can give none, with the missing parts of the easiest
   *     kind
   */
  Volume usable(StorageSecurity security) throws StorageException {
    for (Volume volume : of(security)) {
      if (volume.shortage().isEmpty()) {
        return volume;
      }
    }
    Volume easiest = easiest(security);
    throw easiest.shortage().refusal(easiest.what());
  }

  /**
   * Returns the kind with the fewest missing parts on this machine: packages are easier to get than
   * a kernel.
   */
  private Volume easiest(StorageSecurity security) {
    List<Volume> ways = of(security).reversed();
    return ways.stream()
        .min(
            Comparator.comparingInt((Volume way) -> way.shortage().kernel())
                .thenComparingInt(way -> way.shortage().missing().size()))
        .orElseThrow();
  }

  /** Returns the existing volume of a security, finished or not. */
  Optional<Volume> existing(StorageSecurity security) throws FileException {
    for (Volume volume : of(security)) {
      if (volume.exists()) {
        return Optional.of(volume);
      }
    }
    return Optional.empty();
  }

  /**
   * Returns the finished volume of a sealed configuration.
   *
   * @throws FileException FOREIGN or ABSENT if there is another one, or none
   */
  Volume require(StorageSecurity security) throws FileException {
    Optional<Volume> volume = existing(security);
    if (volume.isPresent()) {
      return volume.get();
    }
    for (Volume other : volumes) {
      if (other.exists()) {
        throw VolumeMarks.foreign(
            "the sealed configuration names a volume with security %s, but the volume here has %s (%s)"
                .formatted(security, other.security(), other.backing()));
      }
    }
    throw new FileException(
        Problem.ABSENT,
        "the sealed configuration names a volume with security %s, but there is none at %s"
            .formatted(security, of(security).getLast().backing()),
        "bring the volume back; if it is lost, remove this node from the cluster and enrol it again; nothing was changed");
  }

  /** Refuses if a volume of any kind exists, since the organ makes no second one. */
  void requireNone() throws FileException {
    for (Volume other : volumes) {
      if (other.exists()) {
        throw new FileException(
            Problem.OCCUPIED,
            "%s already exists, so the node makes no new volume".formatted(other.backing()),
            "continue the enrolment that began it, or choose another state directory; nothing was changed");
      }
    }
  }

  /**
   * Explains why a volume is not stronger: for each stronger security it names the missing parts
   * and their remedies, or that this machine can give it.
   *
   * @return whole sentences without the last full stop; empty for the strongest security
   */
  String shortfall(StorageSecurity present) {
    List<String> sentences = new ArrayList<>();
    if (present == StorageSecurity.INSECURE && !asRoot) {
      sentences.add("It is the default for a node that does not run as root");
    }
    StorageSecurity[] all = StorageSecurity.values();
    for (int i = all.length - 1; i > present.ordinal(); i--) {
      Shortage shortage = easiest(all[i]).shortage();
      if (shortage.isEmpty()) {
        sentences.add(
            "This machine can give %s: start with --security %s and another state directory"
                .formatted(all[i], option(all[i])));
        // A weaker security needs no explanation.
        break;
      }
      sentences.add("%s needs %s".formatted(all[i], shortage.words()));
    }
    return String.join(". ", sentences);
  }

  /** Returns a security in the form of the command line. */
  private static String option(StorageSecurity security) {
    return security.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }
}
