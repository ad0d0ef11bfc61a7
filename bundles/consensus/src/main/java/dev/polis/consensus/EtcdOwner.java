package dev.polis.consensus;

import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.health.HealthCondition;
import dev.polis.process.Account;
import dev.polis.process.ChildOwner;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Selects the account of etcd on a node that is root, and gives it its files and directories. */
final class EtcdOwner {

  private static final String AS_ROOT = "etcd-runs-as-root";
  private static final String GIVEN_BACK = "etcd-files-given-back";

  private EtcdOwner() {}

  /** Makes the directories of etcd and gives them to its account; a second call changes nothing. */
  static ChildOwner prepare(MemberParts parts, EtcdBinary binary)
      throws FileException, InterruptedException {
    EtcdFiles files = parts.files().etcd();
    files.makeWay();
    files.data().create();
    parts.files().sockets().create();
    ChildOwner owner = ChildOwner.of(Account.ETCD, binary.path(), files.path(), true);
    tellForeign(parts, owner);
    owner.give(files.peerPki().ca());
    owner.give(files.peerPki().certificate());
    owner.give(files.peerPki().key());
    owner.give(files.data(), parts.processes(), EtcdProcess.NAME);
    owner.give(parts.files().sockets(), parts.processes(), EtcdProcess.NAME);
    if (owner.isHeldBack()) {
      String remedy = owner.remedy().isEmpty() ? "" : "; to do: " + owner.remedy();
      parts
          .health()
          .set(HealthCondition.up(AS_ROOT, "etcd runs as root: " + owner.obstacle() + remedy));
    } else {
      parts.health().clear(AS_ROOT);
    }
    return owner;
  }

  /** Reports the files that belonged to another account, and which etcd now owns again. */
  private static void tellForeign(MemberParts parts, ChildOwner owner) throws FileException {
    if (owner.files() < 0) {
      return; // a node that is not root gives no files away
    }
    EtcdFiles files = parts.files().etcd();
    List<Path> foreign = new ArrayList<>();
    if (!files.data().list().isEmpty() && !files.data().isOf(owner.files())) {
      foreign.add(files.data().path());
    }
    for (FilePlacement each :
        List.of(files.peerPki().ca(), files.peerPki().certificate(), files.peerPki().key())) {
      if (each.exists() && !each.isOf(owner.files())) {
        foreign.add(each.path());
      }
    }
    if (!foreign.isEmpty()) {
      parts
          .health()
          .set(
              HealthCondition.up(
                  GIVEN_BACK,
                  "these files belonged to another account; this start gave them to etcd's account (number %d): %s"
                      .formatted(
                          owner.files(),
                          foreign.stream().map(Path::toString).collect(Collectors.joining(", ")))));
    }
  }
}
