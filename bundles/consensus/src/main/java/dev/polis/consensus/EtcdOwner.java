package dev.polis.consensus;

import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.process.Account;
import dev.polis.process.ChildOwner;

/** Finds out whose etcd is where the node is root, and gives it its files and directories. */
final class EtcdOwner {

  private static final String AS_ROOT = "etcd-runs-as-root";
  private static final String GIVEN_BACK = "etcd-files-given-back";

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
    if (owner.files() >= 0 && !files.data().list().isEmpty() && !files.data().isOf(owner.files())) {
      parts
          .health()
          .set(
              HealthCondition.up(
                  GIVEN_BACK,
                  "files in %s belonged to another account than etcd's (number %d); they were given to it at this start"
                      .formatted(files.data().path(), owner.files())));
    }
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
