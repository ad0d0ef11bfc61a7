package dev.polis.api.cluster;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The users of consensus. Each has its own etcd user and role, and keys that no other can use. */
public enum ConsensusUser {
  /** The cluster's records. */
  CURATOR("curator"),
  /** Certificates and settings of Kubernetes. */
  KUBERNETES("kubernetes"),
  /**
   * Kubernetes' API server, which keeps its objects under keys of its own choice, outside of all
   * namespaces, and can use no others.
   */
  KUBE_APISERVER("kube-apiserver");

  private final String userName;

  ConsensusUser(String userName) {
    this.userName = userName;
  }

  /** Returns the name of the etcd user; also the common name of its certificate. */
  public String userName() {
    return userName;
  }

  /**
   * Finds a user by name.
   *
   * @throws IllegalArgumentException if there is none; the message lists those there are
   */
  public static ConsensusUser of(String name) {
    return Arrays.stream(values())
        .filter(user -> user.userName.equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "unknown consensus user \"%s\"; known are %s"
                        .formatted(
                            name,
                            Arrays.stream(values())
                                .map(ConsensusUser::userName)
                                .collect(Collectors.joining(", ")))));
  }
}
