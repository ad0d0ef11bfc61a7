package dev.polis.cluster;

import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeEndpoint;
import dev.polis.wire.common.ClusterDirectory;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/** Reads the curators of other nodes that this node knew last, from the directory on the ESP. */
final class KnownCurators {

  private final EnrolmentOrgans organs;
  private final Log log;

  KnownCurators(EnrolmentOrgans organs, Log log) {
    this.organs = organs;
    this.log = log;
  }

  /** Returns the curators; empty if the directory is missing or damaged, or this node has none. */
  Set<NodeEndpoint> elsewhere() {
    return directory()
        .map(directory -> CuratorAddresses.elsewhere(directory, organs.address().orElseThrow()))
        .orElse(Set.of());
  }

  private Optional<ClusterDirectory> directory() {
    return switch (organs
        .storage()
        .root()
        .esp()
        .clusterDirectory()
        .read(ClusterDirectory.parser())
        .map(KnownCurators::checked)) {
      case Stored.Present<ClusterDirectory>(var path, var directory) -> Optional.of(directory);
      case Stored.None<ClusterDirectory> none -> Optional.empty();
      case Stored.Corrupted<ClusterDirectory>(var path, var reason) -> ignored(path, reason);
      case Stored.Unreadable<ClusterDirectory>(var path, var reason, var cause) ->
          ignored(path, reason);
    };
  }

  private static ClusterDirectory checked(ClusterDirectory directory) {
    if (CuratorAddresses.of(directory).isEmpty()) {
      throw new IllegalArgumentException("it names no address");
    }
    return directory;
  }

  private Optional<ClusterDirectory> ignored(Path path, String reason) {
    log.warning(
        "the node ignores the cluster directory %s (%s), as a node that keeps the records itself",
        path, reason);
    return Optional.empty();
  }
}
