package dev.polis.consensus;

import dev.polis.base.boot.Wait;
import dev.polis.health.HealthCondition;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.process.Child;
import dev.polis.process.ChildOwner;
import dev.polis.process.ChildPlan;
import dev.polis.process.ChildProgram;
import dev.polis.process.LockHolder;
import dev.polis.process.ManagedProcess;
import dev.polis.process.PortHolder;
import dev.polis.process.ProcessSpec;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Describes etcd as a child process: its command, its readiness, and the effects of its silence and
 * its end.
 */
final class EtcdProcess implements ChildProgram {

  /** The name of the process, and of the journal below the organ's for its output. */
  static final String NAME = "etcd";

  /** The code of the condition of an etcd that does not answer. */
  static final String SILENT = "etcd-silent";

  /** The code of the condition of an etcd that waits for a file that another process has locked. */
  static final String LOCKED = "etcd-locked";

  /** The limits of etcd's silence; on a busy machine it may miss two checks. */
  private static final ChildPlan.Patience PATIENCE =
      ChildPlan.Patience.of(Duration.ofSeconds(2), Duration.ofSeconds(5));

  /**
   * The time to end. etcd ends its calls in milliseconds, and then waits six seconds for the
   * watches of its clients, which end with it alone; meanwhile it answers nothing. A killed etcd
   * has all that it acknowledged on its disk, and its leadership was handed over before.
   */
  private static final Duration GRACE = Duration.ofMillis(500);

  private record Port(String setting, InetAddress address, int number) {
    String taken(PortHolder holders) throws IOException {
      String other =
          "start the node with another --address, or set dev.polis.consensus.%s".formatted(setting);
      return holders
          .conflict(address, number, other)
          .map(why -> "; %s %s:%d: %s".formatted(setting, address.getHostAddress(), number, why))
          .orElse("");
    }
  }

  private final MemberParts parts;
  private final PreparedMember member;
  private final Wait wait;
  private String problem = "the node has not asked it yet";

  private final LockHolder locks = new LockHolder();
  private final DiskSpeed disk = new DiskSpeed(System::nanoTime);

  private EtcdProcess(MemberParts parts, PreparedMember member, Wait wait) {
    this.parts = parts;
    this.member = member;
    this.wait = wait;
  }

  /**
   * Starts etcd, or adopts a running etcd with the same command line.
   *
   * @param wait gets the reason why etcd is not ready
   */
  static Child start(MemberParts parts, PreparedMember member, Wait wait)
      throws InterruptedException {
    ProcessSpec spec = spec(parts, member.line(), member.owner());
    return Child.start(
        parts.processes(),
        new ChildPlan(spec, new EtcdProcess(parts, member, wait), PATIENCE, new EtcdConverter()));
  }

  /**
   * Starts the run of etcd that makes the member the only one of its cluster.
   *
   * @param copy the directory of a copy of its data
   * @param wait gets the reason why etcd is not ready
   */
  static Child startForced(MemberParts parts, PreparedMember member, Path copy, Wait wait)
      throws InterruptedException {
    EtcdCommandLine line = member.line();
    ProcessSpec spec = spec(parts, line.binary(), line.forcedArguments(copy), member.owner());
    return Child.start(
        parts.processes(),
        new ChildPlan(spec, new EtcdProcess(parts, member, wait), PATIENCE, new EtcdConverter()));
  }

  /** Returns the description of the process for this command line and this owner of its files. */
  static ProcessSpec spec(MemberParts parts, EtcdCommandLine line, ChildOwner owner) {
    return spec(parts, line.binary(), line.arguments(), owner);
  }

  private static ProcessSpec spec(
      MemberParts parts, EtcdBinary binary, List<String> arguments, ChildOwner owner) {
    return ProcessSpec.of(NAME, arguments)
        // Go's runtime needs no more of the environment, and etcd would read flags from the rest.
        .withEnvironment(Map.of("HOME", parts.files().etcd().path().toString()))
        .withDirectory(parts.files().sockets().path())
        .withAccount(owner.account())
        .withFingerprint(binary.digest())
        .withGrace(GRACE);
  }

  /** Returns whether etcd reports that it is healthy. */
  @Override
  public boolean ready(ManagedProcess etcd) {
    Optional<String> silent = EtcdHttp.problem(etcd);
    Optional<HealthCondition> locked = silent.flatMap(_ -> locked(etcd));
    locked.ifPresentOrElse(parts.health()::set, () -> parts.health().clear(LOCKED));
    silent.ifPresent(
        text -> {
          problem = locked.map(EtcdProcess::text).orElse(text);
          wait.detail(problem);
        });
    return silent.isEmpty();
  }

  /** Finds another process for whose lock of a data file etcd waits without an end. */
  private Optional<HealthCondition> locked(ManagedProcess etcd) {
    return locks.find(dataFiles(), OptionalLong.of(etcd.pid())).map(EtcdProcess::locked);
  }

  /** Returns the files that etcd locks before it uses them. */
  private List<Path> dataFiles() {
    Path member = data().resolve("member");
    List<Path> files = new ArrayList<>(List.of(member.resolve("snap/db")));
    try (DirectoryStream<Path> log = Files.newDirectoryStream(member.resolve("wal"), "*.wal")) {
      log.forEach(files::add);
    } catch (IOException | DirectoryIteratorException notYet) {
      return files;
    }
    return files;
  }

  private static HealthCondition locked(LockHolder.Lock lock) {
    return HealthCondition.down(
        LOCKED,
        "etcd waits for its file %s, which %s holds locked".formatted(lock.file(), lock.holder()),
        "end that process, and etcd continues by itself; nothing is damaged");
  }

  private static String text(HealthCondition condition) {
    return condition.reason() + ": " + condition.remedy();
  }

  @Override
  public boolean answers(ManagedProcess etcd) {
    return EtcdHttp.answers(etcd);
  }

  @Override
  public String lastWords(ManagedProcess etcd) {
    return EtcdExitDiagnosis.of(etcd.log(), etcd.logStart(), data());
  }

  @Override
  public String hint(ManagedProcess etcd) throws IOException {
    return etcd.running() ? "; " + problem + EtcdExitDiagnosis.cutOff(data()) : takenPorts();
  }

  private Path data() {
    return parts.files().etcd().data().path();
  }

  @Override
  public void silent(ManagedProcess etcd, String text, boolean answered) {
    Optional<String> slow = EtcdHttp.figures(etcd).flatMap(disk::slow);
    parts
        .health()
        .set(
            HealthCondition.down(
                SILENT,
                text + slow.map("; "::concat).orElse(""),
                slow.isPresent() ? DiskSpeed.REMEDY : PATIENCE.remedy()));
  }

  @Override
  public void heard() {
    parts.health().clear(SILENT);
  }

  private String takenPorts() throws IOException {
    PortHolder holders = new PortHolder();
    StringBuilder taken = new StringBuilder();
    for (Port port :
        List.of(
            new Port("client.port", member.address(), parts.settings().clientPort()),
            new Port("peer.port", member.address(), parts.settings().peerPort()))) {
      taken.append(port.taken(holders));
    }
    return taken.toString();
  }
}
