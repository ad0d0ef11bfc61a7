package dev.polis.consensus;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FilePlacement;
import dev.polis.files.Mode;
import dev.polis.files.layout.Root;

/**
 * The organ's own files: {@code data/etcd/pki/}, beside etcd's. All are readable by the node's user
 * alone, certificates too, so that nobody has to know which file is secret.
 */
final class ConsensusFiles extends DirectoryPlacement {

  private final Root.Etcd etcd;
  private final DirectoryPlacement sockets;
  private final FilePlacement member = file("member.json", Mode.SECRET);
  private final FilePlacement ca = file("ca.pem", Mode.SECRET);
  private final FilePlacement caKey = file("ca-key.pem", Mode.SECRET);
  private final FilePlacement root = file("root.pem", Mode.SECRET);
  private final FilePlacement version = file("etcd-version", Mode.SECRET);
  private final FilePlacement rootKey = file("root-key.pem", Mode.SECRET);

  ConsensusFiles(Root root) {
    super(root.data().etcd().path().resolve("pki"), Mode.PRIVATE_DIRECTORY);
    this.etcd = root.data().etcd();
    this.sockets = root.ephemeral().consensus();
  }

  /** What etcd itself reads and writes. */
  Root.Etcd etcd() {
    return etcd;
  }

  /** etcd's working directory, where its metrics socket is. */
  DirectoryPlacement sockets() {
    return sockets;
  }

  /** How far the member came. */
  FilePlacement member() {
    return member;
  }

  FilePlacement ca() {
    return ca;
  }

  FilePlacement caKey() {
    return caKey;
  }

  /** The operator's certificate. */
  FilePlacement root() {
    return root;
  }

  /** What etcd said of its version, and which etcd that was. */
  FilePlacement version() {
    return version;
  }

  FilePlacement rootKey() {
    return rootKey;
  }
}
