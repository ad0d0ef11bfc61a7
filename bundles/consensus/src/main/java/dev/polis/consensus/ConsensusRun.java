package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.boot.BootReport;
import dev.polis.boot.Wait;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.files.FileException;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.process.LogTail;
import dev.polis.process.ManagedProcess;
import dev.polis.process.PortHolder;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessStatus;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Brings the member up and stays with it until it ends: address, disk, keys, process, readiness,
 * users, service. Each run begins at the beginning and finds what earlier ones have done, so it
 * does not matter where one was cut off.
 */
final class ConsensusRun implements Task {

  /** The name of the process, and of the journal under the organ's that gets its lines. */
  static final String PROCESS = "etcd";

  // The network organ polls once a second itself. The end of etcd is an event and not polled.
  private static final Duration NETWORK_POLL = Duration.ofSeconds(1);

  // etcd is up after about 300 ms, so that a slower pace would be most of the wait.
  private static final Duration READY_POLL = Duration.ofMillis(50);

  // Shells and the JDK alike: 128 and the number of the signal.
  private static final int SIGNALS = 128;

  /** What a run works with. */
  record Parts(
      ConsensusSettings settings,
      ConsensusFiles files,
      Value<NetworkStatus> network,
      ProcessManager processes,
      BootReport boot,
      InstantSource clock,
      String logName,
      Consumer<ConsensusStep> steps) {}

  /** How a record becomes allowed: as a bootstrap, or as a member that is there already. */
  interface Admission {
    ConsensusRecord admit() throws FileException;
  }

  private final Parts parts;
  private final ConsensusIdentity identity;
  private final Admission admission;
  private final MemberState state;

  ConsensusRun(Parts parts, ConsensusIdentity identity, Admission admission, MemberState state) {
    this.parts = parts;
    this.identity = identity;
    this.admission = admission;
    this.state = state;
  }

  @Override
  public void run(Context context) throws Exception {
    Attempt attempt = new Attempt(context);
    try {
      attempt.start();
    } catch (InterruptedException | CancellationException cancelled) {
      throw cancelled;
    } catch (RestartRequest wanted) {
      attempt.end(new ConsensusStatus.Starting(wanted.getMessage()));
      throw wanted;
    } catch (Exception failure) {
      String reason = failure.getMessage() == null ? failure.toString() : failure.getMessage();
      attempt.end(
          attempt.served()
              ? new ConsensusStatus.Starting("etcd to come back: " + reason)
              : new ConsensusStatus.Failed(reason));
      throw failure;
    }
  }

  /** One run. */
  private final class Attempt {

    private final Context context;
    private InetAddress address;
    private ConsensusRecord record;
    private ConsensusPki pki;
    private EtcdCommandLine line;
    private ManagedProcess process;
    private boolean serving;
    private boolean served;

    Attempt(Context context) {
      this.context = context;
    }

    synchronized boolean served() {
      return served;
    }

    /** Ends the service of this run; nothing it started publishes anything after that. */
    synchronized void end(ConsensusStatus status) {
      serving = false;
      if (!context.cancelled()) {
        state.publish(status);
      }
    }

    private synchronized void publish(ConsensusStatus.Running running) {
      if (serving) {
        state.publish(running);
      }
    }

    void start() throws Exception {
      awaitAddress();
      prepare();
      process = parts.processes().ensure(spec());
      reached(ConsensusStep.STARTED);
      context
          .log()
          .info(
              "etcd %s %s as pid %d",
              line.binary().version(), process.adopted() ? "adopted" : "started", process.pid());
      context.run("log", this::deliverLog);
      try (Wait wait = parts.boot().waiting("etcd to become ready");
          Watcher<ProcessStatus> ending = process.status().watch()) {
        awaitReady(wait, ending);
        try (EtcdClient client = EtcdClient.connect(rootAccess())) {
          MemberAccess ground = settle(client.admin(), client);
          wait.done("member " + ground.member().id() + " serves at " + line.clientUrl());
          serve(ground, client.admin(), ending);
        }
      }
    }

    private void reached(ConsensusStep step) {
      parts.steps().accept(step);
    }

    private void awaitAddress() throws InterruptedException {
      state.publish(new ConsensusStatus.Starting("an address of this node"));
      try (Watcher<NetworkStatus> network = parts.network().watch();
          Wait wait = parts.boot().waiting("an address for consensus")) {
        address =
            ((NetworkStatus.Up) network.get(NetworkStatus.Up.class::isInstance)).externalAddress();
        wait.done(address.getHostAddress());
      }
    }

