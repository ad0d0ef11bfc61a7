package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdPermission;
import dev.polis.etcd.KeyRange;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Names the users of etcd; each but root has a role of the same name with one prefix. */
enum ConsensusUser {
  /** This organ and the operator; may do everything. */
  ROOT("root", false),
  /** The curator, which keeps the cluster's records. */
  CURATOR("curator", true),
  /** Kubernetes, which keeps its objects. */
  KUBERNETES("kubernetes", true);

  private final String userName;
  private final boolean handedOut;

  ConsensusUser(String userName, boolean handedOut) {
    this.userName = userName;
    this.handedOut = handedOut;
  }

  /** Returns the name of the user and of its role, which is the common name of its certificate. */
  String userName() {
    return userName;
  }

  /** Returns whether other organs may use it. */
  boolean handedOut() {
    return handedOut;
  }

  /** Returns the part of the key space that it sees. */
  EtcdNamespace namespace() {
    return this == ROOT ? EtcdNamespace.ROOT : EtcdNamespace.of(userName);
  }

  /**
   * Returns what etcd lets it use: its namespace, and the namespaces within, whose names continue
   * with a colon. These are two ranges: one over both would include users whose names only begin
   * like this one's.
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

  /** Returns the user of that name that other organs may use. */
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
