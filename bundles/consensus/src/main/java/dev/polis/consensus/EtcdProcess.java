package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.boot.Wait;
import dev.polis.event.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.process.ChildOwner;
import dev.polis.process.LogTail;
import dev.polis.process.ManagedProcess;
import dev.polis.process.PortHolder;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessStatus;
import dev.polis.process.Silence;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * Starts or adopts etcd, waits until it is ready, and explains how it ended. Closing it leaves etcd
 * running. Belongs to one thread, except for {@link #deliverLog}.
 */
final class EtcdProcess implements AutoCloseable {

  /** The name of the process, and of the journal under the organ's that gets its lines. */
  static final String NAME = "etcd";

  // etcd opens its socket some 60 ms after its start, and answers there once it serves: only the
  // time until then is polled for, and a failed connection to a unix socket costs microseconds.
  private static final Duration READY_POLL = Duration.ofMillis(10);

  /** Each second one is looked for whether etcd ended, and each second time it is asked. */
  private static final int ASK_EVERY = 2;

  /** Two questions may be missed on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** As for the programs of Kubernetes: half of what a person would wait before a restart. */
  private static final Duration HANGING = Duration.ofSeconds(40);

  private static final String SILENT = "etcd-silent";

  private record Port(String setting, InetAddress address, int number) {
    String takenBy(String who) {
      return "; %s %s:%d is taken by %s: end it, or set %s of dev.polis.consensus"
          .formatted(setting, address.getHostAddress(), number, who, setting);
    }
  }

  private final MemberParts parts;
  private final PreparedMember member;
  private final ManagedProcess process;
  private final Watcher<ProcessStatus> status;
  private final Silence silence;
  private long looks;

  private EtcdProcess(MemberParts parts, PreparedMember member, ManagedProcess process) {
    this.parts = parts;
    this.member = member;
    this.process = process;
    this.status = process.status().watch();
    this.silence = new Silence(() -> EtcdHttp.answers(process));
  }

  /** Starts etcd, or adopts the one that runs from the same command line. */
  static EtcdProcess start(MemberParts parts, PreparedMember member) throws InterruptedException {
    return new EtcdProcess(
        parts, member, parts.processes().ensure(spec(parts, member.line(), member.owner())));
  }

  /** Returns how etcd is run from this command line, with files that are this owner's. */
  static ProcessSpec spec(MemberParts parts, EtcdCommandLine line, ChildOwner owner) {
    return ProcessSpec.of(NAME, line.arguments())
        // Go's runtime wants no more of the environment than this, and etcd reads flags from it.
        .withEnvironment(Map.of("HOME", parts.files().etcd().path().toString()))
        .withDirectory(parts.files().sockets().path())
        .withAccount(owner.account())
        .withFingerprint(line.binary().digest());
  }

  /** Returns what runs, for the log. */
  String text() {
    return "etcd %s %s as pid %d%s"
        .formatted(
            member.line().binary().version(),
            process.adopted() ? "adopted" : "started",
            process.pid(),
            member.owner().isHeldBack() ? ", as root: " + member.owner().obstacle() : "");
  }

  /** Delivers etcd's log to its journal until etcd ends. */
  void deliverLog(Context log) throws IOException, InterruptedException {
    try (LogTail tail = parts.processes().tail(process, parts.logName(), new EtcdConverter());
        Watcher<ProcessStatus> ending = process.status().watch()) {
      log.healthy();
      while (!hasEnded(ending, tail.pause())) {
        tail.poll();
      }
      tail.finish();
      log.done();
    }
  }

  /**
   * Waits until etcd is healthy, by its own account.
   *
   * @throws ConsensusException if it ends before, or takes longer than the settings allow
   */
  void awaitReady(Wait wait) throws InterruptedException, IOException {
    long deadline = System.nanoTime() + parts.settings().ready().toNanos();
    Optional<String> problem = EtcdHttp.problem(process);
    while (problem.isPresent()) {
      if (hasEnded(READY_POLL)) {
        throw endedBeforeReady();
      }
      if (System.nanoTime() > deadline) {
        throw late(problem.get());
      }
      wait.detail(problem.get());
      problem = EtcdHttp.problem(process);
    }
  }

  /** Waits for this long, or until etcd has ended; returns whether it has. */
  boolean hasEnded(Duration within) throws InterruptedException {
    return hasEnded(status, within);
  }

  private boolean hasEnded(Watcher<ProcessStatus> ending, Duration within)
      throws InterruptedException {
    try {
      ending.get(now -> !(now instanceof ProcessStatus.Running), within);
      return true;
    } catch (TimeoutException stillRunning) {
      return !process.running();
    }
  }

  /**
   * Asks now and then whether etcd answers, and publishes if it does not.
   *
   * @throws ConsensusException if it has hung for so long that it was ended
   */
  void requireAnswer() throws InterruptedException {
    looks++;
    if (looks % ASK_EVERY != 0) {
      return;
    }
    Duration silent = silence.ask();
    if (silent.isZero()) {
      parts.health().clear(SILENT);
    } else if (silent.compareTo(PATIENCE) > 0 && process.running()) {
      String text = Silence.text(NAME, Optional.of(process.pid()), silent);
      parts
          .health()
          .set(
              HealthCondition.down(
                  SILENT,
                  text,
                  "nothing: it is ended and started again after %d s of silence"
                      .formatted(HANGING.toSeconds())));
      if (silent.compareTo(HANGING) > 0) {
        process.stop();
        throw new ConsensusException(text + "; it was ended and is started again");
      }
    }
  }

  /** Returns the failure of an etcd that ended while it served. */
  ConsensusException endedWhileServing() {
    return new ConsensusException(
        "etcd (pid %d) ended: %s; its log says: %s"
            .formatted(process.pid(), howItEnded(), exitDiagnosis()));
  }

  private ConsensusException late(String problem) {
    return new ConsensusException(
        "etcd (pid %d) is not ready after %d s: %s; its log says: %s%s"
            .formatted(
                process.pid(),
                parts.settings().ready().toSeconds(),
                problem,
                exitDiagnosis(),
                EtcdExitDiagnosis.cutOff(parts.files().etcd().data().path())));
  }

  private ConsensusException endedBeforeReady() throws IOException {
    return new ConsensusException(
        "etcd ended before it was ready (%s)%s; its log says: %s"
            .formatted(howItEnded(), takenPorts(), exitDiagnosis()));
  }

  private String exitDiagnosis() {
    return EtcdExitDiagnosis.of(process.log(), parts.files().etcd().data().path());
  }

  private String howItEnded() {
    return process.status().peek().orElseThrow().text();
  }

  private String takenPorts() throws IOException {
    PortHolder holders = new PortHolder();
    StringBuilder taken = new StringBuilder();
    for (Port port :
        List.of(
            new Port("client.port", member.address(), parts.settings().clientPort()),
            new Port("peer.port", member.address(), parts.settings().peerPort()))) {
      Optional<String> holder = holders.find(port.address(), port.number());
      holder.ifPresent(who -> taken.append(port.takenBy(who)));
    }
    return taken.toString();
  }

  @Override
  public void close() {
    parts.health().clear(SILENT);
    status.close();
  }
}
