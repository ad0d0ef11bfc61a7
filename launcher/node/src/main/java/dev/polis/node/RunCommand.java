package dev.polis.node;

import dev.polis.boot.StopReason;
import dev.polis.node.BootProgress.Ending;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.store.CheckedNotes;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.swap.KeptTrust;
import dev.polis.posix.Machine;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.osgi.framework.BundleException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Runs a node until it is stopped. */
@Command(name = "run", description = "Run a node until it is stopped.")
final class RunCommand implements Callable<Integer> {
  /** A width that every terminal has, when the environment names none. */
  private static final int COLUMNS = 80;

  /** A terminal and a wrapper may both pass on one keystroke. */
  private static final Duration ONE_KEYSTROKE = Duration.ofMillis(500);

  /** What the process does after a fatal error. */
  enum OnFatal {
    exit,
    park
  }

  @Mixin private NodeOptions node;

  @Option(names = "--until-home", description = "Power off as soon as the node is home.")
  private boolean untilHome;

  @Option(
      names = "--next",
      paramLabel = "TEXT",
      defaultValue = "",
      description = "Printed when the node is home: what to do then.")
  private String next;

  @Option(
      names = "--home-within",
      paramLabel = "SECONDS",
      defaultValue = "0",
      description = "Fail if the node is not home by then; 0 waits for ever.")
  private long homeWithin;

  @Option(
      names = "--on-fatal",
      paramLabel = "POLICY",
      description =
          "What to do after a fatal error: ${COMPLETION-CANDIDATES}. Default: exit; park as process 1.")
  private OnFatal onFatal = Machine.isFirstProcess() ? OnFatal.park : OnFatal.exit;

  @Option(
      names = "--starter",
      paramLabel = "PROGRAM",
      description =
          "Starts this node again after \"polisctl node restart\": gets the folder of the JVM and these arguments. Default: this very command line.")
  private Path starterOrNull;

  /** The key that came on standard input; null if none was asked for. */
  private RecoveryKeyInput recoveryKeyOrNull;

  @Override
  public Integer call() throws Exception {
    PrintStream out =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    Terminal terminal = new Terminal(out, columns());
    // What organs print must not break the live line.
    System.setOut(terminal.stream());
    NodeDirectory directory = NodeDirectory.of(node.state);
    if (node.asksForRecoveryKey()) {
      RecoveryKeyInput key = RecoveryKeyInput.take();
      System.setIn(key);
      recoveryKeyOrNull = key;
    }
    Ending ending;
    try (StateLock _ = StateLock.take(directory)) {
      ending = start(directory, terminal);
    } catch (BundleException | IOException e) {
      throw new DiskRefusal(directory).of(e);
    }
    if (ending instanceof Ending.Restart) {
      ProcessRestart.replace(Optional.ofNullable(starterOrNull));
    }
    return Exit.OK;
  }

  private Ending start(NodeDirectory directory, Terminal terminal) throws Exception {
    Distribution distribution = Distribution.own();
    directory.prepare();
    Node.takeCrash(directory).ifPresent(crash -> terminal.line("the last run crashed: " + crash));
    PluginStore store = PluginStore.open(directory.plugins());
    GenerationAtStart start = new GenerationAtStart(store, terminal::line);
    Generation generation;
    NodeBundles bundles;
    try (LibraryDigests.Check libraries =
        distribution.libraries().start(new CheckedNotes(directory.checkedLibraries()))) {
      generation = start.choose(distribution.seed(store, terminal::line));
      generation =
          new TrustAtStart(
                  store,
                  distribution,
                  KeptTrust.open(store, terminal::line).roots(),
                  terminal::line)
              .allowed(generation);
      bundles = load(distribution, store, generation, terminal);
      libraries.await();
    }
    Map<String, Dictionary<String, Object>> configuration =
        node.configuration(
            ConfigurationKeys.read(bundles.files().values()),
            generation,
            distribution.manifestDigests(),
            terminal::line);
    return run(directory, bundles, configuration, start, terminal);
  }

  private static NodeBundles load(
      Distribution distribution, PluginStore store, Generation generation, Terminal terminal)
      throws Refusal, IOException {
    try {
      return NodeBundles.load(store, generation, distribution.systemPackages());
    } catch (Refusal damaged) {
      if (!(damaged.getCause() instanceof PluginStoreException)) {
        throw damaged;
      }
      terminal.line(damaged.getMessage());
      distribution.restore(store, generation);
      NodeBundles restored = NodeBundles.load(store, generation, distribution.systemPackages());
      terminal.line("the bundles were restored from " + distribution.folder());
      return restored;
    }
  }

