package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.Wait;
import dev.polis.base.values.Watcher;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.files.FileException;
import dev.polis.health.SelfCheck;
import dev.polis.logtree.Log;
import dev.polis.process.Child;
import dev.polis.process.ChildOwner;
import dev.polis.process.ProcessException;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;

/**
 * Runs the member once: waits for an address, prepares the disk, starts etcd, sets it up, and
 * watches it until it ends. Each run starts at the first step and finds the results of earlier
 * runs, so a run may end at any point.
 */
final class ConsensusRun implements Task {

  // The network organ itself checks once a second. The end of etcd is an event.
  private static final Duration NETWORK_POLL = Duration.ofSeconds(1);

  /** The interval of questions whether a learner has got its vote. */
  private static final Duration LEARNER_POLL = Duration.ofMillis(250);

  /** The time between the reset of a killed process's connections and the event of its end. */
  private static final Duration END_SEEN = Duration.ofSeconds(1);

  private final MemberParts parts;
  private final MemberPreparation preparation;
  private final MemberState state;
  private final EarlyStart early;
  private boolean removed; // true once a run has set the member's files aside

  ConsensusRun(
      MemberParts parts, MemberPreparation preparation, MemberState state, EarlyStart early) {
    this.parts = parts;
    this.preparation = preparation;
    this.state = state;
    this.early = early;
  }

  @Override
  public void run(Context context) throws Exception {
    try {
      start(context);
    } catch (InterruptedException | CancellationException cancelled) {
      state.endRun();
      throw cancelled;
    } catch (RestartRequest wanted) {
      end(context, wanted.getMessage());
      throw wanted;
    } catch (Exception failure) {
      String reason = failure.getMessage() == null ? failure.toString() : failure.getMessage();
      fail(context, reason);
      throw failure;
    }
  }

  private void end(Context context, String next) {
    state.endRun();
    if (!context.cancelled()) {
      state.publish(new ConsensusStatus.Starting(next));
    }
  }

  private void fail(Context context, String reason) {
    boolean served = state.endRun();
    state.identities().hold().release();
    if (!context.cancelled()) {
      state.publish(
          served
              ? new ConsensusStatus.Starting("etcd to come back: " + reason)
              : new ConsensusStatus.Failed(reason));
    }
  }

  private void start(Context context) throws Exception {
    early.end();
    if (removed) {
      state.publish(new ConsensusStatus.Stopped());
      context.healthy();
      context.awaitCancelled();
    }
    InetAddress address = awaitAddress();
    state.starting("keys and data on the disk");
    PreparedMember member = preparation.prepare(address, early.takePki());
    MemberRecovery recovery = new MemberRecovery(parts, member, context.log());
    if (recovery.isDue()) {
      state.starting("a new cluster of etcd, which this member makes alone");
      recovery.run();
      member = preparation.prepare(address);
    }
    serve(context, address, member);
  }

  private void serve(Context context, InetAddress address, PreparedMember member) throws Exception {
    try (Wait wait = parts.boot().waiting("etcd to become ready");
        Child etcd = EtcdProcess.start(parts, member, wait)) {
      String version = member.line().binary().version().toString();
      context.log().info("etcd %s %s%s", version, etcd.text(), asRoot(member.owner()));
      context.run("log", log -> etcd.deliverLog(log, parts.logName()));
      state.runs(member);
      state.starting("etcd to answer at " + member.line().clientUrl());
      // Makes root's key, certificate and TLS context, while etcd starts.
      try (EtcdClient root = EtcdClient.connect(member.rootAccess())) {
        context.run("contact", contact(etcd, member, root));
        etcd.awaitReady(parts.settings().ready());
        awaitVote(root, member, etcd);
        state.starting("users and roles in etcd");
        MemberSetup setup = new MemberSetup(parts, member, root, context.log());
        MemberAccess access = complete(setup, etcd);
        wait.done("member " + access.member().id() + " serves at " + member.line().clientUrl());
        MemberMaintenance maintenance =
            new MemberMaintenance(parts, member, access, root.admin(), state, setup, preparation);
        context.run("maintenance", maintenance::run);
        CaRotation rotation = new CaRotation(member, access, root, state);
        context.run("ca", rotation::run);
        context.healthy();
        state.serve(access);
        context.log().info("%s", access.running().text());
        setup.check();
        stay(etcd, address, rotation, context.log());
      } catch (ProcessException ended) {
        throw explained(ended, etcd, member, context.log());
      }
    }
  }

