package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.logtree.Log;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * Makes true in a ready etcd what must be true before anybody uses it, and completes the record.
 */
final class MemberSetup {

  private static final String CHANGED = "etcd-rights-changed";

  /** A person whom failed calls have alarmed looks within minutes. */
  private static final Duration SAID = Duration.ofMinutes(10);

  private final MemberParts parts;
  private final PreparedMember member;
  private final EtcdClient root;
  private final Log log;
  private boolean checksLater;
  private Instant saidUntil = Instant.MIN; // guarded by this

  /**
   * @param root a client of the root namespace
   */
  MemberSetup(MemberParts parts, PreparedMember member, EtcdClient root, Log log) {
    this.parts = parts;
    this.member = member;
    this.root = root;
    this.log = log;
  }

  /**
   * Makes users and roles, stores the CA, and tells the other members this one's address. What is
   * done already stays as it is. Users and roles that an earlier start has found complete are left
   * to {@link #check}.
   *
   * @throws ConsensusException if etcd is another member than the record says; it is stopped then
   */
  MemberAccess complete() throws InterruptedException, FileException {
    EtcdAdmin admin = root.admin();
    EtcdStatus status = admin.status(admin.endpoints().getFirst());
    String memberId = Long.toHexString(status.memberId());
    String clusterId = Long.toHexString(status.clusterId());
    ConsensusRecord record = member.record();
    if (record.stage() == Stage.MEMBER && !record.isOf(memberId, clusterId)) {
      parts.processes().stop(EtcdProcess.NAME);
      throw otherMember(memberId, clusterId);
    }
    checksLater =
        record.users().equals(ConsensusUser.all())
            && new EtcdAuthority(root).holds(member.pki().authority());
    if (!checksLater) {
      ensure();
    }
    List<EtcdMember> members = admin.members();
    updatePeerUrl(admin, members, status.memberId());
    complete(record, memberId, clusterId, members.size() == 1);
    return member.access(memberId, clusterId);
  }

  /**
   * Makes again what was removed from etcd after an earlier start completed it. It comes after the
   * member serves, because a dozen calls usually find that nothing is missing.
   */
  void check() throws InterruptedException {
    if (checksLater) {
      checkRights();
      new EtcdAuthority(root).ensure(member.pki().authority());
    }
  }

  /**
   * Makes users, roles and rights again that were removed from etcd, and says so for a while: the
   * errors that their users got meanwhile are less clear. Called by the run and, later, by the
   * maintenance.
   */
  synchronized void checkRights() throws InterruptedException {
    List<String> made = new EtcdAuthSetup(root.admin()).ensure();
    Instant now = parts.clock().instant();
    if (!made.isEmpty()) {
      String what = String.join(", ", made);
      log.warning("somebody took this from etcd, and it was made again: %s", what);
      saidUntil = now.plus(SAID);
      parts
          .health()
          .set(
              HealthCondition.degraded(
                  CHANGED,
                  "somebody took from etcd what this node needs: %s; it was made again at %s, and calls failed before"
                      .formatted(what, now.truncatedTo(ChronoUnit.SECONDS)),
                  "find out what used the key of etcd's user root, %s, and let it leave users and roles alone"
                      .formatted(parts.files().rootKey().path())));
    } else if (now.isAfter(saidUntil)) {
      parts.health().clear(CHANGED);
    }
  }

  private void ensure() throws InterruptedException {
    new EtcdAuthSetup(root.admin()).ensure();
    new EtcdAuthority(root).ensure(member.pki().authority());
  }

  /** Writes what the next start must know, if it is anything new. */
  private void complete(ConsensusRecord record, String memberId, String clusterId, boolean alone)
      throws FileException {
    ConsensusRecord complete =
        record.complete(memberId, clusterId).withAlone(alone).withUsers(ConsensusUser.all());
    if (!complete.equals(record)) {
      complete.write(parts.files().member());
    }
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
  private void updatePeerUrl(EtcdAdmin admin, List<EtcdMember> members, long memberId)
      throws InterruptedException {
    List<String> urls = List.of(member.line().peerUrl());
    for (EtcdMember known : members) {
      if (known.id() == memberId && !known.peerUrls().equals(urls)) {
        log.info("moved from %s to %s", known.peerUrls(), urls);
        admin.updatePeerUrls(memberId, urls);
      }
    }
  }
}
