package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdTls;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.LiveTree;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;

/**
 * Gives a member of real etcd a disk and an address, and makes instances of the organ one after the
 * other. Its close ends etcd and deletes everything.
 */
final class ConsensusHarness implements AutoCloseable {

  /** The longest wait: enough for two busy cores and an etcd that waits for the disk. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final int LOOPBACK = 127;

  final Path folder;
  final Root root;
  final InetAddress address = freshAddress();
  final MutableValue<ClockStatus> clock = new MutableValue<>(new ClockStatus.NotKept("", ""));
  final MutableValue<NetworkStatus> network = new MutableValue<>(new NetworkStatus.Up(address));
  final MutableValue<DataStatus> data =
      new MutableValue<>(new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory"));
  final ConsensusIdentity identity = ConsensusIdentity.of(Ed25519.generate().getPrivate());
  final LogTree logs = LogTree.create();
  private Optional<Instance> present = Optional.empty();

  ConsensusHarness() throws IOException {
    this("");
  }

  /** Opens a harness in a directory whose name ends with the suffix. */
  ConsensusHarness(String suffix) throws IOException {
    folder = Files.createTempDirectory("polis-consensus" + suffix);
    // Like a node's folder, so that etcd can run under an account of its own.
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    root = Root.at(folder.resolve("root"));
    root.data().create();
  }

  /** Returns a loopback address that no other test has, with all its ports. */
  static InetAddress freshAddress() throws IOException {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return InetAddress.getByAddress(
        new byte[] {
          LOOPBACK,
          (byte) random.nextInt(64, 128),
          (byte) random.nextInt(256),
          (byte) random.nextInt(1, 255)
        });
  }

  static ConsensusSettings settings() {
    return settings(2L << 30, Duration.ofSeconds(60), etcd());
  }

  /**
   * Returns the settings of a member whose maintenance has a turn each second; it records the
   * others.
   */
  static ConsensusSettings maintainedOften() {
    return settings(2L << 30, Duration.ofSeconds(1), etcd());
  }

  static ConsensusSettings settings(long quota, Duration maintenance, String etcd) {
    return settings(20, 200, quota, maintenance, etcd);
  }

  static ConsensusSettings settings(
      int heartbeat, int election, long quota, Duration maintenance, String etcd) {
    return new ConsensusSettings(
        etcd,
        7833,
        7834,
        heartbeat,
        election,
        Duration.ofSeconds(30),
        quota,
        "periodic",
        "1h",
        10000,
        maintenance,
        50,
        RecoveryOrder.NONE);
  }

  /** Returns the settings with an order of a new cluster. */
  static ConsensusSettings recovering(String cluster, String snapshot) {
    ConsensusSettings plain = settings();
    return new ConsensusSettings(
        plain.etcd(),
        plain.clientPort(),
        plain.peerPort(),
        plain.heartbeatMillis(),
        plain.electionMillis(),
        plain.ready(),
        plain.quotaBytes(),
        plain.compactionMode(),
        plain.compactionRetention(),
        plain.snapshotCount(),
        plain.maintenance(),
        plain.defragmentPercent(),
        new RecoveryOrder(cluster, snapshot));
  }

  static String etcd() {
    return Etcd.FOLDER;
  }

  /** Finds etcd once, when the class is loaded. */
  private static final class Etcd {
    static final String FOLDER = find();
  }

  private static String find() {
    try {
      return EtcdBinary.folder().toString();
    } catch (IOException failed) {
      throw new AssertionError("etcd cannot be found", failed);
    } catch (InterruptedException interrupted) {
      throw new AssertionError("interrupted while looking for etcd", interrupted);
    }
  }

  ConsensusFiles files() {
    return new ConsensusFiles(root);
  }

  /** Makes the collaborators of a member's parts, outside an instance of the organ. */
  MemberParts parts(ProcessManager processes) {
    return new MemberParts(
        settings(),
        files(),
        network,
        processes,
        new SilentReport(),
        new SilentHealth(),
        InstantSource.system(),
        "root.consensus." + EtcdProcess.NAME);
  }

  /** Replaces the instance of the organ by a new one. */
  Instance instance() {
    return instance(settings());
  }

  Instance instance(ConsensusSettings settings) {
    present.ifPresent(Instance::close);
    Instance next = new Instance(settings);
    present = Optional.of(next);
    return next;
  }

  /** Ends the instance, as the end of the node's process does: etcd keeps running. */
  void closeInstance() {
    present.ifPresent(Instance::close);
    present = Optional.empty();
  }

  /** Returns the access of an operator who uses the files of etcd's user root. */
  EtcdAccess asRoot(Instance instance) throws Exception {
    ConsensusFiles files = files();
    EtcdTls tls =
        new EtcdTls(
            List.of(Pem.certificate(Files.readString(files.ca().path()))),
            Pem.privateKey(Files.readString(files.rootKey().path())),
            List.of(Pem.certificate(Files.readString(files.root().path()))));
    return new EtcdAccess(
        instance.consensus.access("curator").endpoints(),
        new EtcdAccess.MutualTls(tls),
        EtcdNamespace.ROOT);
  }

