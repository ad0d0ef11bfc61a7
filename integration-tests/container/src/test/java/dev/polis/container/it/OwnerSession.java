package dev.polis.container.it;

import dev.polis.api.roles.RoleName;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.roles.RoleChange;
import io.grpc.ManagedChannel;
import java.util.concurrent.TimeUnit;

/**
 * Calls the curator as the owner of the cluster, without retries.
 *
 * @param channel connected with the owner's certificate
 * @param node id of the node
 */
record OwnerSession(ManagedChannel channel, String node) implements AutoCloseable {

  /** Adds a role to the node, or removes it. */
  void changeRole(RoleName role, boolean wanted) throws Exception {
    ManagementGrpc.newBlockingV2Stub(channel)
        .withWaitForReady()
        .withDeadlineAfter(Bundles.PATIENCE.toSeconds(), TimeUnit.SECONDS)
        .updateNodeRoles(
            UpdateNodeRolesRequest.newBuilder()
                .setId(node)
                .addOthers(RoleChange.newBuilder().setName(role.text()).setWanted(wanted))
                .build());
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
