package dev.polis.ctl.local;

import dev.polis.ctl.Ctl;
import dev.polis.ctl.session.ClusterBase;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.files.DiskTrouble;
import java.io.IOException;
import java.io.PrintStream;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Starts a cluster on this machine; {@code polis up --nodes} runs it. */
@Command(name = "polis-cluster", description = "Starts a cluster of several nodes on this machine.")
public final class LocalMain implements Callable<Integer> {

  /** A node is HOME within seconds; busy machines are many times slower. */
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  private static final int FAILED = 1;
  private static final int USAGE = 2;
  private static final int REFUSED = 3;
  private static final int RUNNING = 4;

  /** A width that every terminal has, when the environment names none. */
  private static final int COLUMNS = 80;

  private static final String FIRST_ADDRESS = "127.0.0.1";

  /** The last number of an address that a host may have. */
  private static final int LAST_HOST = 254;

  @Option(names = "--nodes", required = true, description = "How many nodes.")
  private int nodes;

  @Option(names = "--base", required = true, description = "The folder of their state directories.")
  private Path folder;

  @Option(names = "--address", description = "The first node's; the others have the next ones.")
  private String address = "";

  @Option(names = "--recovery-key", description = "Opens the volumes of all nodes.")
  private Path recoveryKeyOrNull;

  @Option(names = "--polis", required = true, description = "The script that starts a node.")
  private Path polis;

  @Option(names = "--default-base", description = "The folder needs no naming in commands.")
  private boolean defaultBase;

  @Option(names = "--etcd", required = true, description = "Folder with etcd.")
  private Path etcd;

  @Parameters(description = "Further options of each start.")
  private List<String> options = new ArrayList<>();

  private final PrintStream screen;

  /** Notes that the end was printed, so that an interruption adds nothing. */
  private final AtomicBoolean concluded = new AtomicBoolean();

  private LocalMain(PrintStream screen) {
    this.screen = screen;
  }

  /** Runs it and ends the process with its exit code. */
  public static void main(String[] arguments) {
    System.exit(Ctl.prepared(() -> run(System.err, arguments)));
  }

  /** Runs it in this process, and returns its exit code. */
  static int run(PrintStream screen, String... arguments) {
    return new CommandLine(new LocalMain(screen)).execute(arguments);
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    ClusterBase base = new ClusterBase(folder);
    if (base.nodes().size() > nodes) {
      return end(
          REFUSED,
          "%s has %d nodes, which a cluster does not lose by a smaller number"
              .formatted(folder, base.nodes().size()),
          "give --nodes %d, or another --state".formatted(base.nodes().size()));
    }
    if (recoveryKeyOrNull != null && !Files.isReadable(recoveryKeyOrNull)) {
      return end(
          REFUSED,
          "the recovery key %s does not exist, or is not readable".formatted(recoveryKeyOrNull),
          "name the file of the owner's recovery key with --recovery-key FILE");
    }
    try (FileChannel mark = mark(base)) {
      return lock(mark)
          ? locked(base, mark)
          : end(
              RUNNING,
              "another call starts the cluster in %s at this moment".formatted(folder),
              "wait for its end");
    } catch (IOException e) {
      return end(
          REFUSED,
          "%s cannot be written: %s".formatted(base.mark(), DiskTrouble.reason(e)),
          DiskTrouble.remedy(DiskTrouble.of(e)) + ", or name another --state");
    }
  }

