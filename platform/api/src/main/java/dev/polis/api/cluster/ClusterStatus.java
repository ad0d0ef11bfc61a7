package dev.polis.api.cluster;

import dev.polis.etcd.EtcdAccess;
import dev.polis.pki.NodeCredentials;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/** One snapshot of how this node stands towards its cluster. Immutable. */
@ProviderType
public interface ClusterStatus {

  /** Returns the state. */
  ClusterState state();

  /** Returns why the node is in this state, or what it waits for, as one line for people. */
  String reason();

  /** Returns the node's credentials; present from HOME on. */
  Optional<NodeCredentials> credentials();

  /** Returns whether this node runs a member of consensus itself. */
  boolean hasLocalConsensus();

  /**
   * Hands out the way to etcd for one named user. The access stays valid over restarts of etcd and
   * of the organs; its calls fail or wait while there is no quorum.
   *
   * @param user the user; each has its own etcd user and key prefix
   * @throws ConsensusUnavailableException in any state but HOME and SPLIT, or if this node has no
   *     local consensus; the message names the state
   */
  EtcdAccess consensusClient(ConsensusUser user);
}
