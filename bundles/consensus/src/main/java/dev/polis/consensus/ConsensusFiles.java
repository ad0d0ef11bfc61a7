package dev.polis.consensus;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FilePlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Names the organ's own files in {@code data/etcd/pki/}. Only the node's user can read them, secret
 * or not.
 */
final class ConsensusFiles extends DirectoryPlacement {

  /** Holds the files of members that etcd has removed, each in a folder with the member's id. */
  private static final OrganFolder REMOVED =
      new OrganFolder("etcd-removed", Mode.PRIVATE_DIRECTORY);

  private final EtcdFiles etcd;
  private final DirectoryPlacement removed;
  private final DirectoryPlacement sockets;
  private final FilePlacement member = file("member.json", Mode.SECRET);
  private final FilePlacement ca = file("ca.pem", Mode.SECRET);
  private final FilePlacement caKey = file("ca-key.pem", Mode.SECRET);
  private final FilePlacement root = file("root.pem", Mode.SECRET);
  private final FilePlacement version = file("etcd-version", Mode.SECRET);
  private final FilePlacement rootKey = file("root-key.pem", Mode.SECRET);

  ConsensusFiles(Root root) {
    super(root.data().organFolder(EtcdFiles.FOLDER).path().resolve("pki"), Mode.PRIVATE_DIRECTORY);
    this.etcd = new EtcdFiles(root);
    this.removed = root.data().organFolder(REMOVED);
    this.sockets = root.ephemeral().consensus();
  }

  /** Returns the files that etcd itself reads and writes. */
  EtcdFiles etcd() {
    return etcd;
  }

  /** Returns the folder of removed members, from which no member starts. */
  DirectoryPlacement removed() {
    return removed;
  }

  /** Returns the private keys of a member whose files were moved to this folder. */
  List<FilePlacement> keysIn(Path former) {
    return Stream.of(caKey, rootKey, etcd.peerPki().key())
        .map(key -> former.resolve(etcd.path().relativize(key.path())))
        .map(key -> new Moved(key.getParent()).key(key.getFileName().toString()))
        .toList();
  }

  /** Declares a folder of a removed member. */
  private static final class Moved extends DirectoryPlacement {
    private Moved(Path path) {
      super(path, Mode.PRIVATE_DIRECTORY);
    }

    private FilePlacement key(String name) {
      return file(name, Mode.SECRET);
    }
  }

  /** Returns etcd's working directory, where its metrics socket is. */
  DirectoryPlacement sockets() {
    return sockets;
  }

  /** Returns the member record. */
  FilePlacement member() {
    return member;
  }

  FilePlacement ca() {
    return ca;
  }

  FilePlacement caKey() {
    return caKey;
  }

  /** Returns the operator's certificate. */
  FilePlacement root() {
    return root;
  }

  /** Returns the file with etcd's version and the program's digest. */
  FilePlacement version() {
    return version;
  }

  FilePlacement rootKey() {
    return rootKey;
  }
}
