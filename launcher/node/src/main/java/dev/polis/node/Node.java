package dev.polis.node;

import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import dev.polis.node.BootProgress.Ending;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Dictionary;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.osgi.framework.BundleException;

/** Runs a node once, from the start of the framework to its end. */
final class Node {
  /**
   * The boot polls the components for failures once in this time until the node is home: soon
   * enough for a person, rare enough to cost nothing.
   */
  private static final Duration LOOK = Duration.ofSeconds(1);

  /** After this long without HOME, the node prints what is missing, and the errors until then. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * Holds the options of a run.
   *
   * @param untilHome power off as soon as the node is home
   * @param next printed below the summary at home; may be empty
   * @param homeWithin give up if it is not home after this time; zero waits for ever
   * @param stopWithin how long its organs may take to stop; then the process ends
   * @param alive is called every few seconds while the node answers calls
   * @param hung ends the process of a node that does not stop; gets why it was to stop
   */
  record Policy(
      boolean untilHome,
      String next,
      Duration homeWithin,
      Duration stopWithin,
      Runnable alive,
      Consumer<Ending> hung) {}

  private final NodeDirectory directory;
  private final NodeBundles bundles;
  private final Map<String, Dictionary<String, Object>> configuration;
  private final Policy policy;
  private final Terminal terminal;
  private final StartErrors errors;
  private final BootProgress progress;
  private final long began = System.nanoTime();

  Node(
      NodeDirectory directory,
      NodeBundles bundles,
      Map<String, Dictionary<String, Object>> configuration,
      Policy policy,
      Terminal terminal,
      StartErrors errors,
      BootProgress progress) {
    this.directory = directory;
    this.bundles = bundles;
    this.configuration = configuration;
    this.policy = policy;
    this.terminal = terminal;
    this.errors = errors;
    this.progress = progress;
  }

  /**
   * Boots, serves until the end is reported, and stops.
   *
   * @return why it ended
   * @throws BundleException if the framework itself does not start
   * @throws InterruptedException if interrupted; the framework may still run then
   */
  Ending run() throws BundleException, InterruptedException {
    NodeFramework framework =
        NodeFramework.start(
            directory.frameworkCache(),
            bundles.systemPackages(),
            directory.configuration(),
            progress,
            terminal::line);
    Thread boot = Thread.ofPlatform().name("boot").start(() -> boot(framework));
    try {
      Ending ending = awaitEnding();
      if (ending instanceof Ending.Restart) {
        announceRestart();
      }
      return ending;
    } finally {
      boot.interrupt();
      progress.stopsAfterFatal();
      try (StopLimit _ =
          new StopLimit(
              directory,
              progress,
              policy.stopWithin(),
              terminal,
              () -> policy.hung().accept(progress.endingNow()))) {
        framework.stop(bundles.plan(), progress, terminal::line);
        boot.join();
      }
    }
  }

  /** Waits for the end, and looks meanwhile whether the node still answers. */
  private Ending awaitEnding() throws InterruptedException {
    Pulse pulse = new Pulse(directory, terminal, System::nanoTime, policy.alive());
    while (true) {
      Optional<Ending> ending = BootProgress.within(Pulse.PACE, progress.ending());
      if (ending.isPresent()) {
        return ending.get();
      }
      pulse.look();
    }
  }

  /**
   * Announces, before the listeners close, that this process starts over: a client that finds them
   * closed reads here for how long that may last.
   */
  private void announceRestart() {
    try {
      Files.writeString(directory.restarting(), ProcessHandle.current().pid() + "\n");
    } catch (IOException e) {
      terminal.line(
          "%s cannot be written (%s); callers may give up before the node has restarted"
              .formatted(directory.restarting(), e.getMessage()));
    }
  }