    private void prepare() throws FileException, InterruptedException {
      state.publish(new ConsensusStatus.Starting("keys and data on the disk"));
      record = admission.admit();
      reached(ConsensusStep.RECORDED);
      ConsensusDisk disk = new ConsensusDisk(parts.files());
      if (!survivor()) {
        disk.clearUnbegun(record);
      }
      pki =
          ConsensusPki.open(
              parts.files(),
              record.stage() == Stage.BOOTSTRAPPING && !disk.hasData(),
              parts.clock());
      pki.ensureMember(identity, address);
      pki.ensureOperator();
      parts.files().etcd().data().create();
      parts.files().sockets().create();
      reached(ConsensusStep.KEYS_WRITTEN);
      line =
          new EtcdCommandLine(
              EtcdBinary.find(parts.settings().etcd(), parts.files().version()),
              identity.node().text(),
              pki.token(),
              address,
              parts.settings(),
              parts.files().etcd());
    }

    /** Whether an etcd of an earlier run may still live, and be about to write its first. */
    private boolean survivor() {
      return parts.processes().records().stream()
          .filter(known -> known.name().equals(PROCESS))
          .anyMatch(known -> known.state() == ProcessRecord.State.INTENT || known.alive());
    }

    private ProcessSpec spec() {
      return ProcessSpec.of(PROCESS, line.arguments())
          // Go's runtime wants no more of the environment than this, and etcd reads flags from it.
          .withEnvironment(Map.of("HOME", parts.files().etcd().path().toString()))
          .withDirectory(parts.files().sockets().path())
          .withFingerprint(line.binary().digest());
    }

    private void deliverLog(Context log) throws IOException, InterruptedException {
      try (LogTail tail = parts.processes().tail(process, parts.logName(), new EtcdConverter());
          Watcher<ProcessStatus> ending = process.status().watch()) {
        log.healthy();
        while (!ended(ending, tail.pause())) {
          tail.poll();
        }
        tail.finish();
        log.done();
      }
    }

    private void awaitReady(Wait wait, Watcher<ProcessStatus> ending)
        throws InterruptedException, IOException {
      long deadline = System.nanoTime() + parts.settings().ready().toNanos();
      state.publish(new ConsensusStatus.Starting("etcd to answer at " + line.clientUrl()));
      String complaint = EtcdHttp.problem(process);
      while (!complaint.isEmpty()) {
        if (ended(ending, READY_POLL)) {
          throw deadBeforeReady();
        }
        if (System.nanoTime() > deadline) {
          throw late(complaint);
        }
        wait.detail(complaint);
        complaint = EtcdHttp.problem(process);
      }
      reached(ConsensusStep.READY);
    }

    private boolean ended(Watcher<ProcessStatus> ending, Duration within)
        throws InterruptedException {
      try {
        ending.get(status -> !(status instanceof ProcessStatus.Running), within);
        return true;
      } catch (TimeoutException stillRunning) {
        return !process.running();
      }
    }

    private ConsensusException late(String complaint) {
      return new ConsensusException(
          "consensus service failed to become ready within %d s: waited for etcd (pid %d), %s; its last log line: %s"
              .formatted(
                  parts.settings().ready().toSeconds(), process.pid(), complaint, exitDiagnosis()));
    }

    private ConsensusException deadBeforeReady() throws IOException {
      return new ConsensusException(
          "consensus service failed to become ready: etcd ended (%s)%s; its last words: %s"
              .formatted(howItEnded(), takenPorts(), exitDiagnosis()));
    }

    private String exitDiagnosis() {
      return EtcdExitDiagnosis.of(process.log(), parts.files().etcd().data().path());
    }

    private String howItEnded() {
      return switch (process.status().peek().orElseThrow()) {
        case ProcessStatus.Exited(int code) when code > SIGNALS ->
            "killed by signal " + (code - SIGNALS);
        case ProcessStatus.Exited(int code) -> "exit code " + code;
        case ProcessStatus.Vanished() -> "exit code unknown, it was adopted";
        case ProcessStatus.Stopped() -> "stopped on request";
        case ProcessStatus.Running(long pid, var _, var _) -> "pid " + pid + " still runs";
      };
    }

    private String takenPorts() throws IOException {
      PortHolder holders = new PortHolder();
      StringBuilder words = new StringBuilder();
      for (Port port :
          List.of(
              new Port("client.port", address, parts.settings().clientPort()),
              new Port("peer.port", address, parts.settings().peerPort()))) {
        Optional<String> holder = holders.find(port.address(), port.number());
        holder.ifPresent(who -> words.append(port.takenBy(who)));
      }
      return words.toString();
    }

    private ConsensusException cannotBe(EtcdStatus status) {
      return new ConsensusException(
          "etcd came up as member %s of cluster %s, but %s says member %s of cluster %s; restore data/etcd from one copy"
              .formatted(
                  Long.toHexString(status.memberId()),
                  Long.toHexString(status.clusterId()),
                  parts.files().member().path(),
                  record.memberId(),
                  record.clusterId()));
    }

