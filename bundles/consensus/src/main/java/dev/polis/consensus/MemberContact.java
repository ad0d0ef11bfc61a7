package dev.polis.consensus;

import dev.polis.etcd.EtcdMember;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.SelfCheck;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Checks whether the etcd of this node works now, as its clients see it: its port opens, its
 * cluster has a leader, the other members are in contact, and its disk is not slow. One thread uses
 * it.
 */
final class MemberContact implements SelfCheck.Look {

  /** Describes a part that does not work, and what an operator does about it. */
  record Fault(String text, String remedy) {}

  /** Asks the running etcd and the other members. */
  interface Etcd {
    /** Returns etcd's own figures; empty if it does not give them now. */
    Optional<EtcdFigures> figures();

    /** Returns why etcd's port for clients does not answer; empty if it does. */
    Optional<Fault> ownPort() throws InterruptedException;

    /** Returns the members, this one included; empty while etcd does not name them. */
    List<EtcdMember> members() throws InterruptedException;

    /** Returns why a member has no contact. */
    Fault ask(EtcdMember silent) throws InterruptedException;

    /** Returns the members of the last start whose ports do not open, with the reasons. */
    List<Fault> unreached();
  }

  /** The time of a fault before it is reported: elections and restarts of etcd take a few s. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The pages over which the speed of the disk is measured: half a minute of checks. */
  private static final int PAGES = 6;

  /** The folder's disk is this node's, so the remedy needs no address. */
  static final String DISK =
      "iostat -x 1 shows what uses the disk, dmesg whether it fails: end that, or give data/etcd a faster disk";

  // The names of faults that belong to no other member; a member has its id in hexadecimal.
  private static final String ALONE =
      "; if most members are lost for ever, polisctl etcd members prints the command with which this node continues alone";

  private static final String LEADERLESS = "leader";
  private static final String CLOSED = "port";
  private static final String STARTING = "start";

  private final Etcd etcd;
  private final BooleanSupplier serving;
  private final InstantSource clock;
  private final Map<String, Instant> since = new HashMap<>();
  private final Deque<EtcdFigures> pages = new ArrayDeque<>();

  /**
   * @param serving whether etcd has answered its organ in this run
   */
  MemberContact(Etcd etcd, BooleanSupplier serving, InstantSource clock) {
    this.etcd = etcd;
    this.serving = serving;
    this.clock = clock;
  }

  @Override
  public Optional<HealthCondition> look() throws InterruptedException {
    Optional<EtcdFigures> found = etcd.figures();
    if (found.isEmpty()) {
      // The supervision of the process reports the silence of an etcd that has answered before.
      return lasts(STARTING, !serving.getAsBoolean()) ? starting() : Optional.empty();
    }
    EtcdFigures now = found.get();
    pages.addLast(now);
    if (pages.size() > PAGES) {
      pages.removeFirst();
    }
    Optional<Fault> closed = etcd.ownPort();
    if (lasts(CLOSED, closed.isPresent())) {
      return Optional.of(
          new HealthCondition(
                  level(), "etcd-port-closed", closed.get().text(), closed.get().remedy())
              .dueTo("consensus"));
    }
    List<EtcdMember> members = etcd.members();
    List<EtcdMember> silent =
        members.stream().filter(each -> lasts(each.hexId(), isSilent(now, each))).toList();
    if (lasts(LEADERLESS, !now.leader())) {
      return Optional.of(leaderless(members, silent));
    }
    if (now.leader() && !silent.isEmpty()) {
      return Optional.of(silent(members, silent));
    }
    return now.slowSince(pages.getFirst())
        .map(text -> HealthCondition.degraded("etcd-disk-slow", text, DISK));
  }

  private static boolean isSilent(EtcdFigures now, EtcdMember member) {
    return member.hasStarted() && now.silent().contains(member.hexId());
  }

  /** Returns whether a fault is there and has lasted for the patience. */
  private boolean lasts(String fault, boolean there) {
    if (!there) {
      since.remove(fault);
      return false;
    }
    Instant now = clock.instant();
    Instant begin = since.computeIfAbsent(fault, _ -> now);
    return !now.isBefore(begin.plus(PATIENCE));
  }

  /** Returns the level of an etcd that does not serve: one that starts waits for the others. */
  private HealthLevel level() {
    return serving.getAsBoolean() ? HealthLevel.DOWN : HealthLevel.WAITING;
  }

  /** Reports a start that waits for members; etcd opens no port before it has found a leader. */
  private Optional<HealthCondition> starting() {
    List<Fault> faults = etcd.unreached();
    return faults.isEmpty()
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

  private HealthCondition leaderless(List<EtcdMember> members, List<EtcdMember> silent)
      throws InterruptedException {
    Fault found = describe(silent);
    return new HealthCondition(
            level(),
            "etcd-no-quorum",
            "etcd has had no leader since %s, so it takes no writes; %s%s"
                .formatted(at(LEADERLESS), count(members, silent), found.text()),
            found.remedy() + ALONE)
        .dueTo("consensus");
  }

  private HealthCondition silent(List<EtcdMember> members, List<EtcdMember> silent)
      throws InterruptedException {
    Fault found = describe(silent);
    return HealthCondition.degraded(
            "etcd-member-silent",
            "etcd works without %d of its members; %s%s"
                .formatted(silent.size(), count(members, silent), found.text()),
            found.remedy())
        .dueTo("consensus");
  }

  /** Returns how many voters are in contact with this one. */
  private static String count(List<EtcdMember> members, List<EtcdMember> silent) {
    long voters = members.stream().filter(each -> !each.learner()).count();
    long lost = silent.stream().filter(each -> !each.learner()).count();
    return "%d of %d voters are in contact, and %d must be"
        .formatted(voters - lost, voters, voters / 2 + 1);
  }

  /** Returns what is known of each silent member. */
  private Fault describe(List<EtcdMember> silent) throws InterruptedException {
    List<Fault> faults = new ArrayList<>();
    for (EtcdMember each : silent) {
      Fault found = etcd.ask(each);
      faults.add(
          new Fault(
              "since %s none to %s at %s".formatted(at(each.hexId()), each.name(), found.text()),
              found.remedy()));
    }
    return join(faults);
  }

  /** Joins texts and remedies, without repetitions. */
  private static Fault join(List<Fault> faults) {
    return new Fault(
        faults.stream().map(each -> "; " + each.text()).collect(Collectors.joining()),
        faults.stream().map(Fault::remedy).distinct().collect(Collectors.joining("; ")));
  }

  private Instant at(String fault) {
    return since.get(fault).truncatedTo(ChronoUnit.SECONDS);
  }
}