  private Task contact(Child etcd, PreparedMember member, EtcdClient root) {
    MemberProbe probe =
        new MemberProbe(
            etcd.process(), member.rootAccess(), root, member.record().peers(), state::alarms);
    return SelfCheck.task(
        parts.health(),
        new MemberContact(
            probe,
            () -> state.status().peek().orElseThrow() instanceof ConsensusStatus.Running,
            parts.clock(),
            System::nanoTime));
  }

  /** Waits without a limit while etcd is a learner, which serves no client. */
  private void awaitVote(EtcdClient root, PreparedMember member, Child etcd)
      throws InterruptedException, IOException {
    if (member.record().stage() != Stage.LEARNER) {
      return;
    }
    state.starting("its vote in etcd, which it gets once it has the data of the others");
    EtcdAdmin admin = root.admin();
    while (admin.status(admin.endpoints().getFirst()).learner()) {
      if (etcd.hasEnded(LEARNER_POLL)) {
        throw etcd.ended();
      }
      etcd.requireAnswer();
    }
  }

  /**
   * Sets the files of a removed member aside, and requests another run, which then finds no member.
   * Any other end stays as it is.
   */
  private Exception explained(ProcessException ended, Child etcd, PreparedMember member, Log log)
      throws InterruptedException, FileException {
    if (!etcd.hasEnded(Duration.ZERO)
        || !EtcdExitDiagnosis.removed(etcd.process().log(), etcd.process().logStart())) {
      return ended;
    }
    Path now = new ConsensusDisk(parts.files()).setAside(member.record());
    removed = true;
    log.warning(
        "another member has removed member %s from etcd; its files are now in %s, and no member starts from them",
        member.record().memberId(), now);
    return new RestartRequest("another order, because etcd has removed its member");
  }

  private static String asRoot(ChildOwner owner) {
    return owner.isHeldBack() ? ", as root: " + owner.obstacle() : "";
  }

  /**
   * Completes the setup. If etcd was ready and has ended since, this method requests a restart; a
   * restart does not help an etcd that never becomes ready.
   */
  private static MemberAccess complete(MemberSetup setup, Child etcd)
      throws InterruptedException, IOException, RestartRequest {
    try {
      return setup.complete();
    } catch (EtcdException unanswered) {
      if (etcd.hasEnded(END_SEEN)) {
        throw new RestartRequest("etcd to come back: " + etcd.ended().getMessage());
      }
      throw unanswered;
    }
  }

  private InetAddress awaitAddress() throws InterruptedException {
    state.starting("an address of this node");
    try (Watcher<NetworkStatus> network = parts.network().watch();
        Wait wait = parts.boot().waiting("an address for consensus")) {
      InetAddress address =
          ((NetworkStatus.Up) network.get(NetworkStatus.Up.class::isInstance)).externalAddress();
      wait.done(address.getHostAddress());
      return address;
    }
  }

  /** Waits until etcd ends or needs another command line. */
  private void stay(Child etcd, InetAddress address, CaRotation rotation, Log log)
      throws Exception {
    try (Watcher<NetworkStatus> network = parts.network().watch()) {
      while (!etcd.hasEnded(NETWORK_POLL)) {
        etcd.requireAnswer();
        Optional<NetworkStatus> change = network.poll();
        if (change.isPresent()
            && change.get() instanceof NetworkStatus.Up(InetAddress now)
            && !now.equals(address)) {
          throw new RestartRequest(
              "etcd to move from " + address.getHostAddress() + " to " + now.getHostAddress());
        }
        if (state.outgrown()) {
          preparation.severalMembers();
          throw new RestartRequest("etcd to take the heartbeat of a cluster of several members");
        }
        if (rotation.due().isPresent()) {
          rotation.makeReady(log);
          throw new RestartRequest(rotation.due().get());
        }
      }
    } finally {
      parts.health().clear(EtcdProcess.SILENT);
    }
    throw etcd.ended();
  }
}
