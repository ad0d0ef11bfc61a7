package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.logtree.Log;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/** Prepares a ready etcd for its clients, and completes the record. */
final class MemberSetup {

  private static final String CHANGED = "etcd-rights-changed";
  private static final String RECOVERED = "etcd-recovered";

  /** The time for which a repair is reported: after an alarm an operator looks within minutes. */
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
   * Makes users and roles, stores the CA, and publishes this member's address to the others. It
   * skips existing parts. {@link #check} covers the users and roles that an earlier start has found
   * complete.
   *
   * @throws ConsensusException if etcd differs from the member in the record; the caller then stops
   *     it
   */
  MemberAccess complete() throws InterruptedException, FileException {
    EtcdAdmin admin = root.admin();
    EtcdStatus status = admin.status(admin.endpoints().getFirst());
    String memberId = Long.toHexString(status.memberId());
    String clusterId = Long.toHexString(status.clusterId());
    ConsensusRecord record = member.record();
    boolean known = record.stage() == Stage.MEMBER || record.stage() == Stage.LEARNER;
    if (known && !record.isOf(memberId, clusterId)) {
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
    complete(record, memberId, clusterId, EtcdMembers.others(members, status.memberId()));
    if (record.stage() == Stage.RECOVERED) {
      reportRecovery(record, clusterId);
    }
    return member.access(memberId, clusterId);
  }

  /** Reports a new cluster until the next start of the organ, with the remaining steps. */
  private void reportRecovery(ConsensusRecord record, String clusterId) {
    String text =
        "etcd's cluster %s continues as cluster %s with this member alone, as ordered; the former data are in %s%s%s"
            .formatted(
                record.clusterId(),
                clusterId,
                MemberRecovery.aside(parts.files(), record),
                MemberRecovery.restored(parts.settings().recovery()),
                MemberRecovery.lost(record));
    log.warning("%s", text);
    parts.health().set(HealthCondition.up(RECOVERED, text));
  }

  /**
   * Restores the parts that a client removed from etcd after an earlier start completed it. It runs
   * while the member serves, because a dozen calls usually find no missing part.
   */
  void check() throws InterruptedException {
    if (checksLater) {
      checkRights();
      new EtcdAuthority(root).ensure(member.pki());
    }
  }

  /**
   * Restores the users, roles and rights that a client removed from etcd, and reports this for a
   * while, since other clients got less clear errors meanwhile. The run calls it, and later the
   * maintenance.
   */
  synchronized void checkRights() throws InterruptedException {
    List<String> made = new EtcdAuthSetup(root.admin()).ensure();
    Instant now = parts.clock().instant();
    if (!made.isEmpty()) {
      String what = String.join(", ", made);
      log.warning("a client removed this from etcd, and the node made it again: %s", what);
      saidUntil = now.plus(SAID);
      parts
          .health()
          .set(
              HealthCondition.degraded(
                  CHANGED,
                  "a client removed from etcd what this node needs: %s; the node made it again at %s; calls before that may have failed"
                      .formatted(what, now.truncatedTo(ChronoUnit.SECONDS)),
                  "find the program that used the key of etcd's user root, %s, and stop it from changing users and roles"
                      .formatted(parts.files().rootKey().path())));
    } else if (now.isAfter(saidUntil)) {
      parts.health().clear(CHANGED);
    }
  }

  private void ensure() throws InterruptedException {
    new EtcdAuthSetup(root.admin()).ensure();
    new EtcdAuthority(root).ensure(member.pki());
  }

  /** Writes the values for the next start, if they have changed. */
  private void complete(
      ConsensusRecord record, String memberId, String clusterId, List<String> peers)
      throws FileException {
    ConsensusRecord complete =
        record
            .complete(memberId, clusterId)
            .withAlone(peers.isEmpty())
            .withUsers(ConsensusUser.all())
            .withPeers(peers);
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

  /** Publishes this member's address to the others, if it has changed. */
  private void updatePeerUrl(EtcdAdmin admin, List<EtcdMember> members, long memberId)
      throws InterruptedException {
    List<String> urls = List.of(member.line().peerUrl());
    for (EtcdMember known : members) {
      if (known.id() == memberId && !known.peerUrls().equals(urls)) {
        requireFree(members, known, urls.getFirst());
        requireAlone(known);
        log.info("moved from %s to %s", known.peerUrls(), urls);
        admin.updatePeerUrls(memberId, urls);
      }
    }
  }

  /** Requires that this member runs only here. */
  private void requireAlone(EtcdMember known) throws InterruptedException {
    String host = MemberSurvey.endpoint(known.peerUrls().getFirst()).host();
    if (host.equals(member.address().getHostAddress())) {
      return; // another port of this machine
    }
    EtcdEndpoint there =
        new EtcdEndpoint(host, parts.settings().clientPort(), member.identity().node().text());
    MemberPreparation.requireAlone(
        parts, member.rootAccess().through(List.of(there)), known.hexId(), member.address());
  }

  /**
   * Requires that no other member has the address of a member that has moved.
   *
   * @throws ConsensusException naming the other one, and the address of before
   */
  static void requireFree(List<EtcdMember> members, EtcdMember moved, String url) {
    for (EtcdMember other : members) {
      if (other.id() != moved.id() && other.peerUrls().contains(url)) {
        throw new ConsensusException(
            "this node runs at the address of another member: etcd has %s for %s, and %s for this node; start each node with the --address that it had, this one with %s, and move one at a time"
                .formatted(
                    url,
                    other.hasStarted() ? other.name() : "member " + other.hexId(),
                    String.join(", ", moved.peerUrls()),
                    URI.create(moved.peerUrls().getFirst()).getHost()));
      }
    }
  }
}
