package dev.polis.consensus;

import dev.polis.etcd.EtcdMember;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.SelfCheck;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks whether the etcd of this node works now, as its clients see it: its port opens, its
 * cluster has a leader, the other members are in contact, and its disk writes and is not slow. One
 * thread uses it.
 */
final class MemberContact implements SelfCheck.Look {

  /** What another member answers. */
  sealed interface Answer {
    /** Returns the fault; empty for a member that works. */
    default Optional<Fault> fault() {
      return switch (this) {
        case Works _ -> Optional.empty();
        case Fault fault -> Optional.of(fault);
        case Unreached(Fault fault) -> Optional.of(fault);
      };
    }
  }

  /** Says that no connection to a member opens; the other members may reach it nevertheless. */
  record Unreached(Fault found) implements Answer {}

  /**
   * Says that a member works.
   *
   * @param leader the id of the leader that it follows; 0 without one
   */
  record Works(long leader) implements Answer {}

  /**
   * Describes a part that does not work, and what an operator does about it.
   *
   * @param lost whether a member with this fault cannot vote for a leader
   */
  record Fault(String text, String remedy, boolean lost) implements Answer {
    Fault(String text, String remedy) {
      this(text, remedy, true);
    }
  }

  /**
   * Describes the members of a start.
   *
   * @param voters their number at the last check, this one included
   * @param faults those whose ports do not open, with the reasons
   */
  record Start(int voters, List<Fault> faults) {
    Start {
      faults = List.copyOf(faults);
    }
  }

  /** Asks the running etcd and the other members. */
  interface Etcd {
    /** Returns etcd's own figures; empty if it does not give them now. */
    Optional<EtcdFigures> figures();

    /** Returns why etcd's port for clients does not answer; empty if it does. */
    Optional<Fault> ownPort() throws InterruptedException;

    /** Returns what a thread of etcd waits for that no signal ends; empty if none does now. */
    Optional<String> stuck();

    /** Returns the id of this member; 0 while etcd has not told it. */
    long ownId();

    /** Returns the members, this one included; empty while etcd does not name them. */
    List<EtcdMember> members() throws InterruptedException;

    /** Asks another member for its leader, or finds why it has no contact. */
    Answer ask(EtcdMember member) throws InterruptedException;

    /** Returns the names of the members whose nodes have a lease in etcd. */
    Set<String> living() throws InterruptedException;

    /** Asks the members of the last check, while etcd names none. */
    Start start();
  }

  /** The time of a fault before it is reported: elections and restarts of etcd take a few s. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * The time for which an answer of another member counts. A question costs that member a new
   * connection and a line in its log.
   */
  private static final Duration ASKED = Duration.ofMinutes(1);

  /**
   * The time after which a node that does not run has no lease: its lease ends after 10 s, and a
   * new leader of etcd gives each lease its whole time again.
   */
  private static final Duration LEASES_END = Duration.ofSeconds(30);

  /** The remedy if enough members answer. */
  static final String ELECTION =
      "wait a minute, as an election may run; then polisctl node logs --dn root.consensus of each member says what etcd does";

  private static final String PATH =
      "nft list ruleset on both machines shows a rule that drops packets between them: remove it; without one, repair the path between both (cables, switches, routes: ip route get, ping)";

  private static final String ALONE =
      "; if most members are lost for ever, polisctl etcd members prints the command with which this node continues alone";

  private static final String LEADERLESS = "leader";
  private static final String CLOSED = "port";
  private static final String HANGS = "disk";
  private static final String STARTING = "start";
  private static final String NO_FIGURES = "figures";

  /** Holds the begin of a fault by both clocks: an operator may set the one that people read. */
  private record Begin(long nanos, Instant at) {}

  private final Etcd etcd;
  private final BooleanSupplier serving;
  private final InstantSource clock;
  private final LongSupplier nanoTime;
  private final Map<String, Begin> since = new HashMap<>();
  private final DiskSpeed disk;
  private final Map<Long, Answer> answers = new HashMap<>();
  private Start start; // null while it has not been asked
  private Object askedAbout = ""; // the state of etcd to which the answers belong
  private long askedSince;
  private long syncs; // the ended waits for the disk at the last look

  /**
   * @param serving whether etcd has answered its organ in this run
   * @param clock the clock that people read
   * @param nanoTime a monotonic clock
   */
  MemberContact(Etcd etcd, BooleanSupplier serving, InstantSource clock, LongSupplier nanoTime) {
    this.etcd = etcd;
    this.serving = serving;
    this.clock = clock;
    this.nanoTime = nanoTime;
    this.disk = new DiskSpeed(nanoTime);
  }

