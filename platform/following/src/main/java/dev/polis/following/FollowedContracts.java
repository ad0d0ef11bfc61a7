package dev.polis.following;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.containers.Containers;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.storage.Storage;
import java.util.List;

/**
 * Lists the contracts that are followed: those of which a node needs one provider. A contract that
 * any number of bundles provide, such as a role, is bound by its users dynamically.
 */
final class FollowedContracts {
  /** The name space in which the bundle declares them, for the boot plan. */
  static final String CAPABILITY = "polis.following";

  /** The list as the bundle's manifest has it; a test compares it with {@link #ALL}. */
  static final String DECLARED =
      "objectClass:List<String>=\"dev.polis.api.storage.Storage,dev.polis.api.network.Network,"
          + "dev.polis.api.consensus.Consensus,dev.polis.api.curator.Curator,"
          + "dev.polis.api.cluster.ClusterManager,dev.polis.api.roles.LocalRoleServer,"
          + "dev.polis.api.containers.Containers\"";

  static final List<Class<?>> ALL =
      List.of(
          Storage.class,
          Network.class,
          Consensus.class,
          Curator.class,
          ClusterManager.class,
          LocalRoleServer.class,
          Containers.class);

  private FollowedContracts() {}
}
