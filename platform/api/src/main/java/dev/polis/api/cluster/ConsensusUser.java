package dev.polis.api.cluster;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Lists the users of consensus, each with its own etcd user, role and keys. No user can use the
 * keys of another.
 */
public enum ConsensusUser {
  /** Keeps the cluster's records. */
  CURATOR("curator"),
  /** Keeps certificates and settings of Kubernetes. */
  KUBERNETES("kubernetes"),
  /**
   * Is the API server of Kubernetes. It keeps its objects under keys of its own choice, outside of
   * all namespaces, and can use no others.
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
   * @throws IllegalArgumentException if there is none; the message lists the users
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