  @Override
  public Optional<HealthCondition> look() throws InterruptedException {
    Optional<EtcdFigures> found = etcd.figures();
    forgetAnswers(found);
    boolean mute = lasts(NO_FIGURES, found.isEmpty());
    boolean starting = lasts(STARTING, waits(found));
    if (mute || starting) {
      since.keySet().retainAll(Set.of(NO_FIGURES, STARTING)); // nothing is known of other faults
    }
    if (starting) {
      return starting();
    }
    if (found.isEmpty() || waits(found)) {
      // The supervision of the process reports the silence of an etcd that has answered before.
      return Optional.empty();
    }
    EtcdFigures now = found.get();
    Optional<String> slow = disk.slow(now);
    Optional<Fault> closed = etcd.ownPort();
    if (lasts(CLOSED, closed.isPresent())) {
      since.keySet().retainAll(Set.of(CLOSED));
      return Optional.of(
          new HealthCondition(
                  level(), "etcd-port-closed", closed.get().text(), closed.get().remedy())
              .dueTo("consensus"));
    }
    Optional<String> stuck = stuck(now);
    if (lasts(HANGS, stuck.isPresent())) {
      since.keySet().retainAll(Set.of(HANGS));
      return Optional.of(hangs(stuck.get()));
    }
    List<EtcdMember> all = etcd.members();
    List<EtcdMember> members = all.stream().filter(EtcdMember::hasStarted).toList();
    List<EtcdMember> silent =
        others(members)
            .filter(each -> lasts(each.hexId(), !now.active().contains(each.hexId())))
            .toList();
    if (lasts(LEADERLESS, !now.leader())) {
      return Optional.of(leaderless(all));
    }
    if (now.leader() && !silent.isEmpty()) {
      return Optional.of(silent(members, silent));
    }
    return slow.map(text -> HealthCondition.degraded("etcd-disk-slow", text, DiskSpeed.REMEDY));
  }

  /**
   * Returns what a thread of etcd waits for in the kernel. One that is seen to wait at each look
   * uses a busy disk, unless none of its waits has ended in between.
   */
  private Optional<String> stuck(EtcdFigures now) {
    boolean still = now.syncs() == syncs;
    syncs = now.syncs();
    return still ? etcd.stuck() : Optional.empty();
  }

  private HealthCondition hangs(String stuck) {
    return new HealthCondition(
            level(),
            "etcd-disk-hangs",
            "the disk of etcd has not ended a write since %s: %s; so this member takes no writes, and the other members, if there are any, do without it"
                .formatted(at(HANGS), stuck),
            DiskSpeed.HANGS)
        .dueTo("consensus");
  }

  /** Returns whether etcd has not served yet and waits for a leader: its port is closed before. */
  private boolean waits(Optional<EtcdFigures> figures) {
    return !serving.getAsBoolean() && figures.filter(EtcdFigures::leader).isEmpty();
  }

  private Stream<EtcdMember> others(List<EtcdMember> members) {
    long own = etcd.ownId();
    return members.stream().filter(each -> each.id() != own);
  }

  /** Returns whether a fault is there and has lasted for the patience. */
  private boolean lasts(String fault, boolean there) {
    if (!there) {
      since.remove(fault);
      return false;
    }
    long now = nanoTime.getAsLong();
    Begin begin = since.computeIfAbsent(fault, _ -> new Begin(now, clock.instant()));
    return now - begin.nanos() >= PATIENCE.toNanos();
  }

  /** Forgets the members' answers once they are old, or once etcd's own view has changed. */
  private void forgetAnswers(Optional<EtcdFigures> figures) {
    Object state = figures.map(now -> List.of(now.leader(), now.active()));
    long now = nanoTime.getAsLong();
    if (!state.equals(askedAbout) || now - askedSince >= ASKED.toNanos()) {
      answers.clear();
      start = null;
      askedAbout = state;
      askedSince = now;
    }
  }

  private Answer ask(EtcdMember member) throws InterruptedException {
    Answer answer = answers.get(member.id());
    if (answer == null) {
      answer = etcd.ask(member);
      answers.put(member.id(), answer);
    }
    return answer;
  }

  /** Returns the level of an etcd that does not serve: one that starts waits for the others. */
  private HealthLevel level() {
    return serving.getAsBoolean() ? HealthLevel.DOWN : HealthLevel.WAITING;
  }

  /** Reports a start that waits for members; one that has enough of them is reading its disk. */
  private Optional<HealthCondition> starting() {
    if (start == null) {
      start = etcd.start();
    }
    List<Fault> faults = start.faults();
    return isQuorum(start.voters(), faults.size())
        ? Optional.empty()
        : Optional.of(
            new HealthCondition(
                    level(),
                    "etcd-no-quorum",
                    "etcd has waited for other members since %s%s"
                        .formatted(at(STARTING), join(faults).text()),
                    join(faults).remedy() + ALONE)
                .dueTo("consensus"));
  }

