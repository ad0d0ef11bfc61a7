package dev.polis.network;

import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.network.TimeServers;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.files.layout.Root;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.Account;
import dev.polis.process.ChildOwner;
import dev.polis.process.ChildPlan;
import dev.polis.process.Commands;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.process.ProgramPath;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Keeps the machine's clock by a child process, chronyd, and publishes what that follows. Its owner
 * calls {@link #keep}, {@link #pause} and {@link #resume} one at a time.
 *
 * <p>chronyd has no port and no socket for orders. What it follows is in a file that it writes,
 * {@link Tracking}.
 */
final class MachineClock {

  /** The name of the process. */
  static final String PROCESS = "chronyd";

  /**
   * Holds what a test does otherwise.
   *
   * @param program the path of chronyd or of its folder; empty to search PATH
   * @param server the options of each server
   * @param arguments more arguments of chronyd
   * @param silent the time after the last answer of a server that ends {@link
   *     ClockStatus.Synchronised}
   * @param patience the time for the first answer
   */
  record Pace(
      String program, String server, List<String> arguments, Duration silent, Duration patience) {

    /**
     * Asks at once four times, then each 64 to 256 s: public servers want no more, and a clock is
     * wrong by some milliseconds after such a time. A server that has missed four questions is
     * silent.
     */
    static final Pace DEFAULT =
        new Pace(
            "",
            "iburst minpoll 6 maxpoll 8",
            List.of(),
            Duration.ofMinutes(20),
            ClockStatus.PATIENCE);
  }

  /** Holds what the clock uses. */
  record Parts(Subtree subtree, ProcessManager processes, Root root, Value<NetworkStatus> network) {
    Path folder() {
      return root.ephemeral().clock().path();
    }

    Path pid() {
      return folder().resolve("pid");
    }

    /** Returns the path of a file that exists after the clock has followed a server once. */
    Path followed() {
      return folder().resolve("followed");
    }
  }

  /** The pause between looks: short while the enrolment waits. */
  private static final Duration SOON = Duration.ofMillis(250);

  private static final Duration LATER = Duration.ofSeconds(5);

  /** A status with another offset alone is published as seldom, since a person reads it. */
  private static final Duration AGAIN = Duration.ofMinutes(10);

  private static final Duration NOTICED = Duration.ofSeconds(1);

  /** The time for a name: a resolver asks a silent name server again after 5 s. */
  private static final Duration NAME = Duration.ofSeconds(8);

  /** Less than the 4 s after which a swap is refused. */
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  /** chronyd is not asked whether it answers: a hung one is a silent one. */
  private static final ChildPlan.Patience UNASKED =
      ChildPlan.Patience.of(Duration.ofHours(1), Duration.ofHours(1));

  private final Parts parts;
  private final Pace pace;
  private final MutableValue<ClockStatus> status =
      new MutableValue<>(new ClockStatus.NotKept("", ""));
  private volatile long began = System.nanoTime(); // when the servers were asked first
  private ClockServers servers = new ClockServers(List.of(), true);
  private Subtree running; // null unless the clock is kept

  MachineClock(Parts parts, Pace pace) {
    this.parts = parts;
    this.pace = pace;
  }

  Value<ClockStatus> status() {
    return status;
  }

  /**
   * Follows other servers from now on.
   *
   * @param owned whether the clock is this node's
   */
  void keep(boolean owned, ClockServers wanted) throws InterruptedException {
    Optional<ClockStatus> obstacle = obstacle(owned, wanted);
    if (obstacle.isEmpty() && running != null && wanted.equals(servers)) {
      return;
    }
    pause();
    servers = wanted;
    if (obstacle.isPresent()) {
      parts.processes().stop(PROCESS);
      status.set(obstacle.get());
    } else {
      start();
    }
  }

  /** Returns the reason why the clock is not kept; empty if it is. */
  private Optional<ClockStatus> obstacle(boolean owned, ClockServers wanted) {
    if (!owned) {
      return Optional.of(
          wanted.isEmpty()
              ? new ClockStatus.NotKept("", "")
              : new ClockStatus.NotKept(
                  "time servers are named (%s), but this node does not keep the clock of its machine, which has another owner"
                      .formatted(wanted.words()),
                  "nothing, if the machine has a time service of its own; a node that is alone on its machine keeps the clock with --set dev.polis.network.clock=true"));
    }
    if (wanted.isEmpty()) {
      return Optional.of(
          new ClockStatus.NotKept(
              "nothing keeps the clock of this machine, because no time server is named, and DHCP offers none",
              "name some: polisctl config set dev.polis.network.time.servers=NAME,NAME, or for a new node polisctl params make --time-server NAME"));
    }
    return program().isPresent()
        ? Optional.empty()
        : Optional.of(
            new ClockStatus.NotKept(
                "nothing keeps the clock of this machine, because "
                    + ProgramPath.problem(pace.program(), PROCESS),
                "install the package chrony"));
  }

  private Optional<Path> program() {
    return ProgramPath.find(pace.program(), List.of(PROCESS));
  }

  private void start() {
    began = System.nanoTime();
    status.set(searching());
    running = parts.subtree().subtree("clock");
    running.run(PROCESS, this::run);
    running.run("status", this::follow);
  }

  private ClockStatus searching() {
    return new ClockStatus.Searching("asking " + servers.words(), false);
  }

  /** Ends the supervision for a successor; chronyd keeps running. */
  void pause() {
    if (running != null) {
      running.close(StopReason.CODE_REPLACED, PATIENCE);
      running = null;
    }
  }

  /** Continues after a successor that has failed. */
  void resume(boolean owned) throws InterruptedException {
    keep(owned, servers);
  }

  // ---- the child

  private void run(Context context) throws Exception {
    // Without an address chronyd would find no server, and ask again only after half a minute.
    try (Watcher<NetworkStatus> watcher = parts.network().watch()) {
      watcher.get(now -> now.address().isPresent());
    }
    Path program = program().orElseThrow();
    parts.root().ephemeral().clock().create();
    parts.root().letOthersPass();
    parts.root().ephemeral().letOthersPass();
    ChildOwner owner =
        ChildOwner.of(Account.CHRONYD, program, parts.root().ephemeral().path(), true);
    owner.give(parts.root().ephemeral().clock(), parts.processes(), PROCESS);
    if (owner.isHeldBack()) {
      context.log().warning("%s runs as root: %s", PROCESS, owner.obstacle());
    }
    if (!parts.processes().lives(PROCESS)) {
      // The number of a process that has been killed may be another's now.
      Files.deleteIfExists(parts.pid());
      Files.deleteIfExists(Tracking.file(parts.folder()));
      began = System.nanoTime();
    }
    ProcessSpec spec = ProcessSpec.of(PROCESS, owner.clockCommand(command(program)));
    new ProcessTask(
            parts.processes(), new ChildPlan(spec, this::hasStarted, UNASKED, LineConverter.raw()))
        .run(context);
  }

  private boolean hasStarted(ManagedProcess process) throws IOException {
    return Files.exists(parts.pid())
        && Files.readString(parts.pid()).strip().equals(Long.toString(process.pid()));
  }

  /** Returns the command, whose arguments are the whole configuration. */
  private List<String> command(Path program) {
    List<String> command = new ArrayList<>(List.of(program.toString(), "-d", "-U", "-u", "root"));
    command.addAll(List.of("-F", "1")); // only the system calls that it needs
    command.addAll(pace.arguments());
    boolean sets = servers.chosen() || !Files.exists(parts.followed());
    command.addAll(directives(parts.folder(), servers.names(), pace.server(), sets));
    return command;
  }

  /**
   * Returns the configuration. The first three comparisons may set the clock by any time, a machine
   * without a clock of its own begins in 1970. After that it runs faster or slower than the machine
   * by two thousandths at most, three minutes in a day, whatever the servers say.
   *
   * @param sets whether it may set the clock: servers that the link offers, which a false DHCP
   *     server changes as often as it likes, set it at most once after a start of the machine
   */
  static List<String> directives(Path folder, List<String> servers, String options, boolean sets) {
    List<String> directives = new ArrayList<>();
    servers.forEach(server -> directives.add("server " + server + " " + options));
    if (sets) {
      directives.add("makestep 1 3");
    }
    directives.addAll(
        List.of(
            "port 0",
            "cmdport 0",
            "bindcmdaddress /",
            "maxslewrate 1000",
            "maxdrift 1000",
            "rtcsync",
            "driftfile " + folder.resolve("drift"),
            "pidfile " + folder.resolve("pid"),
            "logdir " + folder,
            "log tracking",
            "logbanner 0"));
    return directives;
  }

  // ---- the status

  private void follow(Context context) throws Exception {
    context.healthy();
    while (true) {
      boolean late = System.nanoTime() - began > pace.patience().toNanos();
      publish(look(late, context.log()));
      boolean known = late || status.peek().orElseThrow() instanceof ClockStatus.Synchronised;
      Thread.sleep(known ? LATER : SOON);
    }
  }

  private void publish(ClockStatus now) throws IOException {
    if (now instanceof ClockStatus.Synchronised && !Files.exists(parts.followed())) {
      Files.createFile(parts.followed());
    }
    ClockStatus before = status.peek().orElseThrow();
    boolean same =
        before instanceof ClockStatus.Synchronised old
                && now instanceof ClockStatus.Synchronised next
            ? old.server().equals(next.server())
                && old.offset().minus(next.offset()).abs().compareTo(NOTICED) < 0
                && Duration.between(old.at(), next.at()).abs().compareTo(AGAIN) < 0
            : before.equals(now);
    if (!same) {
      status.set(now);
    }
  }

  private ClockStatus look(boolean late, Log log) throws IOException, InterruptedException {
    List<Tracking> last = Tracking.last(parts.folder());
    Optional<Tracking> answer = last.reversed().stream().filter(Tracking::follows).findFirst();
    if (answer.isPresent()) {
      Tracking tracking = answer.get();
      boolean young = Duration.between(tracking.at(), Instant.now()).compareTo(pace.silent()) < 0;
      return young && last.getLast().follows()
          ? new ClockStatus.Synchronised(tracking.server(), tracking.offset(), tracking.at())
          : new ClockStatus.Searching(
              "the last answer of a time server came at %s, from %s; the servers are %s"
                  .formatted(tracking.at(), tracking.server(), servers.words()),
              true);
    }
    if (!late) {
      return searching();
    }
    List<String> unknown = new ArrayList<>();
    for (String server : servers.names()) {
      if (!TimeServers.isAddress(server) && !isKnown(server, log)) {
        unknown.add(server);
      }
    }
    return new ClockStatus.Searching(
        unknown.isEmpty()
            ? "no time server answers as most of them do: " + servers.words()
            : "no name server knows the time server " + String.join(", ", unknown),
        true);
  }

  /** Asks for a name as chronyd does, by a program, since a silent name server takes seconds. */
  private static boolean isKnown(String name, Log log) throws InterruptedException {
    try {
      return new Commands().run(NAME, List.of("getent", "ahosts", name)).ok();
    } catch (IOException e) {
      log.warning("cannot tell whether %s is known: %s", name, e.getMessage());
      return false;
    }
  }
}
