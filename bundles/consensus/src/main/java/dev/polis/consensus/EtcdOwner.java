package dev.polis.consensus;

import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.process.Account;
import dev.polis.process.ChildOwner;

/** Finds out whose etcd is where the node is root, and gives it its files and directories. */
final class EtcdOwner {

  private static final String AS_ROOT = "etcd-runs-as-root";

  private EtcdOwner() {}

  /** Makes the directories of etcd and gives it all it needs; repeated, it changes nothing. */
  static ChildOwner prepare(MemberParts parts, EtcdBinary binary)
      throws FileException, InterruptedException {
    EtcdFiles files = parts.files().etcd();
    files.makeWay();
    files.data().create();
    parts.files().sockets().create();
    ChildOwner owner = ChildOwner.of(Account.ETCD, binary.path(), files.path(), true);
    owner.give(files.peerPki().ca());
    owner.give(files.peerPki().certificate());
    owner.give(files.peerPki().key());
    owner.give(files.data(), parts.processes(), EtcdProcess.NAME);
    owner.give(parts.files().sockets(), parts.processes(), EtcdProcess.NAME);
    if (owner.isHeldBack()) {
      parts.health().set(HealthCondition.up(AS_ROOT, "etcd runs as root: " + owner.obstacle()));
    } else {
      parts.health().clear(AS_ROOT);
    }
    return owner;
  }
}
