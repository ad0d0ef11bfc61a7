package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.FileTree;
import dev.polis.files.Stored;
import dev.polis.pki.NodeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Decides by the disk alone whether a member may start. This prevents a second bootstrap: etcd
 * itself treats an empty data directory as a new cluster at any time.
 */
final class ConsensusDisk {

  private final ConsensusFiles files;
  private final RecoveryOrder order;

  ConsensusDisk(ConsensusFiles files) {
    this(files, RecoveryOrder.NONE);
  }

  /**
   * @param order the order of a new cluster, which a start of a member fulfils
   */
  ConsensusDisk(ConsensusFiles files, RecoveryOrder order) {
    this.files = files;
    this.order = order;
  }

  /**
   * Allows a bootstrap to begin or to continue; writes the record if there is none.
   *
   * @return the record, of either stage
   */
  ConsensusRecord allowNew(NodeId node) throws FileException {
    return switch (ConsensusRecord.read(files.member())) {
      case Stored.None<ConsensusRecord> _ -> begin(node);
      case Stored<ConsensusRecord> stored -> checked(stored.orThrow(), node);
    };
  }

  /**
   * Records an invitation, and stores the keys for it. Another invitation replaces one without
   * data, since the members of the cluster may have changed meanwhile.
   *
   * @return false if the disk already had this invitation
   * @throws ConsensusException if the disk has another member
   */
  boolean recordInvitation(NodeId node, ConsensusInvitation invitation) throws FileException {
    Optional<ConsensusRecord> present = member();
    ConsensusRecord learner =
        ConsensusRecord.learner(
            node.text(), invitation.memberId(), invitation.clusterId(), invitation.others());
    if (present.equals(Optional.of(learner)) && ConsensusPki.isStored(files, invitation)) {
      return false;
    }
    if (present.isPresent() && (present.get().stage() != Stage.LEARNER || hasData())) {
      throw new ConsensusException(
          "%s already has the record of member %s; take the role ConsensusMember from this node and give it again"
              .formatted(files.member().path(), present.get().memberId()));
    }
    if (present.isEmpty()) {
      requireNothing();
    }
    // The record comes first, as in a bootstrap.
    learner.write(files.member());
    ConsensusPki.store(files, invitation);
    return true;
  }

  /**
   * Returns the record of the member; empty if there is none.
   *
   * @throws ConsensusException if it is damaged
   */
  Optional<ConsensusRecord> member() throws FileException {
    return switch (ConsensusRecord.read(files.member())) {
      case Stored.None<ConsensusRecord> _ -> Optional.empty();
      case Stored<ConsensusRecord> stored -> Optional.of(stored.orThrow());
    };
  }

  /**
   * Moves all files of the member to the removed ones, in one step: no member starts from them. It
   * keeps the data, because an operator may have removed the member by mistake, erases its keys,
   * and deletes the files of earlier members, of which each takes 128 MiB or more.
   *
   * @return the new folder
   */
  Path setAside(ConsensusRecord record) throws FileException {
    Path from = files.etcd().path();
    Path to = files.removed().path().resolve(record.memberId());
    files.removed().create();
    try {
      FileTree.empty(files.removed().path());
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
      for (FilePlacement key : files.keysIn(to)) {
        key.erase();
      }
      return to;
    } catch (IOException stays) {
      throw new FileException(
          Problem.IO,
          "cannot move the files of the removed member %s from %s to %s: %s"
              .formatted(record.memberId(), from, to, stays),
          "check the disk",
          stays);
    }
  }

  /**
   * Erases all files of the member and of removed ones.
   *
   * @return whether there were any
   */
  boolean erase() throws FileException {
    List<Path> folders = List.of(files.etcd().path(), files.removed().path());
    boolean found = folders.stream().anyMatch(Files::exists);
    // The record goes first: no member starts from the rest of an interrupted erasure.
    files.member().erase();
    for (Path each : folders) {
      try {
        FileTree.erase(each);
      } catch (IOException stays) {
        throw new FileException(
            Problem.IO, "cannot erase %s: %s".formatted(each, stays), "check the disk", stays);
      }
    }
    return found;
  }

