package dev.polis.consensus;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.api.consensus.LocalMember;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiAuthority;
import dev.polis.process.LogTail;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** Runs the local member in a supervised run, and returns access to it. */
final class ConsensusService implements Consensus, MetricsExporter, OrganInstance {

  /**
   * The time for a second instance to adopt etcd, which needs about half a second. The first
   * instance still answers meanwhile.
   */
  private static final Duration ADOPTION = Duration.ofSeconds(10);

  // The names of the values that one instance passes to the next.
  private static final String IDENTITY = "identity";
  private static final String STATUS = "status";

  /** Holds the services that the organ uses. */
  record Parts(
      Root root,
      Value<DataStatus> data,
      Value<NetworkStatus> network,
      Value<ClockStatus> clock,
      ProcessManager processes,
      Supervisor supervisor,
      HealthRegistry health,
      LogTree logs,
      BootReport boot) {}

  /** Holds a requested member. */
  private record Started(ConsensusIdentity identity, Subtree tree) {}

  private final MemberParts parts;
  private final Set<Long> emptied = ConcurrentHashMap.newKeySet();
  private final Value<DataStatus> data;
  private final Subtree subtree;
  private final HealthScope health;
  private final Log log;
  private final UserIdentities identities;
  private final MemberState state;
  private final ConsensusDisk disk;
  private final EarlyStart early;
  private final ReentrantLock lock = new ReentrantLock();
  private Started started; // null before a start
  private ConsensusIdentity given; // the member that another instance runs now, or null

  /** Opens the organ's subtree; a member runs only after a caller requests it. */
  ConsensusService(ConsensusSettings settings, Parts parts) {
    this(settings, parts, new UserIdentities());
  }

  private ConsensusService(ConsensusSettings settings, Parts parts, UserIdentities identities) {
    this.identities = identities;
    this.state = new MemberState(identities);
    this.data = parts.data();
    this.subtree = parts.supervisor().organ("consensus");
    this.log = parts.logs().log(subtree.dn());
    this.health = parts.health().organ("consensus", subtree.dn());
    this.parts =
        new MemberParts(
            settings,
            new ConsensusFiles(parts.root()),
            parts.network(),
            parts.processes(),
            parts.boot(),
            health,
            InstantSource.system(),
            subtree.dn() + "." + EtcdProcess.NAME);
    this.disk = new ConsensusDisk(this.parts.files(), settings.recovery());
    this.early =
        new EarlyStart(
            this.parts, data, parts.clock(), parts.root().data().node().credentials().key());
    subtree.run("health", StatusHealth.task(state.status(), health, ConsensusHealth::of));
    subtree.run(
        "certificates",
        SelfCheck.task(
            health, ConsensusHealth.certificates(this.parts.files(), this.parts.clock())));
    subtree.run(
        "folders",
        SelfCheck.task(health, ConsensusHealth.folders(this.parts.files(), state.status())));
    subtree.run(
        "files", SelfCheck.task(health, ConsensusHealth.files(this.parts.files(), state.status())));
  }

  /** Starts an instance, which takes over from the previous one if there is one. */
  static ConsensusService start(
      ConsensusSettings settings, Parts parts, HandOvers.Predecessor predecessor) {
    OrganState taken = predecessor.take();
    ConsensusService service = new ConsensusService(settings, parts, UserIdentities.find(taken));
    try {
      if (predecessor.exists()) {
        service.goOn(taken);
      } else {
        // While another instance runs, only that instance may start etcd.
        service.subtree.run("early-start", service.early::run);
      }
      return service;
    } catch (Throwable failure) {
      service.letGo();
      service.close(StopReason.CODE_REPLACED);
      throw failure;
    }
  }

  // ---- hand-over between instances

