package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FileTree;
import dev.polis.files.Stored;
import dev.polis.pki.NodeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Decides by the disk alone whether a member may start. This prevents a second bootstrap: etcd
 * itself treats an empty data directory as a new cluster at any time.
 */
final class ConsensusDisk {

  private final ConsensusFiles files;

  ConsensusDisk(ConsensusFiles files) {
    this.files = files;
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

  /** Allows a complete member to start. */
  ConsensusRecord allowExisting(NodeId node) throws FileException {
    ConsensusRecord record =
        switch (ConsensusRecord.read(files.member())) {
          case Stored.None<ConsensusRecord> none ->
              throw new ConsensusException(
                  "%s has no consensus member: %s does not exist; bootstrap a cluster on it, or restore data/etcd from a copy"
                      .formatted(node, none.path()));
          case Stored<ConsensusRecord> stored -> checked(stored.orThrow(), node);
        };
    if (record.stage() != Stage.MEMBER) {
      throw new ConsensusException(
          "the bootstrap of consensus on %s did not finish, as %s says; let the bootstrap continue"
              .formatted(node, files.member().path()));
    }
    return record;
  }

  /** Checks again before each start of a process: data may have been lost while the node ran. */
  void checkData(ConsensusRecord record) throws FileException {
    if (record.stage() == Stage.MEMBER && !hasData()) {
      throw new ConsensusException(
          ("the data of etcd member %s of cluster %s is gone: %s holds no write-ahead log. The"
                  + " node does not initialise a member twice; restore its data from a snapshot")
              .formatted(record.memberId(), record.clusterId(), files.etcd().data().path()));
    }
  }

  private ConsensusRecord begin(NodeId node) throws FileException {
    // The record comes first. So keys without a record are the remains of a member, and not of an
    // interrupted start.
    for (var directory : List.of(files.etcd().data(), files.etcd().peerPki(), files)) {
      directory.removeTemporaryFiles();
      if (!directory.list().isEmpty()) {
        throw directory.occupied(
            "a new consensus member",
            "%s, which names the owner of the data, does not exist; restore this file, or move %s away if you do not need it"
                .formatted(files.member().path(), files.etcd().path()));
      }
    }
    ConsensusRecord record = ConsensusRecord.bootstrapping(node.text());
    record.write(files.member());
    return record;
  }

  private ConsensusRecord checked(ConsensusRecord record, NodeId node) throws FileException {
    if (!record.node().equals(node.text())) {
      throw new ConsensusException(
          "%s belongs to node %s, but this node is %s; restore the disk of this node"
              .formatted(files.etcd().path(), record.node(), node));
    }
    checkData(record);
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
