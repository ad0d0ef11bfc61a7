package dev.polis.api.cluster;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.EtcdAccess;
import dev.polis.pki.NodeCredentials;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/** Is one snapshot of this node's standing in its cluster. Immutable. */
@ProviderType
public interface ClusterStatus {

  ClusterState state();

  /** Returns the reason of the state, or the awaited event, as one line for people. */
  String reason();

  /** Returns the node's credentials; empty before HOME, and in DISOWNING. */
  Optional<NodeCredentials> credentials();

  /** Returns whether this node runs a member of consensus itself. */
  boolean hasLocalConsensus();

  /**
   * Returns the access to etcd for one user. The access stays valid over restarts of etcd and of
   * the organs; its calls fail or wait while there is no quorum.
   *
   * @param user the user; each has its own etcd user and key prefix
   * @throws ConsensusUnavailableException in any state but HOME and SPLIT, or if this node has no
   *     local consensus; the message names the state
   */
  EtcdAccess consensusClient(ConsensusUser user);

  /**
   * Waits while this node is a member.
   *
   * @throws DisownedException once it is none
   */
  static void awaitDisowned(Value<? extends ClusterStatus> status) throws InterruptedException {
    try (Watcher<? extends ClusterStatus> watcher = status.watch()) {
      throw new DisownedException(
          watcher.get(now -> now.state() == ClusterState.DISOWNING).reason());
    }
  }
}
