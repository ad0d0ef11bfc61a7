package dev.polis.node;

import dev.polis.base.boot.StopReason;
import dev.polis.base.posix.Machine;
import dev.polis.node.BootProgress.Ending;
import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.node.exit.RootCause;
import dev.polis.node.init.ChildReaper;
import dev.polis.node.init.ChildTable;
import dev.polis.node.init.Pid1Duties;
import dev.polis.node.init.Signals;
import dev.polis.node.options.NodeOptions;
import dev.polis.node.options.RecoveryKeyInput;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.store.CheckedNotes;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.swap.KeptTrust;
import dev.polis.process.ProcessException;
import dev.polis.process.ProcessRecords;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
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
@Command(
    name = "run",
    mixinStandardHelpOptions = true,
    description = "Run a node until it is stopped.")
final class RunCommand implements Callable<Integer> {
  /** A width that every terminal has, when the environment names none. */
  private static final int COLUMNS = 80;

  /** A terminal and a wrapper may both pass on one keystroke. */
  private static final Duration ONE_KEYSTROKE = Duration.ofMillis(500);

  /** Lists the actions after a fatal error. */
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
      description = "Printed when the node is HOME: the next commands.")
  private String next;

  @Option(
      names = "--home-within",
      paramLabel = "SECONDS",
      defaultValue = "0",
      description = "Fail if the node is not HOME within this time; 0 waits for ever.")
  private long homeWithin;

  @Option(
      names = "--stop-within",
      paramLabel = "SECONDS",
      description =
          "How long the organs may take to stop; then the process writes the hanging parts into the crash record and ends. Default: ${DEFAULT-VALUE}.")
  private long stopWithin = StopLimit.DEFAULT.toSeconds();

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

  @Option(
      names = "--watchdog",
      paramLabel = "DEVICE",
      description =
          "Device that restarts the machine if the node answers no calls, such as /dev/watchdog0. It stays armed when the node ends.")
  private Path watchdogOrNull;

  /** The key that came on standard input; null if none was asked for. */
  private RecoveryKeyInput recoveryKeyOrNull;

  /** Holds the standard error of the start; set before the node starts. */
  private StartErrors errors;

  /** Notes that the end of the run is in the crash record, or was to be. */
  private boolean recorded;

  @Override
  public Integer call() throws Exception {
    PrintStream out =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    Terminal terminal = new Terminal(out, columns());
    // What organs print must not break the live line.
    System.setOut(terminal.stream());
    NodeDirectory directory = NodeDirectory.of(node.state());
    if (node.asksForRecoveryKey()) {
      RecoveryKeyInput key = RecoveryKeyInput.take();
      System.setIn(key);
      recoveryKeyOrNull = key;
    }
    Ending ending;
    try (StateLock _ = lock(directory);
        StartErrors held = StartErrors.hold()) {
      errors = held;
      ending = startOrNote(directory, terminal);
    }
    if (ending instanceof Ending.Restart) {
      ProcessRestart.replace(Optional.ofNullable(starterOrNull));
    }
    return Exit.OK;
  }

  private static MemoryKills memoryKills(NodeDirectory directory) {
    return new MemoryKills(directory, Path.of("/"));
  }

  private static StateLock lock(NodeDirectory directory) throws Exception {
    try {
      return StateLock.take(directory);
    } catch (IOException e) {
      throw new DiskRefusal(directory).of(e);
    }
  }

  /** Starts, and notes for polisctl why a start was refused that made no crash record. */
  private Ending startOrNote(NodeDirectory directory, Terminal terminal) throws Exception {
    try {
      return start(directory, terminal);
    } catch (PluginStoreException | Refusal | BundleException | IOException e) {
      Exception failure = e instanceof PluginStoreException ? new Refusal(e.getMessage(), e) : e;
      Exception refusal = new DiskRefusal(directory).of(failure);
      if (!recorded) {
        String why = RootCause.of(refusal);
        attempt(() -> Node.noteRefusal(directory, Instant.now() + " " + why), terminal);
      }
      // A refusal has its own words already, which name the file.
      throw failure instanceof Refusal ? failure : refusal;
    } catch (RuntimeException e) {
      throw crashed(directory, "launcher", new DiskRefusal(directory).of(e), terminal);
    } catch (Error e) {
      throw crashed(directory, "launcher", e, terminal);
    } finally {
      attempt(() -> memoryKills(directory).end(), terminal);
    }
  }

  private Ending start(NodeDirectory directory, Terminal terminal) throws Exception {
    Distribution distribution = Distribution.own();
    directory.prepare();
    JvmError.record(directory);
    memoryKills(directory).begin();
    Optional<String> lastCrash = Node.takeCrash(directory);
    lastCrash.ifPresent(crash -> terminal.line("the last run crashed: " + crash));
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
      if (distribution.restoreManifests(store)) {
        terminal.line("manifests of plugins were restored from " + distribution.folder());
      }
      libraries.await();
    }
    Map<String, Dictionary<String, Object>> configuration =
        node.configuration(
            ConfigurationKeys.read(bundles.files().values()),
            generation,
            distribution.manifestDigests(),
            terminal::line);
    return run(directory, bundles, configuration, start, lastCrash, terminal);
  }

  private static NodeBundles load(
      Distribution distribution, PluginStore store, Generation generation, Terminal terminal)
      throws Refusal, PluginStoreException, IOException {
    try {
      return NodeBundles.load(store, generation, distribution.systemPackages());
    } catch (PluginStoreException damaged) {
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
      Optional<String> lastCrash,
      Terminal terminal)
      throws Exception {
    try (BootScreen screen = new BootScreen(terminal)) {
      BootProgress progress =
          new BootProgress(System::nanoTime, screen, () -> lockOut(directory, terminal), lastCrash);
      Optional.ofNullable(recoveryKeyOrNull).ifPresent(key -> progress.home().thenRun(key::wipe));
      progress.home().thenRun(start::cameUp);
      progress.home().thenRun(errors::release);
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
      Watchdog watchdog = Watchdog.open(Optional.ofNullable(watchdogOrNull), terminal::line);
      duties.add(watchdog);
      screen.follow(progress);
      Ending ending =
          new Node(
                  directory,
                  bundles,
                  configuration,
                  new Node.Policy(
                      untilHome,
                      next,
                      Duration.ofSeconds(homeWithin),
                      Duration.ofSeconds(stopWithin),
                      watchdog::feed,
                      why -> endHung(why, terminal)),
                  terminal,
                  errors,
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
      throw crashed(directory, fatal.organ(), fatal.cause(), terminal);
    }
    terminal.line("stopped");
  }

  /**
   * Writes the crash record, and parks if that is configured.
   *
   * @return the refusal whose message becomes the last line
   */
  private Refusal crashed(NodeDirectory directory, String organ, Throwable cause, Terminal terminal)
      throws InterruptedException {
    String held = errors.take();
    String record = FatalErrorReport.recordOfStart(Instant.now(), organ, cause, held);
    boolean kept = attempt(() -> Node.keepCrash(directory, record), terminal);
    if (!kept) {
      held.lines().forEach(terminal::line);
    }
    recorded = true;
    if (onFatal == OnFatal.park) {
      FatalErrorReport.screen(organ, cause).forEach(terminal::line);
      new CountDownLatch(1).await();
    }
    FatalErrorReport.lines(organ, cause).forEach(terminal::line);
    terminal.line("the node ends" + (kept ? "; the whole record is in " + directory.crash() : ""));
    childrenLeft(directory).ifPresent(terminal::line);
    return new Refusal(Exit.FAILED, organ + ": " + RootCause.of(cause), cause);
  }

  /** Returns the processes that a failed start leaves running, and the command that ends them. */
  private static Optional<String> childrenLeft(NodeDirectory directory) {
    try {
      String alive = ProcessRecords.alive(directory.processes());
      return alive.isEmpty()
          ? Optional.empty()
          : Optional.of(
              "%s: runs on for the next start; \"polis down --state %s\" ends it"
                  .formatted(alive, directory.root()));
    } catch (ProcessException e) {
      return Optional.of("the other processes that still run are unknown: " + e.getMessage());
    }
  }

  /** Ends this process, whose organs do not stop, in the way that was asked for. */
  private void endHung(Ending why, Terminal terminal) {
    errors.release();
    if (why instanceof Ending.Restart) {
      try {
        ProcessRestart.replace(Optional.ofNullable(starterOrNull));
      } catch (IOException e) {
        terminal.line("the process can not be started over: " + RootCause.of(e));
      }
    }
    boolean powerOff = why.equals(new Ending.Asked(StopReason.POWER_OFF));
    if (Machine.isFirstProcess()) {
      Pid1Duties.endMachine(powerOff ? Exit.OK : Exit.FAILED, terminal::line);
    }
    Runtime.getRuntime().halt(Exit.FAILED);
  }

  /** A write to the state directory at the end of a run. */
  private interface LastWrite {
    void write() throws IOException;
  }

  /**
   * Writes, and prints a failure instead of throwing it: the root cause must stay the last line.
   *
   * @return whether it was written
   */
  private static boolean attempt(LastWrite last, Terminal terminal) {
    try {
      last.write();
      return true;
    } catch (IOException e) {
      terminal.line("this end is not recorded for the next start: " + RootCause.of(e));
      return false;
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
    Signals.on("TERM", signal -> stop(signal, directory, progress, terminal));
    // SIGHUP comes when the terminal of a node in the foreground closes. A JVM that was started
    // with it ignored, as under nohup, keeps ignoring it.
    boolean mayHangUp = Signals.hasTerminal();
    Signals.on(
        "HUP",
        signal -> {
          if (mayHangUp) {
            stop(signal, directory, progress, terminal);
          } else {
            terminal.line(
                "SIGHUP received, which does nothing: this node has no terminal that could close, and no file to read again; \"polisctl config set\" changes settings, SIGTERM stops it");
          }
        });
    AtomicLong first = new AtomicLong();
    Signals.on(
        "INT",
        signal -> {
          long now = System.nanoTime();
          if (first.compareAndSet(0, now)) {
            attempt(() -> noteEnd(signal, directory), terminal);
            interrupted(progress, terminal);
          } else if (Duration.ofNanos(now - first.get()).compareTo(ONE_KEYSTROKE) > 0) {
            terminal.line("stopped by force; children and mounts are left to the next start");
            attempt(() -> memoryKills(directory).end(), terminal);
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
    if (!powerOff) {
      attempt(() -> noteEnd(signal, directory), terminal);
    }
    progress.stop(powerOff ? StopReason.POWER_OFF : StopReason.PROCESS_RESTART);
  }

  /** Notes for polisctl which signal ends this run. */
  private static void noteEnd(String signal, NodeDirectory directory) throws IOException {
    Files.writeString(
        directory.endedBy(),
        "SIG%s %s\n".formatted(signal, Instant.now().truncatedTo(ChronoUnit.SECONDS)),
        StandardCharsets.US_ASCII);
  }

  private static int columns() {
    boolean terminal = System.console() != null && System.console().isTerminal();
    String columns = System.getenv().getOrDefault("COLUMNS", "");
    return !terminal ? 0 : columns.matches("[1-9][0-9]{1,3}") ? Integer.parseInt(columns) : COLUMNS;
  }
}