    private EtcdAccess rootAccess() {
      return ground(List.of(), "", "").access(ConsensusUser.ROOT);
    }

    private MemberAccess ground(List<String> peerUrls, String memberId, String clusterId) {
      String name = identity.node().text();
      EtcdEndpoint endpoint =
          new EtcdEndpoint(address.getHostAddress(), parts.settings().clientPort(), name);
      return new MemberAccess(
          pki,
          endpoint,
          new ConsensusMember(
              name, memberId, clusterId, peerUrls, List.of(line.clientUrl()), false));
    }

    /** Everything that must be true of a cluster before anybody is let in. */
    private MemberAccess settle(EtcdAdmin admin, EtcdClient client)
        throws InterruptedException, FileException {
      state.publish(new ConsensusStatus.Starting("users and roles in etcd"));
      EtcdEndpoint endpoint = admin.endpoints().getFirst();
      EtcdStatus status = admin.status(endpoint);
      String memberId = Long.toHexString(status.memberId());
      String clusterId = Long.toHexString(status.clusterId());
      if (record.stage() == Stage.MEMBER
          && !(record.memberId().equals(memberId) && record.clusterId().equals(clusterId))) {
        parts.processes().stop(PROCESS);
        throw cannotBe(status);
      }
      new EtcdAuthSetup(admin).ensure();
      reached(ConsensusStep.USERS_MADE);
      new EtcdAuthority(client).ensure(pki.authority());
      reached(ConsensusStep.AUTHORITY_STORED);
      moveTo(admin, status.memberId());
      if (record.stage() == Stage.BOOTSTRAPPING) {
        record = record.complete(memberId, clusterId);
        record.write(parts.files().member());
      }
      return ground(List.of(line.peerUrl()), memberId, clusterId);
    }

    /** Tells the cluster where this member is now, if it has moved. */
    private void moveTo(EtcdAdmin admin, long memberId) throws InterruptedException {
      for (EtcdMember member : admin.members()) {
        if (member.id() == memberId && !member.peerUrls().equals(List.of(line.peerUrl()))) {
          context.log().info("moved from %s to %s", member.peerUrls(), line.peerUrl());
          admin.updatePeerUrls(memberId, List.of(line.peerUrl()));
        }
      }
    }

    private void serve(MemberAccess ground, EtcdAdmin admin, Watcher<ProcessStatus> ending)
        throws InterruptedException, RestartRequest, IOException {
      context.run("maintenance", child -> maintain(child, ground, admin));
      context.healthy();
      synchronized (this) {
        serving = true;
        served = true;
        state.serve(ground);
        state.publish(ground.running(List.of()));
      }
      context.log().info("%s", ground.running(List.of()).text());
      try (Watcher<NetworkStatus> network = parts.network().watch()) {
        while (!ended(ending, NETWORK_POLL)) {
          Optional<NetworkStatus> change = network.poll();
          if (change.isPresent()
              && change.get() instanceof NetworkStatus.Up(InetAddress now)
              && !now.equals(address)) {
            throw new RestartRequest(
                "etcd to move from " + address.getHostAddress() + " to " + now.getHostAddress());
          }
        }
      }
      throw new ConsensusException(
          "etcd (pid %d) ended: %s; its last words: %s"
              .formatted(process.pid(), howItEnded(), exitDiagnosis()));
    }

    private void maintain(Context child, MemberAccess ground, EtcdAdmin admin)
        throws InterruptedException, FileException {
      EtcdMaintenance maintenance =
          new EtcdMaintenance(admin, ground.endpoint(), parts.settings(), child.log());
      List<String> alarms = List.of();
      Duration sinceLast = Duration.ZERO;
      child.healthy();
      while (true) {
        long start = System.nanoTime();
        boolean renewed = pki.renewUsers();
        if (pki.ensureMember(identity, address)) {
          child.log().info("renewed the certificate that etcd shows");
        }
        pki.ensureOperator();
        try {
          List<String> now = maintenance.check(sinceLast).alarms();
          if (renewed || !now.equals(alarms)) {
            alarms = now;
            publish(ground.running(alarms));
          }
        } catch (EtcdException unanswered) {
          child.log().warning("maintenance has to wait: %s", unanswered.getMessage());
        }
        Thread.sleep(parts.settings().maintenance());
        sinceLast = Duration.ofNanos(System.nanoTime() - start);
      }
    }
  }

  private record Port(String setting, InetAddress address, int number) {
    String takenBy(String who) {
      return "; %s %s:%d is taken by %s: end it, or set %s of dev.polis.consensus"
          .formatted(setting, address.getHostAddress(), number, who, setting);
    }
  }
}
