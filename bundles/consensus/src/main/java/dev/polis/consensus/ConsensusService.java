package dev.polis.consensus;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.storage.DataStatus;
import dev.polis.boot.StopReason;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.event.Value;
import dev.polis.files.FileException;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.process.LogTail;
import dev.polis.process.ManagedProcess;
import dev.polis.supervision.Subtree;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** The contract, kept by supervised runs. Closing it leaves etcd running. */
final class ConsensusService implements Consensus {

  /** A member that was asked for. */
  private record Started(ConsensusIdentity identity, Subtree tree) {}

  private final ConsensusRun.Parts parts;
  private final Value<DataStatus> data;
  private final Subtree organ;
  private final Log log;
  private final MemberState state = new MemberState();
  private final ConsensusDisk disk;
  private final ReentrantLock lock = new ReentrantLock();
  private Started started; // null unless started

  /**
   * @param data whether the disk can be used
   * @param organ the organ's place in the supervision tree; its owner closes it after this service
   */
  ConsensusService(ConsensusRun.Parts parts, Value<DataStatus> data, Subtree organ, Log log) {
    this.parts = parts;
    this.data = data;
    this.organ = organ;
    this.log = log;
    this.disk = new ConsensusDisk(parts.files());
  }

  @Override
  public void startNew(ConsensusIdentity identity) {
    start(identity, () -> disk.allowNew(identity.node()));
  }

  @Override
  public void startExisting(ConsensusIdentity identity) {
    start(identity, () -> disk.allowExisting(identity.node()));
  }

  private void start(ConsensusIdentity identity, ConsensusRun.Admission admission) {
    lock.lock();
    try {
      if (alreadyStarted(identity)) {
        return;
      }
      requireDisk();
      try {
        admission.admit();
      } catch (FileException refused) {
        throw new ConsensusException(refused.getMessage(), refused);
      }
      state.publish(new ConsensusStatus.Starting("its turn"));
      Subtree tree = organ.subtree("member");
      started = new Started(identity, tree);
      tree.run("run", new ConsensusRun(parts, identity, admission, state));
    } finally {
      lock.unlock();
    }
  }

  private boolean alreadyStarted(ConsensusIdentity identity) {
    if (started == null) {
      return false;
    }
    if (!started.identity().node().equals(identity.node())) {
      throw new ConsensusException(
          "consensus runs for %s, so it is not started for %s; stop it first"
              .formatted(started.identity().node(), identity.node()));
    }
    return true;
  }

  private void endRun(StopReason reason) {
    if (started != null) {
      started.tree().close(reason);
      started = null;
    }
  }

  private void requireDisk() {
    DataStatus status = data.peek().orElseThrow();
    if (!(status instanceof DataStatus.Mounted)) {
      throw new ConsensusException(
          "consensus needs the data volume, which is " + status + "; mount it first");
    }
  }

  @Override
  public void stop() throws InterruptedException {
    stop(StopReason.ROLE_REMOVED);
  }

  /** Stops the member and its etcd, for one of the reasons that end work. */
  void stop(StopReason reason) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      handOverLeadership();
      // First the run, which would take the end of its process for a failure.
      endRun(reason);
      Optional<ManagedProcess> process = parts.processes().find(ConsensusRun.PROCESS);
      parts.processes().stop(ConsensusRun.PROCESS);
      process.ifPresent(this::deliverRestOfLog);
      state.clear();
    } finally {
      lock.unlock();
    }
  }

  private void deliverRestOfLog(ManagedProcess process) {
    try (LogTail tail = parts.processes().tail(process, parts.logName(), new EtcdConverter())) {
      tail.finish();
    } catch (IOException unreadable) {
      log.warning("the end of etcd's log is missing: %s", unreadable.getMessage());
    }
  }

  /** Saves the others an election; it is a courtesy, so that its failure does not keep us. */
  private void handOverLeadership() throws InterruptedException {
    if (!(state.status().peek().orElseThrow() instanceof ConsensusStatus.Running)) {
      return;
    }
    MemberAccess ground = state.access();
    try (EtcdClient client = EtcdClient.connect(ground.access(ConsensusUser.ROOT))) {
      EtcdAdmin admin = client.admin();
      EtcdStatus status = admin.status(ground.endpoint());
      Optional<EtcdMember> heir =
          admin.members().stream()
              .filter(member -> member.id() != status.memberId())
              .filter(member -> member.hasStarted() && !member.learner())
              .findFirst();
      if (status.isLeader() && heir.isPresent()) {
        admin.moveLeader(ground.endpoint(), heir.get().id());
        log.info("handed the leadership of etcd to %s", heir.get().name());
      }
    } catch (EtcdException refused) {
      log.warning("leaving without handing over etcd's leadership: %s", refused.getMessage());
    }
  }

  @Override
  public Value<ConsensusStatus> status() {
    return state.status();
  }

  @Override
  public EtcdAccess access(String user) {
    ConsensusUser known = ConsensusUser.handedOut(user);
    return state.access().access(known);
  }

  @Override
  public ConsensusMember memberInfo() {
    return state.runningAccess().member();
  }

  @Override
  public ConsensusOverview overview() throws InterruptedException {
    MemberAccess ground = state.runningAccess();
    try (EtcdClient client = EtcdClient.connect(ground.access(ConsensusUser.ROOT))) {
      return overview(ground, client.admin());
    } catch (EtcdException unanswered) {
      throw new ConsensusException(
          "etcd does not tell about itself: " + unanswered.getMessage(), unanswered);
    }
  }

  /** Reads etcd's metrics page. */
  MetricsAnswer scrape() {
    return parts
        .processes()
        .find(ConsensusRun.PROCESS)
        .map(EtcdHttp::metrics)
        .orElseGet(() -> new MetricsAnswer.Unavailable(noEtcd()));
  }

  private String noEtcd() {
    return switch (state.status().peek().orElseThrow()) {
      case ConsensusStatus.Stopped _ ->
          "this node runs no member of consensus; ask a node that does";
      case ConsensusStatus other -> other.text();
    };
  }

  private ConsensusOverview overview(MemberAccess ground, EtcdAdmin admin)
      throws InterruptedException {
    EtcdStatus status = admin.status(ground.endpoint());
    List<ConsensusMember> members =
        admin.members().stream()
            .sorted(Comparator.comparing((EtcdMember member) -> member.id() != status.memberId()))
            .map(member -> member(member, status))
            .toList();
    return new ConsensusOverview(
        members,
        Long.toHexString(status.leaderId()),
        status.version(),
        status.databaseBytes(),
        status.databaseBytesInUse(),
        parts.settings().quotaBytes(),
        status.revision(),
        status.raftIndex(),
        status.raftTerm(),
        admin.alarms().stream().map(EtcdMaintenance::text).toList(),
        members.stream().flatMap(member -> member.clientUrls().stream()).toList(),
        ground.pki().operatorFiles());
  }

  private static ConsensusMember member(EtcdMember member, EtcdStatus status) {
    return new ConsensusMember(
        member.name(),
        Long.toHexString(member.id()),
        Long.toHexString(status.clusterId()),
        member.peerUrls(),
        member.clientUrls(),
        member.learner());
  }

  /** Ends following; etcd lives on. */
  void close(StopReason reason) {
    lock.lock();
    try {
      endRun(reason);
      state.clear();
    } finally {
      lock.unlock();
    }
  }
}