  private static FileChannel mark(ClusterBase base) throws IOException {
    return FileChannel.open(
        base.mark(), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  /** Takes the lock, which ends with the channel. */
  private static boolean lock(FileChannel mark) throws IOException {
    try {
      return mark.tryLock() != null;
    } catch (OverlappingFileLockException e) {
      return false; // Held by this very process: as good as by any other.
    }
  }

  private int locked(ClusterBase base, FileChannel mark) throws IOException, InterruptedException {
    String before = Files.readString(base.mark(), StandardCharsets.UTF_8).strip();
    String first = address.isEmpty() ? (before.isEmpty() ? FIRST_ADDRESS : before) : address;
    if (!before.isEmpty() && !before.equals(first)) {
      return end(
          REFUSED,
          "the nodes in %s have the addresses from %s on, not from %s"
              .formatted(folder, before, first),
          "leave --address out and unset POLIS_ADDRESS, or name another --state");
    }
    List<String> addresses;
    try {
      addresses = addresses(first);
    } catch (IllegalArgumentException wrong) {
      return end(USAGE, wrong.getMessage(), "give an address such as 127.0.0.1");
    }
    mark.write(ByteBuffer.wrap((first + "\n").getBytes(StandardCharsets.UTF_8)), 0);
    List<LocalNode> all = new ArrayList<>();
    for (int number = 1; number <= nodes; number++) {
      LocalNode node = new LocalNode(base, number, addresses.get(number - 1));
      Files.createDirectories(
          node.state(),
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      all.add(node);
    }
    return up(base, all);
  }

  private List<String> addresses(String first) {
    InetAddress parsed = InetAddress.ofLiteral(first);
    byte[] bytes = parsed.getAddress();
    int last = Byte.toUnsignedInt(bytes[bytes.length - 1]);
    if (!(parsed instanceof Inet4Address) || last + nodes - 1 > LAST_HOST) {
      throw new IllegalArgumentException(
          "--address %s: %d nodes need so many IPv4 addresses from it on, up to .%d"
              .formatted(first, nodes, LAST_HOST));
    }
    String network = first.substring(0, first.lastIndexOf('.') + 1);
    return IntStream.range(last, last + nodes).mapToObj(host -> network + host).toList();
  }

  private int up(ClusterBase base, List<LocalNode> all) throws InterruptedException {
    List<String> start = new ArrayList<>(List.of("--etcd", etcd.toString()));
    start.addAll(options);
    Optional<StepFailure> failure;
    try (Steps steps = new Steps(screen, columns(), PATIENCE)) {
      LocalCluster cluster =
          new LocalCluster(
              base,
              all,
              polis.toAbsolutePath().normalize(),
              start,
              recoveryKeyOrNull == null ? all.getFirst().recoveryKey() : recoveryKeyOrNull,
              steps,
              again());
      Thread hook = new Thread(() -> interrupted(steps, cluster), "interrupted");
      Runtime.getRuntime().addShutdownHook(hook);
      failure = attempt(cluster);
      if (failure.isEmpty()) {
        concluded.set(true);
        steps.line(
            "HOME after %s: %d voters at %s"
                .formatted(
                    steps.total(),
                    nodes,
                    all.stream().map(LocalNode::address).collect(Collectors.joining(", "))));
        steps.line("next: %s, %s; %s".formatted(ctl("health"), ctl("node list"), stop()));
      }
    }
    return failure.isEmpty()
        ? 0
        : end(FAILED, failure.get().getMessage(), failure.get().remedy() + "; " + stop());
  }

  private Optional<StepFailure> attempt(LocalCluster cluster) throws InterruptedException {
    try {
      cluster.up();
      return Optional.empty();
    } catch (StepFailure failure) {
      cluster.abandon();
      return Optional.of(failure);
    } catch (CtlException failure) {
      cluster.abandon();
      return Optional.of(
          new StepFailure("the cluster", failure.getMessage(), again() + " continues"));
    }
  }

  private void interrupted(Steps steps, LocalCluster cluster) {
    if (!concluded.compareAndSet(false, true)) {
      return;
    }
    cluster.abandon();
    steps.line(
        "polis: interrupted%s; the nodes that have started continue"
            .formatted(steps.present().map(" while "::concat).orElse("")));
    steps.line("polis: next: %s finishes the rest; %s".formatted(again(), stop()));
  }

  private int end(int code, String problem, String remedy) {
    concluded.set(true);
    screen.println("polis: " + problem);
    screen.println("polis: next: " + remedy);
    return code;
  }

  private String again() {
    return command("up --nodes " + nodes);
  }

  private String stop() {
    return command("down") + " ends all nodes";
  }

  private String ctl(String words) {
    return "%s ctl%s %s".formatted(polis, state(), words);
  }

  private String command(String words) {
    return "%s %s%s".formatted(polis, words, state());
  }

  private String state() {
    return defaultBase ? "" : " --state " + CtlName.quoted(folder);
  }

  private static int columns() {
    boolean terminal = System.console() != null && System.console().isTerminal();
    String columns = System.getenv().getOrDefault("COLUMNS", "");
    return !terminal ? 0 : columns.matches("[1-9][0-9]{1,3}") ? Integer.parseInt(columns) : COLUMNS;
  }
}
