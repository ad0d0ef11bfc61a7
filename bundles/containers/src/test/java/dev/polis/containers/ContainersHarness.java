package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.StopReason;
import dev.polis.base.posix.LoopDevices;
import dev.polis.base.posix.Mounts;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.Needs;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.process.Cgroup;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Gives the organ with a real containerd a disk and addresses, and makes instances of it one after
 * the other. Its close removes everything.
 */
final class ContainersHarness implements AutoCloseable {

  /** The longest wait: enough for two busy cores that unpack images. */
  static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final Duration COMMAND = Duration.ofSeconds(60);

  private final Path folder;
  private final Path programs;
  final Root root;
  final MutableValue<DataStatus> data =
      new MutableValue<>(new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory"));
  final LogTree logs = LogTree.create();
  final SandboxRequest request;
  private Optional<Instance> present = Optional.empty();

  /** Opens a harness; skips the test with a reason on a machine that cannot run containers. */
  ContainersHarness() throws IOException {
    this("");
  }

  /** Opens a harness in a folder whose name ends with the suffix. */
  ContainersHarness(String suffix) throws IOException {
    this(suffix, Isolation.NAMESPACES);
  }

  /** Opens a harness with this isolation of containers from the machine. */
  ContainersHarness(String suffix, Isolation isolation) throws IOException {
    Needs.root("running containers");
    String named = System.getProperty("POLIS_KUBERNETES", System.getenv("POLIS_KUBERNETES"));
    assumeTrue(
        named != null && Files.isExecutable(Path.of(named, "bin/containerd")),
        "running containers needs containerd: set POLIS_KUBERNETES to what \"polis provision kubernetes\" prints");
    programs = Path.of(named);
    folder = Files.createTempDirectory("polis-containers" + suffix);
    root = Root.at(folder.resolve("root"));
    root.data().create();
    int pair = ThreadLocalRandom.current().nextInt(1 << 15);
    InetAddress own = InetAddress.ofLiteral("127.0.0.1");
    boolean apart = isolation == Isolation.NAMESPACES;
    request =
        new SandboxRequest(
            isolation,
            "t" + Integer.toHexString(pair),
            apart ? address(2 * pair) : own,
            apart ? address(2 * pair + 1) : own,
            folder.resolve("root/data/cni"),
            List.of("10.244.0.0/16"),
            List.of(folder.resolve("root/data/kubelet")));
  }

  /** Returns an address of 198.18.0.0/15, the range for tests of networks. */
  private static InetAddress address(int place) {
    return InetAddress.ofLiteral(
        "198.%d.%d.%d".formatted(18 + (place >> 16), place >> 8 & 0xff, place & 0xff));
  }

  ContainersSettings settings() {
    return settings(programs.toString());
  }

  static ContainersSettings settings(String programs) {
    return new ContainersSettings(programs, new TreeMap<>(), "auto", 0, 64, Duration.ofSeconds(30));
  }

  ContainersFiles files() {
    return new ContainersFiles(root);
  }

  Path programs() {
    return programs;
  }

  /** Replaces the instance of the organ by a new one. */
  Instance instance() {
    return instance(settings());
  }

  Instance instance(ContainersSettings settings) {
    present.ifPresent(Instance::close);
    Instance next = new Instance(settings);
    present = Optional.of(next);
    return next;
  }

  /** Owns all parts of an instance of the bundle, wired as the framework would wire them. */
  final class Instance implements AutoCloseable {
    final ProcessManager.OpenManager processes =
        ProcessManager.open(root.ephemeral().processes().path(), logs);
    final SupervisionTree supervisor = SupervisionTree.open(logs);
    final HealthTable health = HealthTable.open(supervisor);
    final ContainersService containers;

    private Instance(ContainersSettings settings) {
      containers =
          new ContainersService(
              settings,
              new ContainersService.Parts(root, data, processes, supervisor, health, logs));
    }

    ContainersStatus.Running start() throws Exception {
      containers.start(request);
      return running();
    }

    ContainersStatus.Running running() throws Exception {
      return (ContainersStatus.Running) await(ContainersStatus.Running.class);
    }

    ContainersStatus await(Class<? extends ContainersStatus> kind) throws Exception {
      try (Watcher<ContainersStatus> watcher = containers.status().watch()) {
        ContainersStatus found =
            watcher.get(
                status -> kind.isInstance(status) || status instanceof ContainersStatus.Failed,
                PATIENCE);
        assertTrue(kind.isInstance(found), found::text);
        return found;
      }
    }

    long pid(String name) {
      return processes.find(name).orElseThrow().pid();
    }

    /** Stops the instance as an update of the bundle does: containers keep running. */
    @Override
    public void close() {
      close(StopReason.CODE_REPLACED);
    }

    void close(StopReason reason) {
      containers.close(reason);
      health.close();
      supervisor.close();
      processes.close();
      present = Optional.empty();
    }
  }

  /** Runs containerd's tool in the sandbox, and requires that it succeeds. */
  String ctr(Sandbox sandbox, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(programs.resolve("bin/ctr").toString());
    command.addAll(List.of("-a", RuntimeConfiguration.SOCKET.toString(), "-n", "k8s.io"));
    command.addAll(List.of(arguments));
    Commands.Result said = new Commands().run(COMMAND, sandbox.command(command));
    assertTrue(said.ok(), said::words);
    return said.output();
  }

  /** Starts an idle container in this node's cgroup; returns its process id. */
  long container(Sandbox sandbox, String name) throws Exception {
    String cgroup = sandbox.cgroup() + "/" + name;
    ctr(sandbox, "run", "--detach", "--cgroup", cgroup, PauseImage.NAME, name);
    return ctr(sandbox, "task", "ls")
        .lines()
        .map(line -> line.split("\\s+"))
        .filter(words -> words[0].equals(name))
        .map(words -> Long.parseLong(words[1]))
        .findFirst()
        .orElseThrow();
  }

  /** Returns containerd's log as it is in the tree, oldest line first. */
  List<String> log() {
    try (LogReader reader = logs.read(LogQuery.of("root.containers.containerd").backlogAll())) {
      return reader.backlog().stream()
          .map(LogEntry::payload)
          .filter(LogPayload.Leveled.class::isInstance)
          .map(LogPayload.Leveled.class::cast)
          .map(LogPayload.Leveled::message)
          .toList();
    }
  }

  /** Writes an archive with one image under this name. */
  Path archive(String name) throws IOException {
    Path plain = folder.resolve("archive");
    try (OutputStream out = Files.newOutputStream(plain)) {
      PauseImage.write(Files.readAllBytes(programs.resolve("bin/busybox")), "amd64", out);
    }
    byte[] bytes = Files.readAllBytes(plain);
    byte[] from = PauseImage.NAME.getBytes(StandardCharsets.US_ASCII);
    byte[] to = name.getBytes(StandardCharsets.US_ASCII);
    assertTrue(from.length == to.length, "the name must be as long as " + PauseImage.NAME);
    for (int at = 0; at + from.length <= bytes.length; at++) {
      if (Arrays.equals(bytes, at, at + from.length, from, 0, from.length)) {
        System.arraycopy(to, 0, bytes, at, to.length);
      }
    }
    return Files.write(plain, bytes);
  }

  /** Describes all remains of this node on the machine, except files on the disk. */
  List<String> leftovers() throws Exception {
    TreeSet<String> left = new TreeSet<>();
    String cgroup = SandboxRecord.cgroup(request);
    try (DirectoryStream<Path> hierarchies = Files.newDirectoryStream(Cgroup.ROOT)) {
      for (Path hierarchy : hierarchies) {
        if (Files.exists(hierarchy.resolve(cgroup))) {
          left.add("cgroup " + hierarchy.resolve(cgroup));
        }
      }
    }
    for (Mounts.Mount mount : Mounts.list()) {
      if (mount.point().startsWith(folder) && !mount.point().equals(root.data().path())) {
        left.add("mount " + mount.point());
      }
    }
    String network =
        new Commands().run(COMMAND, List.of("ip", "-oneline", "address", "show")).output();
    for (InetAddress address : List.of(request.hostAddress(), request.address())) {
      if (!address.isLoopbackAddress() && network.contains(address.getHostAddress() + "/")) {
        left.add("address " + address.getHostAddress());
      }
    }
    if (network.contains(SandboxRecord.hostDevice(request))) {
      left.add("device " + SandboxRecord.hostDevice(request));
    }
    LoopDevices.list().stream()
        .filter(each -> each.file().startsWith(folder))
        .forEach(each -> left.add("loop device " + each));
    if (request.isolation() == Isolation.MACHINE && Files.exists(RuntimeConfiguration.STATE)) {
      left.add("folder " + RuntimeConfiguration.STATE);
    }
    ProcessHandle.allProcesses()
        .filter(process -> mentions(process.pid()))
        .forEach(process -> left.add("process " + process.info()));
    return List.copyOf(left);
  }

  private boolean mentions(long process) {
    try (var in = Files.newInputStream(Path.of("/proc", "" + process, "cmdline"))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).contains(folder.toString());
    } catch (IOException gone) {
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    present.ifPresent(Instance::close);
    instance().close(StopReason.ROLE_REMOVED);
    for (Path path : LiveTree.bottomUp(folder)) {
      Files.deleteIfExists(path);
    }
  }
}
