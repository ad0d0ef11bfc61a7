package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.files.FileException;
import dev.polis.logtree.Log;
import java.util.List;

/**
 * Makes true in a ready etcd what must be true before anybody uses it, and completes the record.
 */
final class MemberSetup {

  private final MemberParts parts;
  private final PreparedMember member;
  private final Log log;

  MemberSetup(MemberParts parts, PreparedMember member, Log log) {
    this.parts = parts;
    this.member = member;
    this.log = log;
  }

  /**
   * Makes users and roles, stores the CA, and tells the other members this one's address. What is
   * done already stays as it is.
   *
   * @param root a client of the root namespace
   * @throws ConsensusException if etcd is another member than the record says; it is stopped then
   */
  MemberAccess complete(EtcdClient root) throws InterruptedException, FileException {
    EtcdAdmin admin = root.admin();
    EtcdStatus status = admin.status(admin.endpoints().getFirst());
    String memberId = Long.toHexString(status.memberId());
    String clusterId = Long.toHexString(status.clusterId());
    ConsensusRecord record = member.record();
    if (record.stage() == Stage.MEMBER && !record.isOf(memberId, clusterId)) {
      parts.processes().stop(EtcdProcess.NAME);
      throw otherMember(memberId, clusterId);
    }
    new EtcdAuthSetup(admin).ensure();
    new EtcdAuthority(root).ensure(member.pki().authority());
    updatePeerUrl(admin, status.memberId());
    if (record.stage() == Stage.BOOTSTRAPPING) {
      record.complete(memberId, clusterId).write(parts.files().member());
    }
    return member.access(memberId, clusterId);
  }

  private ConsensusException otherMember(String memberId, String clusterId) {
    return new ConsensusException(
        "etcd came up as member %s of cluster %s, but %s says member %s of cluster %s; restore data/etcd from one copy"
            .formatted(
                memberId,
                clusterId,
                parts.files().member().path(),
                member.record().memberId(),
                member.record().clusterId()));
  }

  /** Tells the cluster where this member is now, if it has moved. */
  private void updatePeerUrl(EtcdAdmin admin, long memberId) throws InterruptedException {
    List<String> urls = List.of(member.line().peerUrl());
    for (EtcdMember known : admin.members()) {
      if (known.id() == memberId && !known.peerUrls().equals(urls)) {
        log.info("moved from %s to %s", known.peerUrls(), urls);
        admin.updatePeerUrls(memberId, urls);
      }
    }
  }
}