  private void boot(NodeFramework framework) {
    try {
      try (Wait wait = progress.waiting("start of the bundles")) {
        for (var entry : bundles.files().entrySet()) {
          framework.install(entry.getKey(), entry.getValue());
        }
        framework.resolve();
        framework.configure(bundles.plan(), configuration);
        framework.start(bundles.plan());
        wait.done("");
      }
      awaitHome(framework);
    } catch (InterruptedException e) {
      // The node ends; this thread has nothing else to do.
      Thread.currentThread().interrupt();
    } catch (BundleException | IOException e) {
      progress.fatal("boot", new DiskRefusal(directory).of(e));
    } catch (RuntimeException e) {
      progress.fatal("launcher", new DiskRefusal(directory).of(e));
    } catch (Error e) {
      // Such as a class that does not load: unreported, it would let the node wait for ever.
      progress.fatal("launcher", e);
    }
  }

  private void awaitHome(NodeFramework framework) throws InterruptedException, IOException {
    long reported = System.nanoTime();
    List<String> before = List.of();
    while (true) {
      Optional<String> home = BootProgress.within(LOOK, progress.home());
      if (home.isPresent()) {
        arrived(home.get());
        return;
      }
      Optional<ComponentFailure> failed = ComponentDiagnosis.failed(framework.context());
      if (failed.isPresent()) {
        progress.fatal(failed.get().organ(), failed.get());
        return;
      }
      if (policy.homeWithin().isPositive() && since(began).compareTo(policy.homeWithin()) > 0) {
        String awaited = BootScreen.describe(progress.openWaits());
        progress.fatal(
            "boot",
            new TimeoutException(
                "not home within "
                    + policy.homeWithin().toSeconds()
                    + " s; waited for "
                    + awaited));
        return;
      }
      if (since(reported).compareTo(PATIENCE) > 0) {
        errors.release();
        List<String> waiting = ComponentDiagnosis.waiting(framework.context());
        if (!waiting.equals(before)) {
          waiting.forEach(terminal::line);
        }
        before = waiting;
        reported = System.nanoTime();
      }
    }
  }

  private void arrived(String summary) throws IOException {
    terminal.line(
        String.format(Locale.ROOT, "HOME after %.1f s", since(began).toMillis() / 1000.0));
    summary.lines().forEach(terminal::line);
    policy.next().lines().forEach(terminal::line);
    Files.writeString(directory.home(), summary + "\n");
    Files.deleteIfExists(directory.restarting());
    if (policy.untilHome()) {
      progress.stop(StopReason.POWER_OFF);
    }
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }

  /**
   * Writes a crash record for the next boot.
   *
   * @throws IOException if there is no room for it, or none may write there; half a record is not
   *     left
   */
  static void keepCrash(NodeDirectory directory, String record) throws IOException {
    writeText(record, directory.crash(), directory.shownCrash());
  }

  /** Writes why a start was refused, for polisctl, until the next start. */
  static void noteRefusal(NodeDirectory directory, String why) throws IOException {
    writeText(why, directory.refused(), directory.crash());
  }

  /** Writes to a second place if the first cannot be written, which may be why the node ends. */
  private static void writeText(String text, Path first, Path second) throws IOException {
    try {
      Files.writeString(first, text);
    } catch (IOException e) {
      try {
        if (Files.isRegularFile(first)) {
          Files.delete(first);
        }
        Files.writeString(second, text);
      } catch (IOException neither) {
        e.addSuppressed(neither);
        throw e;
      }
    }
  }

  /**
   * Returns the first line of the last run's crash record, and where the whole record is from now
   * on: a crash is shown by one start.
   */
  static Optional<String> takeCrash(NodeDirectory directory) throws IOException {
    if (!Files.exists(directory.crash())) {
      return Optional.empty();
    }
    Optional<String> crash = firstLine(directory.crash());
    Path place = directory.shownCrash();
    try {
      Files.move(directory.crash(), place, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      place = directory.crash();
    }
    String where = " (the whole record is in " + place + ")";
    return crash.map(line -> line + where);
  }

  /** Returns the first line of a crash record; a damaged one may have bytes that are no text. */
  static Optional<String> firstLine(Path crash) throws IOException {
    return new String(Files.readAllBytes(crash), StandardCharsets.UTF_8).lines().findFirst();
  }
}
