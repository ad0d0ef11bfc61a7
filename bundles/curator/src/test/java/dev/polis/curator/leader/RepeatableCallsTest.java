package dev.polis.curator.leader;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.rpc.RpcMethods;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.cluster.AttestationGrpc;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.ChangesGrpc;
import dev.polis.wire.cluster.ClusterCaGrpc;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import io.grpc.MethodDescriptor;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RepeatableCallsTest {

  /**
   * The changes that have no id. Nodes repeat their own, which bring a state and not a step. The
   * caller of the last ones has no identity in the cluster yet, or loses it by the change.
   */
  private static final Set<MethodDescriptor<?, ?>> WITHOUT_ID =
      Set.of(
          CuratorGrpc.getUpdateNodeStatusMethod(),
          CuratorGrpc.getUpdateNodeClusterNetworkingMethod(),
          CuratorGrpc.getIssueCertificateMethod(),
          PluginSetGrpc.getReportPluginsMethod(),
          MembershipGrpc.getRenewCertificateMethod(),
          MembershipGrpc.getGetRevocationsMethod(),
          MembershipGrpc.getGetUnlockKeyMethod(),
          MembershipGrpc.getJoinConsensusMethod(),
          MembershipGrpc.getLeaveConsensusMethod(),
          CuratorGrpc.getRegisterNodeMethod(),
          CuratorGrpc.getCommitNodeMethod(),
          CuratorGrpc.getJoinNodeMethod(),
          OwnerKeysGrpc.getRecoverOwnerKeyMethod(),
          OwnerKeysGrpc.getRotateOwnerKeyMethod());

  @Test
  @DisplayName("each unary change at the curator is remembered, idempotent, or has no id")
  void complete() {
    Set<String> changes =
        Stream.of(
                ManagementGrpc.getServiceDescriptor(),
                AAAGrpc.getServiceDescriptor(),
                CuratorGrpc.getServiceDescriptor(),
                CuratorLocalGrpc.getServiceDescriptor(),
                PluginTrustGrpc.getServiceDescriptor(),
                PluginSetGrpc.getServiceDescriptor(),
                AttestationGrpc.getServiceDescriptor(),
                MembershipGrpc.getServiceDescriptor(),
                RegisterTicketsGrpc.getServiceDescriptor(),
                CertificatesGrpc.getServiceDescriptor(),
                OperatorsGrpc.getServiceDescriptor(),
                OwnerKeysGrpc.getServiceDescriptor(),
                ClusterCaGrpc.getServiceDescriptor(),
                ChangesGrpc.getServiceDescriptor())
            .flatMap(service -> service.getMethods().stream())
            .filter(method -> method.getType() == MethodDescriptor.MethodType.UNARY)
            .filter(method -> !RpcMethods.readsOnly(method))
            .map(MethodDescriptor::getFullMethodName)
            .collect(Collectors.toCollection(TreeSet::new));

    Set<String> known = new TreeSet<>(RepeatableCalls.REMEMBERED);
    known.addAll(RepeatableCalls.IDEMPOTENT);
    WITHOUT_ID.forEach(method -> known.add(method.getFullMethodName()));

    assertEquals(changes, known);
  }
}
