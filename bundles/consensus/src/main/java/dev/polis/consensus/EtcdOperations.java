package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusOverview.OperatorFiles;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdSnapshot;
import dev.polis.etcd.EtcdStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does what an operator orders at etcd, through the local member. Each order uses a connection of
 * its own, and root's access. Thread-safe.
 */
final class EtcdOperations {

  /** The time for the next part of a snapshot, of which a busy disk delays the first most. */
  private static final Duration PART = Duration.ofSeconds(30);

  /** Takes the parts of a snapshot. */
  @FunctionalInterface
  interface Reader {
    void take(EtcdSnapshot.Part part) throws InterruptedException;
  }

  /**
   * Describes an alarm.
   *
   * @param member the name of the member that raised it; empty if it is no member any more
   * @param remedy the step before the alarm is cleared
   */
  record Alarm(EtcdAlarm alarm, String member, String remedy) {}

  /**
   * Holds the sizes of a database.
   *
   * @param before its bytes before the defragmentation
   * @param after its bytes now
   */
  record Sizes(long before, long after) {}

  private final MemberState state;
  private final ConsensusFiles files;
  private final long quota;
  private final ReentrantLock defragmenting = new ReentrantLock();

  EtcdOperations(MemberState state, ConsensusFiles files, long quota) {
    this.state = state;
    this.files = files;
    this.quota = quota;
  }

  /** Asks all members for their status. */
  MemberSurvey survey() throws InterruptedException {
    return MemberSurvey.of(state.root());
  }

  /** Returns the size of the local member's database at which etcd refuses writes. */
  long quota() {
    return quota;
  }

  /** Returns the files with the operator's credentials. */
  OperatorFiles operatorFiles() {
    return ConsensusPki.operatorFiles(files);
  }

  /** Reads a snapshot of the local member. */
  void snapshot(Reader reader) throws InterruptedException {
    try (EtcdClient client = EtcdClient.connect(state.root());
        EtcdSnapshot snapshot = client.admin().snapshot(client.admin().endpoints().getFirst())) {
      for (Optional<EtcdSnapshot.Part> part = snapshot.next(PART);
          part.isPresent();
          part = snapshot.next(PART)) {
        reader.take(part.get());
      }
    }
  }

  /**
   * Defragments one member's database.
   *
   * @throws ConsensusException if another member is being defragmented, or a voter is away
   */
  Sizes defragment(long memberId) throws InterruptedException {
    if (!defragmenting.tryLock()) {
      throw new ConsensusException(
          "another member is being defragmented; only one at a time does without service");
    }
    try {
      EtcdAccess root = state.root();
      MemberSurvey survey = MemberSurvey.of(root);
      MemberSurvey.Answer answer = required(survey, memberId);
      try (EtcdClient client =
          EtcdClient.connect(root.through(List.of(MemberSurvey.endpoint(answer.member()))))) {
        EtcdAdmin admin = client.admin();
        admin.defragment(admin.endpoints().getFirst());
        return new Sizes(
            answer.status().orElseThrow().databaseBytes(),
            admin.status(admin.endpoints().getFirst()).databaseBytes());
      }
    } finally {
      defragmenting.unlock();
    }
  }

  private static MemberSurvey.Answer required(MemberSurvey survey, long memberId) {
    String id = Long.toHexString(memberId);
    MemberSurvey.Answer answer =
        survey
            .find(memberId)
            .orElseThrow(
                () ->
                    new ConsensusException(
                        "etcd has no member %s; polisctl etcd members lists them".formatted(id)));
    if (answer.status().isEmpty()) {
      throw new ConsensusException("member %s is away: %s".formatted(id, answer.error()));
    }
    List<String> silent = survey.silentBeside(memberId);
    if (!silent.isEmpty()) {
      throw new ConsensusException(
          "member %s serves no call while it is defragmented, and %s did not answer; start that node first, so that the others keep a quorum"
              .formatted(id, String.join(" and ", silent)));
    }
    return answer;
  }

  /** Returns all alarms. */
  List<Alarm> alarms() throws InterruptedException {
    EtcdAccess root = state.root();
    try (EtcdClient client = EtcdClient.connect(root)) {
      return alarms(client.admin(), MemberSurvey.of(root));
    }
  }

  private static List<Alarm> alarms(EtcdAdmin admin, MemberSurvey survey)
      throws InterruptedException {
    return admin.alarms().stream()
        .map(
            alarm ->
                new Alarm(
                    alarm,
                    survey.find(alarm.memberId()).map(each -> each.member().name()).orElse(""),
                    ConsensusHealth.remedy(alarm.kind())))
        .toList();
  }

  /**
   * Clears the alarms whose causes are gone.
   *
   * @param corrupt whether it also clears the alarm of members whose records differ
   * @return the cleared ones
   * @throws ConsensusException if a database has no room yet; then none is cleared
   */
  List<Alarm> disarm(boolean corrupt) throws InterruptedException {
    EtcdAccess root = state.root();
    try (EtcdClient client = EtcdClient.connect(root)) {
      MemberSurvey survey = MemberSurvey.of(root);
      List<Alarm> wanted =
          alarms(client.admin(), survey).stream()
              .filter(each -> corrupt || each.alarm().kind() != EtcdAlarm.Kind.CORRUPT)
              .toList();
      for (Alarm each : wanted) {
        requireRoom(each, survey);
      }
      List<Alarm> cleared = new ArrayList<>();
      for (Alarm each : wanted) {
        client.admin().disarm(each.alarm());
        cleared.add(each);
      }
      return cleared;
    }
  }

  private void requireRoom(Alarm alarm, MemberSurvey survey) {
    Optional<EtcdStatus> status =
        survey.find(alarm.alarm().memberId()).flatMap(MemberSurvey.Answer::status);
    if (alarm.alarm().kind() == EtcdAlarm.Kind.NOSPACE
        && status.filter(full -> !EtcdMaintenance.hasRoom(full, quota)).isPresent()) {
      throw new ConsensusException(
          "the database of %s has %d bytes, and the quota is %d; %s"
              .formatted(alarm.member(), status.get().databaseBytes(), quota, alarm.remedy()));
    }
  }

  /** Returns whether an order may succeed soon without another step of an operator. */
  boolean isStarting() {
    return state.isStarting();
  }

  /** Explains a failure of etcd during an order. */
  static String text(EtcdException failed) {
    return "etcd does not do that: " + failed.getMessage();
  }
}
