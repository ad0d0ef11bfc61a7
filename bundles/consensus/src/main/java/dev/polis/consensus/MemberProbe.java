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

  private final ManagedProcess process;
  private final EtcdAccess root;
  private final EtcdAdmin admin;
  private final EtcdEndpoint own;
  private final List<String> before;
  private List<EtcdMember> known = List.of();

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
      admin.status(own, PATIENCE);
      return Optional.empty();
    } catch (EtcdClosedException ends) {
      return Optional.empty(); // the run ends, and etcd may work
    } catch (EtcdException unanswered) {
      InetSocketAddress address = new InetSocketAddress(own.host(), own.port());
      Reach reach = Reach.of(address, PATIENCE);
      String text =
          "etcd (pid %d) runs and answers at its socket, and not at its port %s, which all organs of this node use: %s"
              .formatted(
                  process.pid(), own, reach == Reach.ANSWERS ? root(unanswered) : reach.text());
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
  public MemberContact.Fault ask(EtcdMember silent) throws InterruptedException {
    InetSocketAddress address = address(silent.peerUrls().getFirst());
    Reach reach = Reach.of(address, PATIENCE);
    if (reach == Reach.ANSWERS
        && MemberSurvey.answer(root, silent) instanceof MemberSurvey.Silent(var _, String why)
        && !why.contains("DEADLINE_EXCEEDED")) {
      return new MemberContact.Fault(
          "%s answers, but the connection is refused: %s".formatted(HostPort.of(address), why),
          "polisctl node logs --dn root.consensus --endpoint %s shows why; give that address back to its node if a node of another cluster has it"
              .formatted(address.getHostString()));
    }
    return new MemberContact.Fault(
        HostPort.of(address) + ": " + reach.text(), reach.remedy(address));
  }

  @Override
  public List<MemberContact.Fault> unreached() {
    List<MemberContact.Fault> found = new ArrayList<>();
    for (String each : before) {
      String[] member = each.split("=", 2);
      InetSocketAddress address = address(member[1]);
      Reach reach = Reach.of(address, PATIENCE);
      if (reach != Reach.ANSWERS) {
        found.add(
            new MemberContact.Fault(
                "%s at %s: %s".formatted(member[0], HostPort.of(address), reach.text()),
                reach.remedy(address)));
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
