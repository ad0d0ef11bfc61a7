package dev.polis.consensus;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.consensus.CuratorLocks;
import dev.polis.base.boot.FailureText;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.etcd.KeyValue;
import dev.polis.health.ClockRemedy;
import dev.polis.process.ManagedProcess;
import dev.polis.process.PortHolder;
import dev.polis.process.Silence;
import dev.polis.rpc.Reach;
import dev.polis.wire.curator.stored.LeaderElectionValue;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.PKIXReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;

/** Asks the local etcd by its socket and its port, and the other members by their ports. */
final class MemberProbe implements MemberContact.Etcd {

  /** The time for an answer, which takes milliseconds. */
  private static final Duration PATIENCE = MemberSurvey.PATIENCE;

  private final ManagedProcess process;
  private final EtcdAccess root;
  private final EtcdAdmin admin;
  private final EtcdClient locks; // sees the keys of the curator
  private final EtcdEndpoint own;
  private final List<String> before;
  private final Consumer<List<String>> alarms;
  private List<EtcdMember> known = List.of();
  private long memberId; // 0 until etcd has told it

  /**
   * @param root root's access to the local member
   * @param client a client of the same
   * @param before the other members at the last check, each as {@code NAME=URL}
   * @param alarms gets the raised alarms at each look
   */
  MemberProbe(
      ManagedProcess process,
      EtcdAccess root,
      EtcdClient client,
      List<String> before,
      Consumer<List<String>> alarms) {
    this.process = process;
    this.root = root;
    this.admin = client.admin();
    this.locks = client.sub(ConsensusUser.CURATOR.userName());
    this.own = admin.endpoints().getFirst();
    this.before = before;
    this.alarms = alarms;
  }

  @Override
  public Optional<EtcdFigures> figures() {
    return EtcdHttp.figures(process);
  }

  @Override
  public Optional<MemberContact.Fault> ownPort() throws InterruptedException {
    try {
      EtcdStatus status = admin.status(own, PATIENCE);
      memberId = status.memberId();
      alarms.accept(EtcdMaintenance.texts(status.alarms()));
      return Optional.empty();
    } catch (EtcdClosedException ends) {
      return Optional.empty(); // the run ends, and etcd may work
    } catch (EtcdException unanswered) {
      InetSocketAddress address = address(own);
      Reach reach = Reach.of(address, PATIENCE);
      if (reach == Reach.REFUSED && listens(address)) {
        return Optional.of(rejected(process.pid(), own));
      }
      String text =
          "etcd (pid %d) runs and answers at its socket, and not at its port %s, which all organs of this node use: %s"
              .formatted(
                  process.pid(),
                  own,
                  switch (reach) {
                    case ANSWERS -> root(unanswered);
                    case LOST ->
                        "no packet comes back, so a firewall rule of this machine drops them";
                    default -> reach.text();
                  });
      return Optional.of(
          new MemberContact.Fault(
              text,
              reach == Reach.LOST
                  ? "nft list ruleset on this machine shows the rule that drops port %d: remove it, and the node continues by itself"
                      .formatted(own.port())
                  : reach.remedy(address)));
    }
  }

  private boolean listens(InetSocketAddress address) {
    try {
      return new PortHolder().isHeldBy(address.getAddress(), address.getPort(), process.pid());
    } catch (IOException unreadable) {
      return false;
    }
  }

  /** Says that etcd listens, and its machine refuses each new connection. */
  static MemberContact.Fault rejected(long pid, EtcdEndpoint own) {
    return new MemberContact.Fault(
        "etcd (pid %d) listens at its port %s, which all organs of this node use, and new connections are refused: a firewall rule of this machine rejects them"
            .formatted(pid, own),
        "nft list ruleset on this machine shows the rule that rejects port %d: remove it, and the node continues by itself"
            .formatted(own.port()));
  }

  @Override
  public Optional<String> stuck() {
    return Silence.stuck(process.pid());
  }

  @Override
  public long ownId() {
    return memberId;
  }

  @Override
  public List<EtcdMember> members() throws InterruptedException {
    try {
      known = admin.members(own, PATIENCE);
    } catch (EtcdException unanswered) {
      // The members of before are the best that is known; the port is checked at each look.
    }
    return known;
  }

  @Override
  public MemberContact.Answer ask(EtcdMember other) throws InterruptedException {
    return ask(root, other);
  }

  @Override
  public Set<String> living() throws InterruptedException {
    try {
      Set<String> names = new HashSet<>();
      for (KeyValue lock : locks.kv().range(CuratorLocks.PREFIX.range()).keys()) {
        names.add(LeaderElectionValue.parseFrom(lock.value()).getNodeId());
      }
      return names;
    } catch (EtcdException | InvalidProtocolBufferException unknown) {
      return Set.of();
    }
  }