  /** Owns all parts of an instance of the bundle, wired as the framework would wire them. */
  final class Instance implements AutoCloseable {
    final ProcessManager.OpenManager processes =
        ProcessManager.open(root.ephemeral().processes().path(), logs);
    final SupervisionTree supervisor = SupervisionTree.open(logs);
    final HealthTable health = HealthTable.open(supervisor);
    final ConsensusService consensus;

    private Instance(ConsensusSettings settings) {
      consensus = new ConsensusService(settings, parts(processes, supervisor, health));
    }

    ConsensusStatus.Running startNew() throws InterruptedException {
      consensus.startNew(identity);
      return consensus.awaitRunning(PATIENCE);
    }

    ConsensusStatus.Running startExisting() throws InterruptedException {
      consensus.startExisting(identity);
      return consensus.awaitRunning(PATIENCE);
    }

    <S extends ConsensusStatus> S await(Class<S> kind) throws Exception {
      return await(kind, _ -> true);
    }

    <S extends ConsensusStatus> S await(Class<S> kind, Predicate<S> wanted) throws Exception {
      try (Watcher<ConsensusStatus> watcher = consensus.status().watch()) {
        return kind.cast(
            watcher.get(
                status -> kind.isInstance(status) && wanted.test(kind.cast(status)), PATIENCE));
      }
    }

    long pid() {
      return processes.find("etcd").orElseThrow().pid();
    }

    /** Stops the instance as an update of the bundle does: etcd keeps running. */
    @Override
    public void close() {
      consensus.close(StopReason.CODE_REPLACED);
      health.close();
      supervisor.close();
      processes.close();
    }
  }

  /** Returns the parts that an organ of this node receives. */
  ConsensusService.Parts parts(
      ProcessManager.OpenManager processes, SupervisionTree supervisor, HealthTable health) {
    return new ConsensusService.Parts(
        root, data, network, clock, processes, supervisor, health, logs, new SilentReport());
  }

  /** Returns etcd's log, oldest line first. */
  List<LogPayload.Leveled> etcdLog() {
    try (LogReader reader = logs.read(LogQuery.of("root.consensus.etcd").backlogAll())) {
      return reader.backlog().stream()
          .map(LogEntry::payload)
          .filter(LogPayload.Leveled.class::isInstance)
          .map(LogPayload.Leveled.class::cast)
          .toList();
    }
  }

  /** Copies the disk to another node. */
  void copyTo(ConsensusHarness other) throws IOException {
    Path from = root.data().path();
    for (Path file : LiveTree.bottomUp(from).reversed()) {
      Path target = other.root.data().path().resolve(from.relativize(file));
      if (Files.isDirectory(file)) {
        Files.createDirectories(target);
      } else if (Files.isRegularFile(file)) {
        Files.copy(file, target);
      }
    }
  }

  /** Ends the instance and its etcd, as a loss of the machine does; the disk stays. */
  void lose() {
    long pid = etcdPid();
    closeInstance();
    kill(pid);
  }

  /** Returns the process of the present instance's etcd. */
  long etcdPid() {
    return present.orElseThrow().pid();
  }

  /** Kills a process like kill -9. */
  static void kill(long pid) {
    ProcessHandle.of(pid).orElseThrow().destroyForcibly();
  }

  @Override
  public void close() throws IOException {
    present.ifPresent(Instance::close);
    stopAll();
    for (Path path : LiveTree.bottomUp(folder)) {
      Files.deleteIfExists(path);
    }
  }

  private void stopAll() {
    try (var processes = ProcessManager.open(root.ephemeral().processes().path(), logs)) {
      for (ProcessRecord record : processes.records()) {
        processes.stop(record.name());
      }
    } catch (InterruptedException interrupted) {
      throw new AssertionError("interrupted while stopping etcd", interrupted);
    }
  }

  /** Ignores all conditions. */
  private static final class SilentHealth implements HealthScope {
    @Override
    public void set(HealthCondition condition) {}

    @Override
    public void clear(String code) {}

    @Override
    public void close() {}
  }

  /** Ignores all reports. */
  record SilentReport(StopReason stopReason) implements BootReport {
    SilentReport() {
      this(StopReason.CODE_REPLACED);
    }

    @Override
    public Wait waiting(String name) {
      return new Wait() {
        @Override
        public void detail(String text) {}

        @Override
        public void done(String result) {}

        @Override
        public void close() {}
      };
    }

    @Override
    public void home(String summary) {}

    @Override
    public void fatal(String organ, Throwable cause) {}

    @Override
    public void powerOff(String reason) {}
  }
}
