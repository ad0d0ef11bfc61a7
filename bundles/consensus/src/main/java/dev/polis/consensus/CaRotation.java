package dev.polis.consensus;

import dev.polis.base.values.Watcher;
import dev.polis.base.values.WatcherClosedException;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.files.FileException;
import dev.polis.logtree.Log;
import dev.polis.pki.CaBundle;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiAuthority.Succession;
import dev.polis.supervision.Context;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * Brings a voter to the CAs that the records in etcd want, and reports them.
 *
 * <pre>
 *   records     member: file written           etcd                         report
 *   PREPARED    ca.pem: former, new            starts again, in its turn    former, new
 *   ISSUING     ca-key.pem: the new one's      reads its new certificate    new, former
 *   ONE         ca.pem: new                    starts again, in its turn    new
 * </pre>
 *
 * <p>etcd reads the trusted CAs at its start, and its certificate at each handshake. Each step
 * replaces one file and asks for another run of the member, which takes all from the disk: after a
 * crash the next run is the same one. Members start etcd again in the order of their ids: each one
 * waits until those before it have reported, and all others answer, so there is a quorum.
 */
final class CaRotation {

  /** The interval of checks whether the others are up; nothing tells of that. */
  private static final Duration AGAIN = Duration.ofSeconds(1);

  private final PreparedMember member;
  private final MemberAccess access;
  private final EtcdAuthority records;
  private final MemberState state;
  private volatile CaBundle next; // the CAs of the next start of etcd; null while it needs none
  private volatile String due = "";
  private long held; // the last hand-over of another member for which writes were held; 0 before

  /**
   * @param root a client of the root namespace
   */
  CaRotation(PreparedMember member, MemberAccess access, EtcdClient root, MemberState state) {
    this.member = member;
    this.access = access;
    this.records = new EtcdAuthority(root);
    this.state = state;
  }

  /** Returns the reason for another run of the member; empty if it needs none. */
  Optional<String> due() {
    return Optional.of(due).filter(reason -> !reason.isEmpty());
  }

  /**
   * Writes the CAs of the next run, if it starts etcd again. Before that, this member holds the
   * writes of its organs, and another one becomes the leader.
   */
  void makeReady(Log log) throws InterruptedException, FileException {
    CaBundle wanted = next;
    if (wanted != null) {
      LeaderHandOver.run(access, state.identities().hold(), log);
      LeaderHandOver.hold(state.identities().hold(), log);
      member.pki().trust(wanted);
    }
  }

  void run(Context context) throws InterruptedException, FileException {
    context.healthy();
    try (Watcher<String> changes = records.changes().watch()) {
      while (due.isEmpty()) {
        boolean waits = attempt(context.log());
        if (due.isEmpty()) {
          awaitChange(changes, waits);
        }
      }
    } catch (EtcdClosedException | WatcherClosedException ends) {
      context.log().info("the run ends, which closed its client of etcd");
    }
    context.awaitCancelled();
  }

  private static void awaitChange(Watcher<String> changes, boolean waits)
      throws InterruptedException {
    if (!waits) {
      changes.get(_ -> true);
      return;
    }
    try {
      changes.get(_ -> true, AGAIN);
    } catch (TimeoutException again) {
      // The others may be up now.
    }
  }

  private boolean attempt(Log log) throws InterruptedException, FileException {
    try {
      return step(log);
    } catch (EtcdClosedException ends) {
      throw ends;
    } catch (EtcdException unanswered) {
      log.warning("the check of etcd's CA is repeated: %s", unanswered.getMessage());
      return true;
    }
  }

  /** Makes the next step; returns whether it has to wait for another member. */
  private boolean step(Log log) throws InterruptedException, FileException {
    if (holdsForAnother()) {
      return true;
    }
    PkiAuthority stored = records.read(member.pki(), log);
    CaBundle own = member.pki().trusted();
    if (!EtcdAuthority.isSame(own.issuing(), stored.certificate())) {
      if (own.contains(stored.certificate())) {
        member.pki().issueBy(stored.authority());
        due = "certificates of etcd's new CA";
      } else {
        log.warning("etcd's records name a CA that this member does not trust");
      }
      return false;
    }
    Optional<CaBundle> wanted = wanted(stored.certificate(), stored.succession());
    if (wanted.isEmpty()) {
      return true;
    }
    if (Set.copyOf(own.certificates()).equals(Set.copyOf(wanted.get().certificates()))) {
      records.reports().report(access.member().id(), own);
      return false;
    }
    MemberSurvey survey = MemberSurvey.of(access.access(ConsensusUser.ROOT));
    if (!isItsTurn(survey, wanted.get())) {
      return true;
    }
    next = wanted.get();
    due = "etcd to start with the CAs that its members trust now";
    return false;
  }

  /** Returns the CAs of a step; empty if another step was made between the two reads. */
  private Optional<CaBundle> wanted(X509Certificate issuing, Succession succession) {
    Optional<X509Certificate> other =
        switch (succession) {
          case Succession.None _ -> Optional.empty();
          case Succession.Prepared(X509Certificate next) -> Optional.of(next);
          // A member that joined in this step never trusts the former one.
          case Succession.Issuing(X509Certificate former) ->
              Optional.of(former).filter(member.pki().trusted()::contains);
        };
    if (other.filter(issuing::equals).isPresent()) {
      return Optional.empty();
    }
    return Optional.of(
        other.map(each -> new CaBundle(List.of(issuing, each))).orElse(CaBundle.of(issuing)));
  }

  /** Holds the writes of this member's organs while another member hands over its leadership. */
  private boolean holdsForAnother() throws InterruptedException {
    OptionalLong asked = records.askedToHold();
    if (asked.isEmpty()) {
      if (held != 0) {
        state.identities().hold().release();
        held = 0;
      }
      return false;
    }
    if (held != asked.getAsLong()) {
      held = asked.getAsLong();
      if (state.identities().hold().hold(LeaderHandOver.ANSWER)) {
        records.holds(access.member().id(), held);
      }
    }
    return true;
  }

  private long own() {
    return Long.parseUnsignedLong(access.member().id(), 16);
  }

  /** Returns the other voters. */
  private Stream<EtcdMember> voters(MemberSurvey survey) {
    return survey.answers().stream()
        .map(MemberSurvey.Answer::member)
        .filter(each -> !each.learner() && each.id() != own());
  }

  private boolean isItsTurn(MemberSurvey survey, CaBundle wanted) throws InterruptedException {
    Map<String, List<String>> reports = records.reports().all();
    Set<String> reported = Set.copyOf(wanted.fingerprints());
    return survey.silentBeside(own()).isEmpty()
        && voters(survey)
            .filter(each -> Long.compareUnsigned(each.id(), own()) < 0)
            .map(EtcdMember::hexId)
            .allMatch(id -> reported.equals(Set.copyOf(reports.getOrDefault(id, List.of()))));
  }
}