  /** Asks a member at its port for the other members, and then at its port for clients. */
  static MemberContact.Answer ask(EtcdAccess root, EtcdMember other) throws InterruptedException {
    Optional<MemberContact.Fault> lost =
        unreached("", MemberSurvey.endpoint(other.peerUrls().getFirst()));
    if (lost.isPresent()) {
      return new MemberContact.Unreached(lost.get());
    }
    EtcdEndpoint clients = MemberSurvey.endpoint(other);
    try (EtcdClient client = EtcdClient.connect(root.through(List.of(clients)))) {
      return new MemberContact.Works(client.admin().status(clients, PATIENCE).leaderId());
    } catch (EtcdException unanswered) {
      return unanswered(clients, unanswered);
    }
  }

  private static MemberContact.Fault unanswered(EtcdEndpoint at, EtcdException failure) {
    if (isCausedBy(failure, CertificateExpiredException.class)
        || isCausedBy(failure, CertificateNotYetValidException.class)) {
      return new MemberContact.Fault(
          "%s: its certificate is not valid by this machine's clock (%s)"
              .formatted(at, root(failure)),
          "compare the clocks of both machines, and set the wrong one: " + ClockRemedy.WAYS);
    }
    if (FailureText.causes(failure).stream().anyMatch(MemberProbe::isOtherAuthority)) {
      // All members have certificates of one CA.
      return new MemberContact.Fault(
          "%s: a server answers, and no member of this cluster: its certificate is not of this cluster's etcd, so a node of another cluster has this address"
              .formatted(at),
          "end what has the address %s in place of its node, and start that node"
              .formatted(at.host()));
    }
    InetSocketAddress address = address(at);
    Reach reach = Reach.of(address, PATIENCE);
    return switch (reach) {
      case MUTE ->
          new MemberContact.Fault(
              "%s: its etcd waits for a leader, and serves no clients before".formatted(at),
              MemberContact.ELECTION,
              false);
      case ANSWERS ->
          Status.fromThrowable(failure).getCode() == Status.Code.DEADLINE_EXCEEDED
              ? new MemberContact.Fault(at + ": " + reach.text(), reach.remedy(address))
              : new MemberContact.Fault(
                  "%s: a server answers, and not as a member should: %s"
                      .formatted(at, root(failure)),
                  "compare the address with those in polisctl etcd members; polisctl node logs --dn root.consensus of its node says what etcd does",
                  isCausedBy(failure, SSLException.class));
      case REFUSED, LOST, UNROUTED ->
          new MemberContact.Fault(
              "%s: its port for clients, but not the one for members, is closed to this node: %s"
                  .formatted(at, reach.text()),
              reach.remedy(address),
              false);
    };
  }

  /** Returns whether another CA, with another name or the same one, has signed a certificate. */
  private static boolean isOtherAuthority(Throwable cause) {
    return cause instanceof CertPathBuilderException
        || cause instanceof CertPathValidatorException invalid
            && invalid.getReason() == PKIXReason.NO_TRUST_ANCHOR;
  }

  private static boolean isCausedBy(Throwable failure, Class<? extends Throwable> kind) {
    return FailureText.causes(failure).stream().anyMatch(kind::isInstance);
  }

  @Override
  public MemberContact.Start start() {
    List<MemberContact.Fault> lost = new ArrayList<>();
    int voters = 1;
    for (String each : before) {
      String[] member = each.split("=", 2);
      if (!member[0].isEmpty()) { // a member without a name has never started, and has no vote
        voters++;
        unreached(member[0] + " at ", MemberSurvey.endpoint(member[1])).ifPresent(lost::add);
      }
    }
    return new MemberContact.Start(voters, lost);
  }

  private static Optional<MemberContact.Fault> unreached(String name, EtcdEndpoint at) {
    InetSocketAddress address = address(at);
    Reach reach = Reach.of(address, PATIENCE);
    return reach == Reach.ANSWERS
        ? Optional.empty()
        : Optional.of(
            new MemberContact.Fault(name + at + ": " + reach.text(), reach.remedy(address)));
  }

  private static InetSocketAddress address(EtcdEndpoint at) {
    return new InetSocketAddress(at.host(), at.port());
  }

  private static String root(Throwable failure) {
    Throwable root = FailureText.causes(failure).getLast();
    return root.getMessage() == null ? root.toString() : root.getMessage();
  }
}