  /**
   * Reports that there is no leader, unless the others have one: then it is not the quorum that is
   * lost.
   */
  private HealthCondition leaderless(List<EtcdMember> members) throws InterruptedException {
    for (EtcdMember each : others(members).filter(EtcdMember::hasStarted).toList()) {
      long leader = ask(each) instanceof Works(long id) ? id : 0;
      Optional<EtcdMember> unreached =
          others(members)
              .filter(other -> other.id() == leader && other.id() != each.id())
              .findAny();
      if (unreached.isPresent() && ask(unreached.get()).fault().filter(Fault::lost).isPresent()) {
        return cutOff(unreached.get(), each);
      }
    }
    return withoutQuorum(members);
  }

  private HealthCondition cutOff(EtcdMember leader, EtcdMember witness) {
    return new HealthCondition(
            level(),
            "etcd-cut-off",
            "etcd has had no leader since %s, and the other members have one: %s (%s) leads, and %s reaches it; only this machine does not, so the path between both is cut, or a firewall on one of them drops the packets"
                .formatted(
                    at(LEADERLESS),
                    leader.name(),
                    String.join(", ", leader.peerUrls()),
                    witness.name()),
            PATH + "; this node then continues by itself")
        .dueTo("consensus");
  }

  /**
   * Reports that no member has a leader; a connection without packets may still seem to be open.
   */
  private HealthCondition withoutQuorum(List<EtcdMember> members) throws InterruptedException {
    List<Fault> faults = new ArrayList<>();
    long lost = 0;
    for (EtcdMember each : others(members).toList()) {
      Optional<Fault> found = each.hasStarted() ? ask(each).fault() : Optional.of(added(each));
      found.ifPresent(fault -> faults.add(each.hasStarted() ? named(each, fault) : fault));
      lost += !each.learner() && found.filter(Fault::lost).isPresent() ? 1 : 0;
    }
    long voters = voters(members);
    boolean election = isQuorum(voters, lost);
    if (election) {
      faults.addFirst(new Fault("", ELECTION));
    }
    return new HealthCondition(
            level(),
            "etcd-no-quorum",
            "etcd has had no leader since %s, so it takes no writes; %s%s"
                .formatted(at(LEADERLESS), count(voters, lost), join(faults).text()),
            join(faults).remedy() + (election ? "" : ALONE))
        .dueTo("consensus");
  }

  private HealthCondition silent(List<EtcdMember> members, List<EtcdMember> silent)
      throws InterruptedException {
    List<Fault> faults = new ArrayList<>();
    for (EtcdMember each : silent) {
      Fault found = silent(each);
      faults.add(
          named(
              each,
              new Fault("since %s: %s".formatted(at(each.hexId()), found.text()), found.remedy())));
    }
    return HealthCondition.degraded(
            "etcd-member-silent",
            "etcd works without %d of its members; %s%s"
                .formatted(
                    silent.size(), count(voters(members), voters(silent)), join(faults).text()),
            join(faults).remedy())
        .dueTo("consensus");
  }

  /** Returns why a member is silent; one whose node has a lease runs, and reaches the leader. */
  private Fault silent(EtcdMember member) throws InterruptedException {
    Answer answer = ask(member);
    long silence = nanoTime.getAsLong() - since.get(member.hexId()).nanos();
    if (answer instanceof Unreached(Fault found)
        && silence >= LEASES_END.toNanos()
        && etcd.living().contains(member.name())) {
      return new Fault(
          "its node renews its lease in etcd, so it runs and reaches the leader; only between it and this machine the path is cut, or a firewall on one of them drops the packets (%s)"
              .formatted(String.join(", ", member.peerUrls())),
          PATH,
          found.lost());
    }
    return answer.fault().orElse(new Fault("it answers, and does not connect itself", ELECTION));
  }

  /** Returns that a member counts for the quorum since it was added, although it never started. */
  private static Fault added(EtcdMember member) {
    return new Fault(
        "the member at %s was added to etcd and has never started"
            .formatted(String.join(", ", member.peerUrls())),
        "start that member");
  }

  private static Fault named(EtcdMember member, Fault fault) {
    String text = (fault.lost() ? "no contact to %s, %s" : "%s, %s");
    return new Fault(text.formatted(member.name(), fault.text()), fault.remedy(), fault.lost());
  }

  private static boolean isQuorum(long voters, long lost) {
    return lost == 0 || voters - lost > voters / 2;
  }

  private static long voters(List<EtcdMember> members) {
    return members.stream().filter(each -> !each.learner()).count();
  }

  /** Returns how many voters are in contact with this one. */
  private static String count(long voters, long lost) {
    return "voters in contact: %d of %d, and %d must be"
        .formatted(voters - lost, voters, voters / 2 + 1);
  }

  /** Joins texts and remedies, without repetitions. */
  private static Fault join(List<Fault> faults) {
    return new Fault(
        faults.stream()
            .map(Fault::text)
            .filter(text -> !text.isEmpty())
            .map("; "::concat)
            .collect(Collectors.joining()),
        faults.stream().map(Fault::remedy).distinct().collect(Collectors.joining("; ")));
  }

  private Instant at(String fault) {
    return since.get(fault).at().truncatedTo(ChronoUnit.SECONDS);
  }
}
