package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.etcd.EtcdAccess;
import dev.polis.pki.NodeCredentials;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.function.Function;

/** Makes the status of a node that is a member of a cluster. */
final class TestMember {

  private TestMember() {}

  /**
   * Returns a status.
   *
   * @param etcd returns each user's access to etcd
   */
  static ClusterStatus of(NodeCredentials credentials, Function<ConsensusUser, EtcdAccess> etcd) {
    return (ClusterStatus)
        Proxy.newProxyInstance(
            TestMember.class.getClassLoader(),
            new Class<?>[] {ClusterStatus.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "credentials" -> Optional.of(credentials);
                  case "state" -> ClusterState.HOME;
                  case "consensusClient" -> etcd.apply((ConsensusUser) arguments[0]);
                  case "equals" -> self == arguments[0];
                  case "hashCode" -> System.identityHashCode(self);
                  case "toString" -> "a member";
                  default -> throw new AssertionError("not to be asked: " + method);
                });
  }
}
