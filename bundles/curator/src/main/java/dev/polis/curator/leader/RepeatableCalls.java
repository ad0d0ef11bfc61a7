package dev.polis.curator.leader;

import com.google.protobuf.MessageLite;
import dev.polis.curator.record.ChangeId;
import dev.polis.rpc.NonBlockingMethods;
import dev.polis.rpc.RequestId;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.ClusterCaGrpc;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Gives each change with an id its {@link ChangeId}, by which the leader applies it once. An id of
 * another call is ignored: of a read, of a stranger, which has no identity, or of a method that is
 * in neither list.
 */
public final class RepeatableCalls implements ServerInterceptor {

  /** The methods whose changes are remembered with their answers, none of which has a secret. */
  static final Set<String> REMEMBERED =
      names(
          ManagementGrpc.getApproveNodeMethod(),
          ManagementGrpc.getUpdateNodeRolesMethod(),
          ManagementGrpc.getUpdateNodeLabelsMethod(),
          ManagementGrpc.getDeleteNodeMethod(),
          ManagementGrpc.getConfigureClusterMethod(),
          RegisterTicketsGrpc.getReplaceTicketMethod(),
          RegisterTicketsGrpc.getRevokeTicketMethod(),
          PluginTrustGrpc.getAddTrustedKeyMethod(),
          PluginTrustGrpc.getRemoveTrustedKeyMethod(),
          PluginSetGrpc.getWantPluginMethod(),
          PluginSetGrpc.getUnwantPluginMethod(),
          OperatorsGrpc.getAddOperatorMethod(),
          OperatorsGrpc.getSetOperatorRoleMethod(),
          OperatorsGrpc.getRemoveOperatorMethod(),
          OwnerKeysGrpc.getSetRecoveryKeyMethod());

  /**
   * The other methods for operators that may change something, which have the same effect when they
   * are repeated: a node is decommissioned, a certificate is revoked, a valid ticket exists.
   */
  static final Set<String> IDEMPOTENT =
      names(
          ManagementGrpc.getDecommissionNodeMethod(),
          ManagementGrpc.getGetRegisterTicketMethod(),
          RegisterTicketsGrpc.getDescribeTicketMethod(),
          CertificatesGrpc.getRevokeCertificatesMethod(),
          ClusterCaGrpc.getRotateCaMethod(),
          ClusterCaGrpc.getRetireCaMethod(),
          ClusterCaGrpc.getRotateEtcdCaMethod(),
          ClusterCaGrpc.getRetireEtcdCaMethod());

  private static final Set<String> REPEATABLE =
      Stream.concat(REMEMBERED.stream(), IDEMPOTENT.stream())
          .collect(Collectors.toUnmodifiableSet());

  /** Serves a service, and its changes with ids. */
  private record Repeatable(BindableService service)
      implements BindableService, NonBlockingMethods {
    @Override
    public ServerServiceDefinition bindService() {
      return ServerInterceptors.intercept(service.bindService(), new RepeatableCalls());
    }

    @Override
    public Set<String> nonBlockingMethods() {
      return service instanceof NonBlockingMethods some ? some.nonBlockingMethods() : Set.of();
    }
  }

  private RepeatableCalls() {}

  /** Returns the same service, which notes the ids of changes. */
  public static BindableService of(BindableService service) {
    return new Repeatable(service);
  }

  /** Returns the full names of the methods whose calls may be repeated with the same id. */
  public static List<String> methods() {
    return REPEATABLE.stream().sorted().toList();
  }

  private static Set<String> names(MethodDescriptor<?, ?>... methods) {
    return Stream.of(methods)
        .map(MethodDescriptor::getFullMethodName)
        .collect(Collectors.toUnmodifiableSet());
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> handler) {
    MethodDescriptor<Q, A> method = call.getMethodDescriptor();
    Optional<RequestId> id =
        REPEATABLE.contains(method.getFullMethodName()) ? RequestId.of(headers) : Optional.empty();
    if (id.isEmpty() || RpcPeer.current() instanceof RpcPeer.Unauthenticated) {
      return handler.startCall(call, headers);
    }
    ChangeId change = new ChangeId(caller(RpcPeer.current()), id.get(), method);
    return Contexts.interceptCall(
        Context.current().withValue(ChangeId.KEY, change),
        call,
        headers,
        (same, sameHeaders) -> noting(change, handler.startCall(same, sameHeaders)));
  }

  /** Returns a text that no other caller has: another key of the same name is another caller. */
  private static String caller(RpcPeer peer) {
    return peer instanceof RpcPeer.User user
        ? user.describe() + ", key " + user.fingerprint()
        : peer.describe();
  }

  private static <Q> ServerCall.Listener<Q> noting(ChangeId change, ServerCall.Listener<Q> call) {
    return new SimpleForwardingServerCallListener<>(call) {
      @Override
      public void onMessage(Q request) {
        change.requested((MessageLite) request);
        super.onMessage(request);
      }
    };
  }
}
