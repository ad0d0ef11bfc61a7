package dev.polis.consensus;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.process.ManagedProcess;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.Reach;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Asks the local etcd by its socket and its port, and the other members by their ports. */
final class MemberProbe implements MemberContact.Etcd {

  /** The time for an answer, which takes milliseconds. */
  private static final Duration PATIENCE = MemberSurvey.PATIENCE;

  /** The meaning of each failed handshake: all members have certificates of one CA. */
  private static final String OTHER_CA =
      "its certificate is not of this cluster's etcd, so a node of another cluster has this address";

  private final ManagedProcess process;
  private final EtcdAccess root;
  private final EtcdAdmin admin;
  private final EtcdEndpoint own;
  private final List<String> before;
  private List<EtcdMember> known = List.of();
  private long memberId; // 0 until etcd has told it

  /**
   * @param root root's access to the local member
   * @param admin a client of the same
   * @param before the other members at the last check, each as {@code NAME=URL}
   */
  MemberProbe(ManagedProcess process, EtcdAccess root, EtcdAdmin admin, List<String> before) {
    this.process = process;
    this.root = root;
    this.admin = admin;
    this.own = admin.endpoints().getFirst();
    this.before = before;
  }

  @Override
  public Optional<EtcdFigures> figures() {
    return EtcdHttp.figures(process);
  }

  @Override
  public Optional<MemberContact.Fault> ownPort() throws InterruptedException {
    try {
      memberId = admin.status(own, PATIENCE).memberId();
      return Optional.empty();
    } catch (EtcdClosedException ends) {
      return Optional.empty(); // the run ends, and etcd may work
    } catch (EtcdException unanswered) {
      InetSocketAddress address = new InetSocketAddress(own.host(), own.port());
      Reach reach = Reach.of(address, PATIENCE);
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

  @Override
  public List<EtcdMember> members() throws InterruptedException {
    try {
      known = admin.members(own, PATIENCE);
    } catch (EtcdException unanswered) {
      // The members of before are the best that is known; the port is checked at each look.
      return known;
    }
    return known;
  }

  @Override
  public Optional<MemberContact.Fault> ask(EtcdMember other) throws InterruptedException {
    if (other.id() == memberId) {
      return Optional.empty();
    }
    InetSocketAddress address = address(other.peerUrls().getFirst());
    Reach reach = Reach.of(address, PATIENCE);
    String at = HostPort.of(address);
    if (reach != Reach.ANSWERS) {
      return Optional.of(fault(at, reach, address));
    }
    return switch (MemberSurvey.answer(root, other)) {
      case MemberSurvey.Answered _ -> Optional.empty();
      case MemberSurvey.Silent(var _, String why) when why.contains("DEADLINE_EXCEEDED") ->
          Optional.of(fault(at, reach, address));
      case MemberSurvey.Silent(var _, String why) ->
          Optional.of(
              new MemberContact.Fault(
                  "%s: a server answers, and no member of this cluster: %s"
                      .formatted(at, why.contains("SSL") ? OTHER_CA : why),
                  "end what has the address %s in place of its node, and start that node"
                      .formatted(address.getHostString())));
    };
  }

  private static MemberContact.Fault fault(String at, Reach reach, InetSocketAddress address) {
    return new MemberContact.Fault(at + ": " + reach.text(), reach.remedy(address));
  }

  @Override
  public List<MemberContact.Fault> unreached() {
    List<MemberContact.Fault> found = new ArrayList<>();
    for (String each : before) {
      String[] member = each.split("=", 2);
      InetSocketAddress address = address(member[1]);
      Reach reach = Reach.of(address, PATIENCE);
      if (reach != Reach.ANSWERS) {
        found.add(fault(member[0] + " at " + HostPort.of(address), reach, address));
      }
    }
    return found;
  }

  private static InetSocketAddress address(String url) {
    URI at = URI.create(url);
    return new InetSocketAddress(at.getHost(), at.getPort());
  }

  private static String root(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.getMessage() == null ? root.toString() : root.getMessage();
  }
}
