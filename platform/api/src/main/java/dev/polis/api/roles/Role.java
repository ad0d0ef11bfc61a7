package dev.polis.api.roles;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The roles a cluster can give to a node. */
public enum Role {
  /** Runs a member of etcd and a curator. */
  CONSENSUS_MEMBER("ConsensusMember"),
  /** Runs the Kubernetes control plane. */
  KUBERNETES_CONTROLLER("KubernetesController"),
  /** Runs Kubernetes workloads. */
  KUBERNETES_WORKER("KubernetesWorker");

  private final String roleName;

  Role(String roleName) {
    this.roleName = roleName;
  }

  /** Returns the name operators use, also the value of a plugin's {@code role} property. */
  public String roleName() {
    return roleName;
  }

  /**
   * Finds a role by name.
   *
   * @throws IllegalArgumentException if there is none; the message lists those there are
   */
  public static Role of(String name) {
    return Arrays.stream(values())
        .filter(role -> role.roleName.equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "unknown role \"%s\"; known are %s"
                        .formatted(
                            name,
                            Arrays.stream(values())
                                .map(Role::roleName)
                                .collect(Collectors.joining(", ")))));
  }
}
