package dev.polis.kubernetes.worker;

import dev.polis.api.containers.Isolation;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Watcher;
import dev.polis.kubernetes.address.HostAddress;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.Optional;

/** Gives the worker its addresses and its files, once the node has them. Thread-safe. */
final class WorkerSite {

  private static final String CLAIM = "worker";

  private final KubernetesSettings settings;
  private final Network network;
  private final Storage storage;

  WorkerSite(KubernetesSettings settings, Network network, Storage storage) {
    this.settings = settings;
    this.network = network;
    this.storage = storage;
  }

  /** Waits until the node has an address, and returns it. */
  InetAddress awaitAddress() throws InterruptedException {
    return network.awaitAddress();
  }

  /** Returns the addresses of Kubernetes at a node's address. */
  KubernetesAddresses addresses(InetAddress node) {
    return KubernetesAddresses.of(node, settings.links());
  }

  /** Waits until the node has other addresses, so that all programs must restart. */
  void awaitOther(KubernetesAddresses present) throws InterruptedException, RestartRequest {
    try (Watcher<NetworkStatus> watcher = network.status().watch()) {
      NetworkStatus other =
          watcher.get(
              status ->
                  status
                      .address()
                      .map(this::addresses)
                      .filter(now -> !now.equals(present))
                      .isPresent());
      throw new RestartRequest("the node's address is now " + other.address().orElseThrow());
    }
  }

  /** Decides about the isolation of a worker at a node's address. */
  Isolation isolation(InetAddress node) throws WorkerException {
    return new WorkerRequirements(settings).isolation(node, network.ownsInterfaces());
  }

  /** Waits until the data volume is open, and returns the worker's files. */
  WorkerFiles awaitFiles() throws InterruptedException, IOException {
    try (Watcher<DataStatus> watcher = storage.data().watch()) {
      watcher.get(DataStatus.Mounted.class::isInstance);
    }
    return files();
  }

  /** Returns the worker's files on an open volume. */
  WorkerFiles files() throws IOException {
    return new WorkerFiles(storage::folder);
  }

  /** Adds the host address to the machine if it differs from the node's own. */
  void claim(KubernetesAddresses addresses)
      throws IOException, InterruptedException, WorkerException {
    if (addresses.derived()) {
      Optional<String> problem = host(addresses).claim(CLAIM);
      if (problem.isPresent()) {
        throw new WorkerException(
            "this node has no address at which its worker reaches it: " + problem.get());
      }
    }
  }

  /** Removes the address of {@link #claim}, unless another role needs it. */
  void release(Log log) throws IOException, InterruptedException {
    Optional<KubernetesAddresses> addresses =
        network
            .status()
            .peek()
            .flatMap(NetworkStatus::address)
            .map(this::addresses)
            .filter(KubernetesAddresses::derived);
    if (addresses.isPresent()) {
      host(addresses.get())
          .release(CLAIM)
          .ifPresent(
              problem ->
                  log.warning("the node could not remove its address for Kubernetes: %s", problem));
    }
  }

  private HostAddress host(KubernetesAddresses addresses) throws IOException {
    return new HostAddress(
        storage.folder(HostAddress.FOLDER), addresses.host(), Path.of(settings.programs()));
  }
}