  private Ending run(
      NodeDirectory directory,
      NodeBundles bundles,
      Map<String, Dictionary<String, Object>> configuration,
      GenerationAtStart start,
      Terminal terminal)
      throws Exception {
    try (BootScreen screen = new BootScreen(terminal)) {
      BootProgress progress =
          new BootProgress(System::nanoTime, screen, () -> lockOut(directory, terminal));
      Optional.ofNullable(recoveryKeyOrNull).ifPresent(key -> progress.home().thenRun(key::wipe));
      progress.home().thenRun(start::cameUp);
      handleSignals(directory, progress, terminal);
      List<AutoCloseable> duties = new ArrayList<>();
      if (Machine.isFirstProcess()) {
        duties.add(Pid1Duties.take(terminal::line));
      } else if (ProcessHandle.current().children().findAny().isPresent()) {
        // Children of the program that this process ran before its restart: the JDK waits for none.
        ChildReaper reaper = new ChildReaper(ChildTable.ofKernel(), terminal::line);
        reaper.start();
        duties.add(reaper);
      }
      screen.follow(progress);
      Ending ending =
          new Node(
                  directory,
                  bundles,
                  configuration,
                  new Node.Policy(untilHome, next, Duration.ofSeconds(homeWithin)),
                  terminal,
                  progress)
              .run();
      attempt(() -> Files.deleteIfExists(directory.home()), terminal);
      if (!(ending instanceof Ending.Fatal)) {
        start.cameUp();
      }
      conclude(directory, ending, terminal);
      for (AutoCloseable duty : duties) {
        duty.close();
      }
      return ending;
    }
  }

  private void conclude(NodeDirectory directory, Ending ending, Terminal terminal)
      throws Exception {
    if (ending instanceof Ending.Fatal fatal) {
      attempt(() -> Node.keepCrash(directory, fatal, Instant.now()), terminal);
      String next =
          onFatal == OnFatal.park
              ? "The node is parked. Restart the machine to try again."
              : "The node ends. Start it again when the cause is gone.";
      FatalErrorReport.lines(fatal.organ(), fatal.cause(), next).forEach(terminal::line);
      if (onFatal == OnFatal.park) {
        new CountDownLatch(1).await();
      }
      throw new Refusal(
          Exit.FAILED, fatal.organ() + ": " + RootCause.of(fatal.cause()), fatal.cause());
    }
    terminal.line("stopped");
  }

  /** A write to the state directory at the end of a run. */
  private interface LastWrite {
    void write() throws IOException;
  }

  /**
   * Writes, and prints a failure instead of throwing it: the root cause must stay the last line.
   */
  private static void attempt(LastWrite last, Terminal terminal) {
    try {
      last.write();
    } catch (IOException e) {
      terminal.line("this end is not recorded for the next start: " + e);
    }
  }

  private static Optional<String> lockOut(NodeDirectory directory, Terminal terminal) {
    try {
      return LockOut.of(directory);
    } catch (IOException e) {
      terminal.line("whether the data volume can be opened again is not known: " + e);
      return Optional.empty();
    }
  }

  private static void handleSignals(
      NodeDirectory directory, BootProgress progress, Terminal terminal) {
    // SIGHUP comes when the terminal of a node in the foreground closes. A JVM that was started
    // with it ignored, as under nohup, goes on ignoring it.
    for (String name : List.of("TERM", "HUP")) {
      Signals.on(name, signal -> stop(signal, directory, progress, terminal));
    }
    AtomicLong first = new AtomicLong();
    Signals.on(
        "INT",
        signal -> {
          long now = System.nanoTime();
          if (first.compareAndSet(0, now)) {
            interrupted(progress, terminal);
          } else if (Duration.ofNanos(now - first.get()).compareTo(ONE_KEYSTROKE) > 0) {
            terminal.line("stopped by force; children and mounts are left to the next start");
            Runtime.getRuntime().halt(Exit.FORCED);
          }
        });
  }

  /** Powers off, unless that would lock the owner out: then the volume stays mounted. */
  private static void interrupted(BootProgress progress, Terminal terminal) {
    Optional<String> lockOut = progress.lockOut();
    terminal.line("stopping; once more to end at once");
    lockOut.ifPresent(
        reason -> terminal.line("children and mounts stay for the next start, because " + reason));
    progress.stop(lockOut.isEmpty() ? StopReason.POWER_OFF : StopReason.PROCESS_RESTART);
  }

  /** Stops the node as a signal asks for it, and prints which signal that was. */
  private static void stop(
      String signal, NodeDirectory directory, BootProgress progress, Terminal terminal) {
    boolean powerOff = Files.exists(directory.powerOff());
    terminal.line(
        "SIG%s received: stopping; children and mounts %s"
            .formatted(signal, powerOff ? "end, too" : "stay for the next start"));
    progress.stop(powerOff ? StopReason.POWER_OFF : StopReason.PROCESS_RESTART);
  }

  private static int columns() {
    boolean terminal = System.console() != null && System.console().isTerminal();
    String columns = System.getenv().getOrDefault("COLUMNS", "");
    return !terminal ? 0 : columns.matches("[1-9][0-9]{1,3}") ? Integer.parseInt(columns) : COLUMNS;
  }
}
