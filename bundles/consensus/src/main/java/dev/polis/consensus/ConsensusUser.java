package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdPermission;
import dev.polis.etcd.KeyRange;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Lists the users of etcd, each with a role of the same name that has the user's keys. */
enum ConsensusUser {
  /** This organ and the operator, with all rights. */
  ROOT("root", false),
  /** The curator, which keeps the cluster's records. */
  CURATOR("curator", true),
  /** The organ that runs Kubernetes, which keeps its certificates and keys. */
  KUBERNETES("kubernetes", true),
  /** Kubernetes' API server, which keeps its objects; it knows no namespaces. */
  KUBE_APISERVER("kube-apiserver", true);

  /** The prefix of all objects; the API server's default, so that its tools find them. */
  private static final String OBJECTS = "/registry/";

  /**
   * The key under which the API server stores the revision up to which etcd has compacted the
   * history for it.
   */
  private static final String COMPACTED = "compact_rev_key";

  private final String userName;
  private final boolean handedOut;

  ConsensusUser(String userName, boolean handedOut) {
    this.userName = userName;
    this.handedOut = handedOut;
  }

  /** Returns the name of the user and its role, and the common name of its certificate. */
  String userName() {
    return userName;
  }

  /** Returns whether other organs may use this user. */
  boolean handedOut() {
    return handedOut;
  }

  /** Returns the user's part of the key space. */
  EtcdNamespace namespace() {
    return switch (this) {
      case ROOT, KUBE_APISERVER -> EtcdNamespace.ROOT;
      case CURATOR, KUBERNETES -> EtcdNamespace.of(userName);
    };
  }

  /** Returns the user's permissions in etcd. */
  List<EtcdPermission> permissions() {
    return switch (this) {
      // etcd's role root has all rights, and etcd accepts no grant for it.
      case ROOT -> List.of();
      case CURATOR, KUBERNETES -> ofNamespace();
      case KUBE_APISERVER ->
          List.of(all(KeyRange.prefix(OBJECTS)), all(KeyRange.single(COMPACTED)));
    };
  }

  /**
   * Returns the permissions for its namespace, and for the namespaces within, whose names continue
   * with a colon. These are two ranges, since one range over both would include users whose names
   * begin with this one.
   */
  private List<EtcdPermission> ofNamespace() {
    String within = namespace().prefix().replaceFirst("/$", ":");
    return List.of(EtcdPermission.all(namespace()), all(KeyRange.prefix(within)));
  }

  private static EtcdPermission all(KeyRange range) {
    return new EtcdPermission(EtcdPermission.Access.READ_WRITE, range);
  }

  /** Returns a text of all users and permissions, which changes with them. */
  static String all() {
    return Arrays.stream(values())
        .map(user -> user.userName + " " + user.permissions())
        .collect(Collectors.joining("; "));
  }

  /** Returns the user of this name for other organs. */
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
