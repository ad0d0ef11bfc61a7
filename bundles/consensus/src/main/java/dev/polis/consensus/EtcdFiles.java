package dev.polis.consensus;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import java.nio.file.Path;
import java.util.List;

/** Names etcd's own files, in the organ's folder on the data volume. */
final class EtcdFiles {

  /** The organ's folder, {@code data/etcd/}; on a node that is root, etcd passes through it. */
  static final OrganFolder FOLDER = new OrganFolder("etcd", Mode.PASSABLE_DIRECTORY);

  private final Root root;
  private final FolderPlacement folder;
  private final DirectoryPlacement data;
  private final DirectoryPlacement recovery;
  private final PeerPki peerPki;

  EtcdFiles(Root root) {
    this.root = root;
    folder = root.data().organFolder(FOLDER);
    data = folder.declareDirectory("data", Mode.PRIVATE_DIRECTORY);
    recovery = folder.declareDirectory("recovery", Mode.PRIVATE_DIRECTORY);
    peerPki = new PeerPki(folder);
  }

  /** Returns the organ's folder. */
  Path path() {
    return folder.path();
  }

  /** Makes the folders of etcd's input, and lets etcd pass through those above. */
  void makeWay() throws FileException {
    folder.create();
    peerPki.create();
    for (DirectoryPlacement each : List.of(root, root.data(), folder, peerPki)) {
      each.letOthersPass();
    }
  }

  /** Returns etcd's own directory, which only its owner may read, as etcd checks. */
  DirectoryPlacement data() {
    return data;
  }

  /** Returns the directory in which the data of a new cluster are made from those of a lost one. */
  DirectoryPlacement recovery() {
    return recovery;
  }

  /** Returns the keys and certificates between members. */
  PeerPki peerPki() {
    return peerPki;
  }

  /** Declares {@code data/etcd/peer_pki/}. */
  static final class PeerPki extends DirectoryPlacement {
    private final FilePlacement ca = file("ca.pem", Mode.SECRET);
    private final FilePlacement certificate = file("cert.pem", Mode.SECRET);
    private final FilePlacement key = file("key.pem", Mode.SECRET);

    private PeerPki(FolderPlacement etcd) {
      super(etcd, "peer_pki", Mode.PASSABLE_DIRECTORY);
    }

    /** Returns the CA of members. */
    FilePlacement ca() {
      return ca;
    }

    /** Returns this member's certificate. */
    FilePlacement certificate() {
      return certificate;
    }

    /** Returns this member's private key, which has no other use. */
    FilePlacement key() {
      return key;
    }
  }
}
