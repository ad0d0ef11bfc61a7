package dev.polis.kubernetes.worker;

import dev.polis.api.containers.Isolation;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Checks the requirements of a worker before any process starts. */
final class WorkerRequirements {

  private static final List<String> NETWORK_PLUGINS =
      List.of("bridge", "host-local", "loopback", "portmap");

  private final KubernetesSettings settings;

  WorkerRequirements(KubernetesSettings settings) {
    this.settings = settings;
  }

  static boolean isRoot(String user) {
    return "root".equals(user);
  }

  /** Refuses a user without the rights for containers. */
  void requireRoot(String user) throws WorkerException {
    if (!isRoot(user)) {
      throw new WorkerException(
          "a worker needs root, for namespaces, mounts and cgroups, but this node runs as %s; start it as root, or remove the role: polisctl node role remove NODE KubernetesWorker"
              .formatted(user));
    }
  }

  /** Finds the programs, and refuses missing and unsupported ones. */
  KubernetesPrograms programs() throws WorkerException, InterruptedException {
    KubernetesPrograms programs =
        KubernetesPrograms.find(settings.programs(), KubernetesPrograms.ofWorker());
    for (String plugin : NETWORK_PLUGINS) {
      Path program = programs.networkPlugins().resolve(plugin);
      if (!Files.isExecutable(program)) {
        throw new WorkerException(
            "%s, which connects Pods, is missing or not executable; run \"polis provision kubernetes\""
                .formatted(program));
      }
    }
    return programs;
  }

  /**
   * Decides about the isolation of the worker from the machine.
   *
   * @param node its address
   * @param ownsInterfaces whether this node manages the network of the machine
   */
  Isolation isolation(InetAddress node, boolean ownsInterfaces) throws WorkerException {
    boolean loopback = node.isLoopbackAddress();
    return switch (settings.isolation()) {
      case "machine" -> {
        if (loopback) {
          throw new WorkerException(
              "dev.polis.kubernetes.isolation=machine needs a node at an address of its network, but this one is at %s; set dev.polis.network.address, or isolation=namespaces"
                  .formatted(node.getHostAddress()));
        }
        yield Isolation.MACHINE;
      }
      case "namespaces" -> {
        if (!loopback) {
          throw new WorkerException(
              "dev.polis.kubernetes.isolation=namespaces needs a node at a loopback address, but this one is at %s; set isolation=machine, or dev.polis.network.address=127.0.0.1"
                  .formatted(node.getHostAddress()));
        }
        yield Isolation.NAMESPACES;
      }
      default -> {
        if (!loopback && !ownsInterfaces) {
          throw new WorkerException(
              "a worker at %s would change the firewall, mounts and cgroups of this machine, but this node does not manage its network; set dev.polis.kubernetes.isolation=machine if the machine belongs to the node, or dev.polis.network.address=127.0.0.1 for a worker in namespaces of its own"
                  .formatted(node.getHostAddress()));
        }
        yield loopback ? Isolation.NAMESPACES : Isolation.MACHINE;
      }
    };
  }
}
