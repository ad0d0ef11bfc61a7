package dev.polis.containers;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.process.SandboxProcesses;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Records the parts of a sandbox, so that any later instance can remove them. The setup writes it
 * before it makes a part.
 *
 * @param bootId the kernel's name for this run of the machine; no part of an earlier run is left
 * @param isolation how the sandbox is isolated
 * @param hostDevice the network device of the host; empty without namespaces
 * @param cgroup the name of the cgroup
 * @param addedAddress the address that the setup gave to the host's loopback device; empty if the
 *     device had it
 * @param mountNamespace the kernel's name of the mount namespace; empty before its creation
 * @param networkNamespace the kernel's name of the network namespace; empty before its creation
 */
record SandboxRecord(
    String bootId,
    Isolation isolation,
    String hostDevice,
    String cgroup,
    String addedAddress,
    String mountNamespace,
    String networkNamespace) {

  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  /** The prefix of the names of the host's network device and of the cgroup. */
  private static final String PREFIX = "polis-";

  private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

  /** Describes a planned sandbox. */
  static SandboxRecord of(SandboxRequest request) throws IOException {
    boolean namespaces = request.isolation() == Isolation.NAMESPACES;
    return new SandboxRecord(
        Files.readString(BOOT_ID).strip(),
        request.isolation(),
        namespaces ? hostDevice(request) : "",
        cgroup(request),
        "",
        "",
        "");
  }

  static String hostDevice(SandboxRequest request) {
    return PREFIX + request.name();
  }

  static String cgroup(SandboxRequest request) {
    return PREFIX + request.name();
  }

  SandboxRecord withAddedAddress(String address) {
    return new SandboxRecord(
        bootId, isolation, hostDevice, cgroup, address, mountNamespace, networkNamespace);
  }

  SandboxRecord withNamespaces(String mount, String network) {
    return new SandboxRecord(bootId, isolation, hostDevice, cgroup, addedAddress, mount, network);
  }

  /** Returns the existing namespaces. */
  List<String> namespaces() {
    return Stream.of(mountNamespace, networkNamespace).filter(each -> !each.isEmpty()).toList();
  }

  /** Returns the processes in the namespaces, after a check that these belong to this sandbox. */
  Set<Long> inside() throws IOException {
    return SandboxProcesses.inside(namespaces(), cgroup);
  }

  /** Returns whether the record is from the present run of the machine. */
  boolean ofThisBoot() throws IOException {
    return bootId.equals(Files.readString(BOOT_ID).strip());
  }

  void write(FilePlacement file) throws FileException {
    file.write((GSON.toJson(this) + "\n").getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Reads the record of an earlier sandbox.
   *
   * @throws ContainersException if it is unreadable
   */
  static Optional<SandboxRecord> read(FilePlacement file) {
    return switch (file.read()) {
      case Stored.None<byte[]> _ -> Optional.empty();
      case Stored.Present<byte[]>(Path path, byte[] text) -> Optional.of(parse(path, text));
      case Stored.Corrupted<byte[]> _ -> throw damaged(file.path(), null);
      case Stored.Unreadable<byte[]> broken -> throw damaged(file.path(), broken.cause());
    };
  }

  private static SandboxRecord parse(Path path, byte[] text) {
    try {
      SandboxRecord record =
          GSON.fromJson(new String(text, StandardCharsets.UTF_8), SandboxRecord.class);
      if (record != null
          && Stream.of(
                  record.bootId,
                  record.isolation,
                  record.hostDevice,
                  record.cgroup,
                  record.addedAddress,
                  record.mountNamespace,
                  record.networkNamespace)
              .noneMatch(Objects::isNull)) {
        return record;
      }
      throw damaged(path, null);
    } catch (JsonParseException wrong) {
      throw damaged(path, wrong);
    }
  }

  private static ContainersException damaged(Path path, Throwable cause) {
    return new ContainersException(
        "%s, the record of the sandbox, is damaged; restart the machine, or end its containers by hand, then remove the file"
            .formatted(path),
        cause);
  }
}
