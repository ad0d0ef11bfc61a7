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

    /** Returns why a member has no contact; empty for one that answers, and for this one. */
    Optional<Fault> ask(EtcdMember member) throws InterruptedException;

    /** Returns the members of the last start whose ports do not open, with the reasons. */
    List<Fault> unreached();
  }

  /** The time of a fault before it is reported: elections and restarts of etcd take a few s. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The remedy if each member answers. */
  private static final String ELECTION =
      "wait a minute, as an election may run; then polisctl node logs --dn root.consensus of each member says what etcd does";

  private static final String ALONE =
      "; if most members are lost for ever, polisctl etcd members prints the command with which this node continues alone";

  private static final String LEADERLESS = "leader";
  private static final String CLOSED = "port";
  private static final String STARTING = "start";

  private final Etcd etcd;
  private final BooleanSupplier serving;
  private final InstantSource clock;
  private final Map<String, Instant> since = new HashMap<>();
  private final DiskSpeed disk = new DiskSpeed();

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
    Optional<String> slow = disk.slow(now);
    Optional<Fault> closed = etcd.ownPort();
    if (lasts(CLOSED, closed.isPresent())) {
      return Optional.of(
          new HealthCondition(
                  level(), "etcd-port-closed", closed.get().text(), closed.get().remedy())
              .dueTo("consensus"));
    }
    List<EtcdMember> members = etcd.members().stream().filter(EtcdMember::hasStarted).toList();
    List<EtcdMember> silent =
        members.stream()
            .filter(each -> lasts(each.hexId(), now.silent().contains(each.hexId())))
            .toList();
    if (lasts(LEADERLESS, !now.leader())) {
      return Optional.of(leaderless(members));
    }
    if (now.leader() && !silent.isEmpty()) {
      return Optional.of(silent(members, silent));
    }
    return slow.map(text -> HealthCondition.degraded("etcd-disk-slow", text, DiskSpeed.REMEDY));
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

  /** Reports that there is no leader; a connection without packets may still seem to be open. */
  private HealthCondition leaderless(List<EtcdMember> members) throws InterruptedException {
    List<Fault> faults = new ArrayList<>();
    long voters = 0;
    long lost = 0;
    for (EtcdMember each : members) {
      Optional<Fault> found = etcd.ask(each);
      found.ifPresent(fault -> faults.add(named(each, fault)));
      voters += each.learner() ? 0 : 1;
      lost += found.isPresent() && !each.learner() ? 1 : 0;
    }
    return new HealthCondition(
            level(),
            "etcd-no-quorum",
            "etcd has had no leader since %s, so it takes no writes; %s%s"
                .formatted(at(LEADERLESS), count(voters, lost), join(faults).text()),
            faults.isEmpty() ? ELECTION : join(faults).remedy() + ALONE)
        .dueTo("consensus");
  }

  private HealthCondition silent(List<EtcdMember> members, List<EtcdMember> silent)
      throws InterruptedException {
    List<Fault> faults = new ArrayList<>();
    for (EtcdMember each : silent) {
      Fault found =
          etcd.ask(each).orElse(new Fault("it answers, and does not connect itself", ELECTION));
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

  private static Fault named(EtcdMember member, Fault fault) {
    return new Fault("no contact to %s, %s".formatted(member.name(), fault.text()), fault.remedy());
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
        faults.stream().map(each -> "; " + each.text()).collect(Collectors.joining()),
        faults.stream().map(Fault::remedy).distinct().collect(Collectors.joining("; ")));
  }

  private Instant at(String fault) {
    return since.get(fault).truncatedTo(ChronoUnit.SECONDS);
  }
}