  /** Allows a member to start that has a vote, or was invited. */
  ConsensusRecord allowExisting(NodeId node) throws FileException {
    ConsensusRecord record =
        switch (ConsensusRecord.read(files.member())) {
          case Stored.None<ConsensusRecord> none ->
              throw new ConsensusException(
                  "%s has no consensus member: %s does not exist; bootstrap a cluster on it, give it the role ConsensusMember in another, or restore data/etcd from a copy"
                      .formatted(node, none.path()));
          case Stored<ConsensusRecord> stored -> checked(stored.orThrow(), node);
        };
    if (record.stage() == Stage.BOOTSTRAPPING) {
      throw new ConsensusException(
          "the bootstrap of consensus on %s did not finish, as %s says; let the bootstrap continue"
              .formatted(node, files.member().path()));
    }
    return record;
  }

  /** Checks again before each start of a process: data may have been lost while the node ran. */
  void checkData(ConsensusRecord record) throws FileException {
    boolean complete = record.stage() == Stage.MEMBER || record.stage() == Stage.RECOVERED;
    if (complete && !hasData() && !MemberRecovery.hasData(files.etcd())) {
      throw new ConsensusException(
          ("the data of etcd member %s of cluster %s is gone: %s holds no write-ahead log. The"
                  + " node does not initialise a member twice; restore its data from a snapshot: ./polis up --force-new-cluster %s --restore FILE%s")
              .formatted(
                  record.memberId(),
                  record.clusterId(),
                  files.etcd().data().path(),
                  record.clusterId(),
                  record.alone()
                      ? ""
                      : ", or move %s away and restart the node, which then joins the other members anew"
                          .formatted(files.etcd().path())));
    }
  }

  private ConsensusRecord begin(NodeId node) throws FileException {
    requireNothing();
    // The record comes first. So keys without a record are the remains of a member, and not of an
    // interrupted start.
    ConsensusRecord record = ConsensusRecord.bootstrapping(node.text());
    record.write(files.member());
    return record;
  }

  /** Refuses the remains of a member without a record. */
  private void requireNothing() throws FileException {
    for (var directory : List.of(files.etcd().data(), files.etcd().peerPki(), files)) {
      directory.removeTemporaryFiles();
      if (!directory.list().isEmpty()) {
        throw directory.occupied(
            "a new consensus member",
            "%s, which names the owner of the data, does not exist; restore this file, or move %s away if you do not need it"
                .formatted(files.member().path(), files.etcd().path()));
      }
    }
  }

  private ConsensusRecord checked(ConsensusRecord record, NodeId node) throws FileException {
    if (!record.node().equals(node.text())) {
      throw new ConsensusException(
          "%s belongs to node %s, but this node is %s; restore the disk of this node"
              .formatted(files.etcd().path(), record.node(), node));
    }
    order.requireFits(record, files.member().path());
    if (!order.wants(record)) {
      checkData(record);
    }
    return record;
  }

  /**
   * Removes the data of an interrupted bootstrap. A loss of power or a full disk during etcd's
   * first start can leave a truncated database, or a log without the entry that makes the member a
   * voter of its own cluster; etcd never elects a leader then. Until the record is complete, the
   * organ has confirmed nothing to a caller, and a new start makes all of it again. Call this only
   * while etcd does not run.
   */
  void removeUnfinishedData(ConsensusRecord record) throws FileException {
    if (record.stage() != Stage.BOOTSTRAPPING || !files.etcd().data().exists()) {
      return;
    }
    Path data = files.etcd().data().path();
    try {
      FileTree.empty(data);
    } catch (IOException undeletable) {
      throw new FileException(
          Problem.IO,
          "cannot remove the files that a first start of etcd left in %s: %s"
              .formatted(data, undeletable),
          "check the disk",
          undeletable);
    }
  }

  /** Returns whether etcd has ever written its log here. */
  boolean hasData() throws FileException {
    Path log = files.etcd().data().path().resolve("member").resolve("wal");
    if (!Files.isDirectory(log)) {
      return false;
    }
    try (Stream<Path> segments = Files.list(log)) {
      return segments.anyMatch(segment -> segment.toString().endsWith(".wal"));
    } catch (IOException unreadable) {
      throw new FileException(
          Problem.IO, "cannot read " + log, "check the disk; nothing was changed", unreadable);
    }
  }
}
