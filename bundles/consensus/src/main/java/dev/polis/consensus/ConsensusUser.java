package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdPermission;
import dev.polis.etcd.KeyRange;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The users of etcd; each but root has a role of the same name with one prefix. */
enum ConsensusUser {
  /** May do everything; for this organ and the operator. */
  ROOT("root", false),
  /** The cluster's records. */
  CURATOR("curator", true),
  /** What Kubernetes keeps. */
  KUBERNETES("kubernetes", true);

  private final String userName;
  private final boolean handedOut;

  ConsensusUser(String userName, boolean handedOut) {
    this.userName = userName;
    this.handedOut = handedOut;
  }

  /** Name of the user and of its role; the common name of its certificate. */
  String userName() {
    return userName;
  }

  /** Whether other organs may have it. */
  boolean handedOut() {
    return handedOut;
  }

  /** All that it sees. */
  EtcdNamespace namespace() {
    return this == ROOT ? EtcdNamespace.ROOT : EtcdNamespace.of(userName);
  }

  /**
   * What etcd lets it use: its namespace, and the namespaces within, whose names go on with a
   * colon. Two ranges, since one over both would take in users whose names only begin like this
   * one's.
   */
  List<EtcdPermission> permissions() {
    if (this == ROOT) {
      // etcd's role root may do everything, and can be given nothing.
      return List.of();
    }
    String within = namespace().prefix().replaceFirst("/$", ":");
    return List.of(
        EtcdPermission.all(namespace()),
        new EtcdPermission(EtcdPermission.Access.READ_WRITE, KeyRange.prefix(within)));
  }

  /** The user of that name that other organs may have. */
  static ConsensusUser handedOut(String name) {
    return Arrays.stream(values())
        .filter(user -> user.handedOut && user.userName.equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new ConsensusException(
                    "unknown consensus user \"%s\"; known are %s".formatted(name, known())));
  }

  private static String known() {
    return Arrays.stream(values())
        .filter(ConsensusUser::handedOut)
        .map(ConsensusUser::userName)
        .collect(Collectors.joining(", "));
  }
}