  /** Adopts the etcd of the other instance. */
  private void goOn(OrganState taken) {
    Optional<ConsensusIdentity> identity = taken.find(IDENTITY, ConsensusIdentity.class);
    if (identity.isEmpty()) {
      return;
    }
    state.goOn(taken.require(STATUS, ConsensusStatus.class));
    startExisting(identity.get());
    try {
      if (!state.awaitServing(ADOPTION)) {
        throw new HandOverException(
            "the new instance of consensus did not adopt etcd within %d s: %s"
                .formatted(ADOPTION.toSeconds(), state.status().peek().orElseThrow().text()));
      }
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      throw new HandOverException("interrupted while etcd was adopted", hurried);
    }
  }

  /**
   * Ends the supervision and the maintenance of etcd, which another instance adopts. The published
   * status stays, and returned accesses stay valid.
   */
  @Override
  public OrganState give() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (started == null) {
        return OrganState.NONE;
      }
      ConsensusStatus status = state.status().peek().orElseThrow();
      if (!(status instanceof ConsensusStatus.Running)) {
        throw new HandOverException(
            "cannot hand over etcd, because it does not serve: %s; wait until it serves, or stop this instance first"
                .formatted(status.text()));
      }
      given = started.identity();
      endRun(StopReason.CODE_REPLACED);
      return identities.addTo(OrganState.NONE.with(IDENTITY, given).with(STATUS, status));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void resume(OrganState taken) {
    lock.lock();
    try {
      if (given != null) {
        ConsensusIdentity identity = given;
        given = null;
        state.goOn(state.status().peek().orElseThrow());
        startExisting(identity);
      } else {
        taken.find(IDENTITY, ConsensusIdentity.class).ifPresent(this::startExisting);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Closes the resources of a failed start, without touching etcd. */
  private void letGo() {
    lock.lock();
    try {
      endRun(StopReason.CODE_REPLACED);
    } finally {
      lock.unlock();
    }
  }

  private boolean gave() {
    lock.lock();
    try {
      return given != null;
    } finally {
      lock.unlock();
    }
  }

  // ---- the member

  @Override
  public void startNew(ConsensusIdentity identity) {
    start(identity, () -> disk.allowNew(identity.node()));
  }

  @Override
  public void startExisting(ConsensusIdentity identity) {
    start(identity, () -> disk.allowExisting(identity.node()));
  }

  @Override
  public void join(ConsensusIdentity identity, ConsensusInvitation invitation) {
    lock.lock();
    try {
      requireDisk();
      if (disk.recordInvitation(identity.node(), invitation)) {
        // A run without etcd, because etcd has removed its member, makes way for the new one. A
        // run for the same invitation continues: it may need longer than the inviter's patience.
        endRun(StopReason.ROLE_REMOVED);
      }
      startExisting(identity);
    } catch (FileException unwritable) {
      throw new ConsensusException(unwritable.getMessage(), unwritable);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void discard() throws InterruptedException {
    stop(StopReason.ROLE_REMOVED);
    lock.lockInterruptibly();
    try {
      Optional<ConsensusRecord> record = disk.member();
      if (record.isPresent()) {
        log.info("etcd's files are now in %s", disk.setAside(record.get()));
      }
    } catch (FileException stays) {
      throw new ConsensusException(stays.getMessage(), stays);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void erase() throws InterruptedException {
    stop(StopReason.ROLE_REMOVED);
    lock.lockInterruptibly();
    try {
      requireDisk();
      if (disk.erase()) {
        log.info("etcd's files are erased, since the cluster has removed this node");
      }
    } catch (FileException stays) {
      throw new ConsensusException(stays.getMessage(), stays);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<LocalMember> localMember() {
    return record()
        .map(
            record ->
                new LocalMember(
                    record.memberId(), record.stage() == Stage.LEARNER, record.alone()));
  }

  private Optional<ConsensusRecord> record() {
    try {
      return disk.member();
    } catch (FileException unreadable) {
      throw new ConsensusException(unreadable.getMessage(), unreadable);
    }
  }

  @Override
  public ConsensusCandidate candidate() {
    if (!(parts.network().peek().orElseThrow() instanceof NetworkStatus.Up(InetAddress address))) {
      throw new ConsensusException("this node has no address at which other members reach it");
    }
    String url = EtcdCommandLine.peerUrl(address, parts.settings());
    Optional<ConsensusRecord> record = record();
    try {
      boolean holds =
          record.isPresent() && (record.get().stage() != Stage.LEARNER || disk.hasData());
      return new ConsensusCandidate(url, holds ? record.get().memberId() : "");
    } catch (FileException unreadable) {
      throw new ConsensusException(unreadable.getMessage(), unreadable);
    }
  }

  private void start(ConsensusIdentity identity, MemberPreparation.Admission admission) {
    lock.lock();
    try {
      if (alreadyStarted(identity)) {
        return;
      }
      if (given != null) {
        throw new ConsensusException(
            "another instance of consensus runs etcd now; ask that instance to start it");
      }
      requireDisk();
      try {
        admission.admit();
      } catch (FileException refused) {
        throw new ConsensusException(refused.getMessage(), refused);
      }
      state.starting("its turn");
      Subtree tree = subtree.subtree("member");
      started = new Started(identity, tree);
      MemberPreparation preparation = new MemberPreparation(parts, identity, admission);
      tree.run("run", new ConsensusRun(parts, preparation, state, early));
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
          "consensus already runs for %s and cannot start for %s; stop it first"
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
  private void stop(StopReason reason) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      early.end();
      handOverLeadership();
      // The run ends first, since it would treat the end of its process as a failure.
      endRun(reason);
      Optional<ManagedProcess> process = parts.processes().find(EtcdProcess.NAME);
      parts.processes().stop(EtcdProcess.NAME);
      process.ifPresent(this::deliverRestOfLog);
      state.clear();
    } finally {
      identities.hold().release(); // also if interrupted
      lock.unlock();
    }
  }

  private void deliverRestOfLog(ManagedProcess process) {
    try (LogTail tail = parts.processes().tail(process, parts.logName(), new EtcdConverter())) {
      tail.finish();
    } catch (IOException unreadable) {
      log.warning("cannot read the end of etcd's log: %s", unreadable.getMessage());
    }
  }

  private void handOverLeadership() throws InterruptedException {
    if (state.status().peek().orElseThrow() instanceof ConsensusStatus.Running) {
      LeaderHandOver.run(state.access(), identities.hold(), log);
    }
  }

  @Override
  public Value<ConsensusStatus> status() {
    return state.status();
  }

  @Override
  public EtcdAccess access(String user) {
    ConsensusUser known = ConsensusUser.handedOut(user);
    return state.access().access(known, identities);
  }

  @Override
  public ConsensusMember memberInfo() {
    return state.runningAccess().member();
  }

  /** Returns the operations that the Etcd API offers to operators. */
  EtcdOperations operations() {
    return new EtcdOperations(state, parts.files(), parts.settings().quotaBytes());
  }

  @Override
  public ConsensusOverview overview() throws InterruptedException {
    MemberAccess access = state.runningAccess();
    try (EtcdClient client = EtcdClient.connect(access.access(ConsensusUser.ROOT))) {
      return overview(access, client.admin());
    } catch (EtcdException unanswered) {
      throw new ConsensusException(
          "etcd does not report its status: " + unanswered.getMessage(), unanswered);
    }
  }

  @Override
  public String exporterName() {
    return EtcdProcess.NAME;
  }

  @Override
  public MetricsAnswer scrape() {
    return parts
        .processes()
        .find(EtcdProcess.NAME)
        .map(EtcdHttp::metrics)
        .orElseGet(() -> new MetricsAnswer.Unavailable(noEtcd()));
  }

  private String noEtcd() {
    return switch (state.status().peek().orElseThrow()) {
      case ConsensusStatus.Stopped _ ->
          "this node runs no member of consensus; ask a node that runs one";
      case ConsensusStatus other -> other.text();
    };
  }

  // ---- the members of the cluster

  /** Does something with the list of members through the local member. */
  @FunctionalInterface
  private interface MembersWork<T> {
    T with(EtcdMembers members, EtcdClient root) throws InterruptedException;
  }

  private <T> T withMembers(String what, MembersWork<T> work) throws InterruptedException {
    MemberAccess access = state.runningAccess();
    EtcdAccess root = access.access(ConsensusUser.ROOT);
    try (EtcdClient client = EtcdClient.connect(root)) {
      return work.with(new EtcdMembers(client.admin(), root, state), client);
    } catch (EtcdException refused) {
      throw new ConsensusException(
          "etcd does not %s: %s".formatted(what, refused.getMessage()), refused);
    }
  }

  private MemberChanges changes(EtcdMembers members, EtcdClient root) throws InterruptedException {
    PkiAuthority stored = new EtcdAuthority(root).read();
    return new MemberChanges(
        members,
        stored.authority(),
        stored.succession() instanceof PkiAuthority.Succession.Prepared,
        state.runningAccess().member().clusterId(),
        emptied);
  }

  @Override
  public ConsensusStanding admit(NodeId node, ConsensusCandidate candidate)
      throws InterruptedException {
    ConsensusStanding standing =
        withMembers(
            "accept " + node, (members, root) -> changes(members, root).admit(node, candidate));
    if (standing instanceof ConsensusStanding.Invited(ConsensusInvitation invitation)
        && state.memberAdded(invitation.memberId())) {
      log.info("etcd has member %s, a learner, for %s", invitation.memberId(), node);
    }
    return standing;
  }

  @Override
  public void expel(String memberId) throws InterruptedException {
    withMembers(
        "remove member " + memberId,
        (members, root) -> {
          changes(members, root).expel(memberId);
          return memberId;
        });
    log.info("etcd has removed member %s", memberId);
  }

  @Override
  public List<ConsensusVoter> voters() throws InterruptedException {
    return withMembers("list its members", (members, root) -> members.voters());
  }

  @Override
  public ConsensusCa ca() throws InterruptedException {
    return withMembers(
        "tell its CA", (members, root) -> new EtcdAuthority(root).state(members.list()));
  }

  @Override
  public ConsensusCa rotateCa() throws InterruptedException {
    return withMembers(
        "replace its CA", (members, root) -> new EtcdAuthority(root).rotate(members.list()));
  }

  @Override
  public ConsensusCa retireCa() throws InterruptedException {
    return withMembers(
        "retire its former CA", (members, root) -> new EtcdAuthority(root).retire(members.list()));
  }

  private ConsensusOverview overview(MemberAccess access, EtcdAdmin admin)
      throws InterruptedException {
    EtcdStatus status = admin.status(access.endpoint());
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
        access.pki().operatorFiles());
  }

  private static ConsensusMember member(EtcdMember member, EtcdStatus status) {
    return new ConsensusMember(
        member.name(),
        member.hexId(),
        Long.toHexString(status.clusterId()),
        member.peerUrls(),
        member.clientUrls(),
        member.learner());
  }

  /**
   * Ends all runnables of this organ. etcd keeps running unless the reason ends work; an etcd that
   * another instance has adopted always keeps running.
   */
  @Override
  public void close(StopReason reason) {
    health.close();
    if (gave()) {
      subtree.close(reason);
      return;
    }
    try {
      if (reason.endsWork()) {
        stop(reason);
      }
    } catch (InterruptedException hurried) {
      log.warning("interrupted while stopping etcd; it may still run");
      Thread.currentThread().interrupt();
    } finally {
      abandon(reason);
      subtree.close(reason);
    }
  }

  private void abandon(StopReason reason) {
    lock.lock();
    try {
      endRun(reason);
      state.clear();
    } finally {
      lock.unlock();
    }
  }
}
