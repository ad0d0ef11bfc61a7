package dev.polis.consensus;

import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdException;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.RestoredNotice;
import dev.polis.supervision.Context;
import java.time.Duration;
import java.util.List;

/**
 * Renews the member's certificates, checks its users and rights, and maintains its database, in
 * each interval.
 */
final class MemberMaintenance {

  private final MemberParts parts;
  private final PreparedMember member;
  private final MemberAccess access;
  private final EtcdAdmin admin;
  private final MemberState state;
  private final MemberSetup setup;
  private final MemberPreparation preparation;

  MemberMaintenance(
      MemberParts parts,
      PreparedMember member,
      MemberAccess access,
      EtcdAdmin admin,
      MemberState state,
      MemberSetup setup,
      MemberPreparation preparation) {
    this.parts = parts;
    this.member = member;
    this.access = access;
    this.admin = admin;
    this.state = state;
    this.setup = setup;
    this.preparation = preparation;
  }

  void run(Context context) throws InterruptedException, FileException {
    EtcdMaintenance database =
        new EtcdMaintenance(admin, access.endpoint(), parts.settings(), context.log());
    RestoredNotice room =
        new RestoredNotice(MemberMaintenance::madeRoom, parts.health(), parts.clock());
    try {
      run(context, database, room);
    } finally {
      room.close();
    }
  }

  private static HealthCondition madeRoom(String text) {
    return new HealthCondition(
        HealthLevel.UP,
        "etcd-made-room",
        text,
        "find the client that writes so much (polisctl etcd status prints the options of etcdctl, and etcdctl watch --prefix '' shows the writes), or give etcd more room: start the node with a larger --set dev.polis.consensus.quota.bytes=BYTES");
  }

  private void run(Context context, EtcdMaintenance database, RestoredNotice room)
      throws InterruptedException, FileException {
    List<String> alarms = List.of();
    Duration sinceLast = Duration.ZERO;
    context.healthy();
    while (true) {
      long start = System.nanoTime();
      boolean renewed = renewCertificates(context);
      try {
        if (sinceLast.isPositive()) {
          setup.checkRights();
        }
        EtcdMaintenance.Findings found = database.check(sinceLast);
        if (!found.madeRoom().isEmpty()) {
          room.tell(found.madeRoom(), context.log());
        }
        room.look();
        List<String> now = found.alarms();
        List<String> others = EtcdMembers.others(admin.members(), found.status().memberId());
        preparation.peers(others);
        if (!others.isEmpty()) {
          state.othersKnown();
        }
        if (renewed || !now.equals(alarms)) {
          alarms = now;
          state.update(access.running(alarms));
        }
      } catch (EtcdException unanswered) {
        context.log().warning("maintenance waits until its next turn: %s", unanswered.getMessage());
      }
      state.awaitMaintenance(parts.settings().maintenance());
      sinceLast = Duration.ofNanos(System.nanoTime() - start);
    }
  }

  /** Renews the due certificates; returns whether a user's certificate was due. */
  private boolean renewCertificates(Context context) throws FileException {
    boolean users = member.pki().renewUsers();
    if (users) {
      state.identities().renew(member.pki());
    }
    if (member.pki().ensureMember(member.identity(), member.address())) {
      context.log().info("renewed the certificate that etcd shows");
    }
    member.pki().ensureOperator();
    return users;
  }
}
