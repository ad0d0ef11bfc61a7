package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.process.ChildOwner;
import java.net.InetAddress;
import java.util.List;

/**
 * Holds the known data of a member before its etcd runs.
 *
 * @param identity this node's identity
 * @param address the address of this node
 * @param record the earlier progress of the member
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

  /** Returns root's access, which works even before other users exist. */
  EtcdAccess rootAccess() {
    return access(List.of(), "", "").access(ConsensusUser.ROOT);
  }

  /**
   * Returns the access of all users, once they exist.
   *
   * @param memberId the member's id in hexadecimal
   * @param clusterId the cluster's id in hexadecimal
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
