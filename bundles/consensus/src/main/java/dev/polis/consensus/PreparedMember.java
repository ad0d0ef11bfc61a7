package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.process.ChildOwner;
import java.net.InetAddress;
import java.util.List;

/**
 * Holds all that is known about a member before its etcd runs.
 *
 * @param identity this node's identity
 * @param address of this node
 * @param record how far the member came before
 * @param pki its keys and certificates
 * @param line its command line
 * @param owner the account that runs the process
 */
record PreparedMember(
    ConsensusIdentity identity,
    InetAddress address,
    ConsensusRecord record,
    ConsensusPki pki,
    EtcdCommandLine line,
    ChildOwner owner) {

  /** Returns the access of root, which works before there are users. */
  EtcdAccess rootAccess() {
    return access(List.of(), "", "").access(ConsensusUser.ROOT);
  }

  /**
   * Returns the access of all users, once there are any.
   *
   * @param memberId in hexadecimal
   * @param clusterId in hexadecimal
   */
  MemberAccess access(String memberId, String clusterId) {
    return access(List.of(line.peerUrl()), memberId, clusterId);
  }

  private MemberAccess access(List<String> peerUrls, String memberId, String clusterId) {
    String name = identity.node().text();
    return new MemberAccess(
        pki,
        new EtcdEndpoint(address.getHostAddress(), line.settings().clientPort(), name),
        new ConsensusMember(name, memberId, clusterId, peerUrls, List.of(line.clientUrl()), false));
  }
}
