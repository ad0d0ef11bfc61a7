package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.base.posix.Machine;
import dev.polis.files.FileTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Checks whether containers can run on this machine, and refuses with the reason before a process
 * starts. It tries the kernel's functions in temporary namespaces.
 */
final class MachineCheck {

  private static final Path SOCKETS = Path.of("/proc/net/unix");

  /**
   * The script that prints a line for each impossible step. It tries an overlay on the data volume
   * and in memory: if only the first fails, the volume's file system is the cause and not the
   * kernel.
   */
  private static final String TRIAL =
      """
      export PATH=/usr/sbin:/usr/bin:/sbin:/bin
      try() { what=$1; shift; "$@" || echo "polis-missing: $what"; }
      overlay() {
        mkdir -p "$1/lower" "$1/upper" "$1/work" "$1/merged" &&
        mount -t overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" overlay "$1/merged" &&
        echo text > "$1/merged/file"
      }
      mount --make-rprivate /
      try volume overlay "$1"
      mkdir -p "$1/memory" && mount -t tmpfs polis-trial "$1/memory" && try overlay overlay "$1/memory"
      try veth ip link add polis0 type veth peer name polis1
      try bridge ip link add polis2 type bridge
      packets() {
        printf 'table ip polis { chain outgoing { type nat hook postrouting priority 100; masquerade; }; }' | nft -f -
      }
      if [ -d "$2" ]; then mount -t overlay -o "lowerdir=$2:/usr" overlay /usr; fi
      if command -v nft > /dev/null; then try nftables packets; fi
      """;

  private static final String MISSING = "polis-missing: ";
  private static final String VOLUME = "volume";

  /**
   * The type of user-space file systems: they may support overlays, but lack a device, which the
   * kubelet needs.
   */
  private static final String USER_SPACE = "fuse";

  /** The kernel functions that each trial needs, with their names in the kernel's configuration. */
  private static final Map<String, String> FEATURES =
      Map.of(
          "overlay", "overlay file systems (CONFIG_OVERLAY_FS)",
          "veth", "virtual network devices (CONFIG_VETH)",
          "bridge", "network bridges (CONFIG_BRIDGE)",
          "nftables", "address translation by nftables (CONFIG_NF_TABLES, CONFIG_NFT_MASQ)");

  private static final List<String> NAMESPACES = List.of("net", "mnt", "pid", "ipc", "uts");

  private static final long MEBI = 1L << 20;

  private final ContainersSettings settings;
  private final ContainersFiles files;
  private final RuntimePrograms programs;
  private final SystemCommands commands = new SystemCommands();

  MachineCheck(ContainersSettings settings, ContainersFiles files, RuntimePrograms programs) {
    this.settings = settings;
    this.files = files;
    this.programs = programs;
  }

  /** Refuses a user that cannot make a sandbox. */
  static void requireRoot() throws IOException {
    int user = Machine.effectiveUser();
    if (user != 0) {
      throw new ContainersException(
          "containers need root, but this node runs as user %d; start it as root, or remove the role KubernetesWorker: polisctl node role remove NODE KubernetesWorker"
              .formatted(user));
    }
  }

  /**
   * Checks the machine.
   *
   * @return whether the data volume's own file system supports overlays
   * @throws ContainersException naming the missing feature and the remedy
   */
  boolean check(SandboxRequest request) throws IOException, InterruptedException {
    SystemCommands.require(List.of("ip", "nsenter", "unshare", "mount", "sh", "sleep"));
    requireNamespaces();
    Cgroups.find();
    requireRoom();
    new AddressCheck(commands).requireFree(request);
    requireNoOtherRuntime(request);
    return tryKernel();
  }

  private static void requireNamespaces() {
    List<String> missing =
        NAMESPACES.stream().filter(kind -> !Files.exists(Path.of("/proc/self/ns", kind))).toList();
    if (!missing.isEmpty()) {
      throw new ContainersException(
          "the kernel has no namespaces of the kinds %s (CONFIG_NAMESPACES); start a kernel that has them"
              .formatted(missing));
    }
  }

  private void requireRoom() throws IOException {
    long free = Files.getFileStore(files.path()).getUsableSpace() / MEBI;
    if (free < settings.leastFreeMebibytes()) {
      throw new ContainersException(
          "the volume of %s has %d MiB left, but images need %d; make room, or set least.free.mebibytes of dev.polis.containers"
              .formatted(files.path(), free, settings.leastFreeMebibytes()));
    }
  }

  /**
   * Refuses a machine of the node's own with another container runtime, since both would use
   * containerd's folder.
   */
  private static void requireNoOtherRuntime(SandboxRequest request) throws IOException {
    if (request.isolation() == Isolation.MACHINE
        && Files.exists(RuntimeConfiguration.SOCKET)
        && !listeners(SOCKETS, RuntimeConfiguration.SOCKET).isEmpty()) {
      throw new ContainersException(
          "another containerd listens at %s, perhaps Docker's; stop it, or set isolation=namespaces of dev.polis.kubernetes"
              .formatted(RuntimeConfiguration.SOCKET));
    }
  }

  /** Finds a socket in the kernel's table, in which a user can put invalid names. */
  static Set<String> listeners(Path table, Path socket) throws IOException {
    return Files.readAllLines(table, StandardCharsets.ISO_8859_1).stream()
        .filter(line -> line.endsWith(" " + socket))
        .collect(Collectors.toSet());
  }

  private boolean tryKernel() throws IOException, InterruptedException {
    Path place = files.probe().create();
    try {
      String said =
          commands
              .run(
                  List.of(
                      "unshare",
                      "--net",
                      "--mount",
                      "--propagation",
                      "private",
                      "sh",
                      "-c",
                      TRIAL,
                      "trial",
                      place.toString(),
                      programs.overUsr().toString()))
              .output();
      return judge(said) && !Files.getFileStore(files.path()).type().startsWith(USER_SPACE);
    } finally {
      FileTree.delete(place);
    }
  }

  /** Reads the output of the trial; returns whether the data volume supports overlays. */
  static boolean judge(String said) {
    Set<String> missing =
        said.lines()
            .filter(line -> line.startsWith(MISSING))
            .map(line -> line.substring(MISSING.length()).strip())
            .collect(Collectors.toCollection(TreeSet::new));
    boolean volume = !missing.remove(VOLUME);
    if (said.contains("unshare failed")) {
      throw new ContainersException(
          "the system does not let this process make namespaces: %s; run it with CAP_SYS_ADMIN and CAP_NET_ADMIN"
              .formatted(said.replace('\n', ' ')));
    }
    if (!missing.isEmpty()) {
      throw new ContainersException(
          "the kernel lacks %s; start a kernel that has it, or load the module; its error: %s"
              .formatted(
                  missing.stream()
                      .map(each -> FEATURES.getOrDefault(each, each))
                      .collect(Collectors.joining(" and ")),
                  said.replace('\n', ' ')));
    }
    return volume;
  }
}
