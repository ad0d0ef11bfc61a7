package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.files.OrganFolder;
import dev.polis.health.HealthRegistry;
import dev.polis.process.ProcessManager;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Holds the services that the control plane uses.
 *
 * @param cluster gives the node's id and access to etcd
 * @param network gives the node's address
 * @param folders makes folders on the data volume
 * @param processes runs the programs
 * @param health gets the conditions
 * @param curator gives the address of this node's curator; empty while it does not listen
 */
public record ControlParts(
    Value<ClusterStatus> cluster,
    Value<NetworkStatus> network,
    Folders folders,
    ProcessManager processes,
    HealthRegistry health,
    Supplier<Optional<InetSocketAddress>> curator) {

  /** Makes folders on the data volume. */
  @FunctionalInterface
  public interface Folders {
    /** Makes the declared folder if it is missing, and returns it. */
    FolderPlacement folder(OrganFolder declared) throws FileException;
  }
}
