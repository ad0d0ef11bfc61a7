package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import com.google.protobuf.UnknownFieldSet;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sends requests with fields that this node's version does not know. */
@Timeout(30)
class RpcUnknownFieldTest {
  private final RpcFixture fixture = new RpcFixture();
  private final AtomicInteger handled = new AtomicInteger();

  @AfterEach
  void stop() {
    fixture.close();
  }

  /** A field that a later version may have. */
  private static UnknownFieldSet later() {
    return UnknownFieldSet.newBuilder()
        .addField(900, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
        .build();
  }

  /** Counts the requests that reach the handler. */
  private void serve(ServiceDescriptor service) {
    fixture.host.serve(
        RpcHost.CURATOR,
        RpcFixture.serving(
            service,
            method ->
                (call, headers) -> {
                  call.request(1);
                  return new io.grpc.ServerCall.Listener<>() {
                    @Override
                    public void onMessage(Message request) {
                      handled.incrementAndGet();
                      call.close(
                          Status.ALREADY_EXISTS.withDescription("reached"), new io.grpc.Metadata());
                    }
                  };
                }));
  }

  private static Status send(Channel channel, MethodDescriptor<?, ?> method, Message request) {
    return RpcFixture.statusOf(
        () ->
            ClientCalls.blockingUnaryCall(
                channel,
                RpcFixture.typed(method).toBuilder()
                    .setType(MethodDescriptor.MethodType.UNARY)
                    .build(),
                CallOptions.DEFAULT,
                request));
  }

  @Test
  @DisplayName(
      "a change with an unknown field is refused with its number and message, and not begun")
  void unknownFieldOfAChange() {
    serve(ManagementGrpc.getServiceDescriptor());

    Status refused =
        send(
            fixture.asOwner(),
            ManagementGrpc.getUpdateNodeLabelsMethod(),
            UpdateNodeLabelsRequest.newBuilder().setId("n").setUnknownFields(later()).build());

    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
    String words = refused.getDescription();
    assertTrue(words.contains("field number 900 of UpdateNodeLabelsRequest"), words);
    assertTrue(words.contains("update the node"), words);
    assertEquals(0, handled.get(), "a handler got it");
  }

  @Test
  @DisplayName("an unknown field deep in a change is named with its path")
  void unknownFieldInside() {
    serve(ManagementGrpc.getServiceDescriptor());

    Status refused =
        send(
            fixture.asOwner(),
            ManagementGrpc.getConfigureClusterMethod(),
            ConfigureClusterRequest.newBuilder()
                .setNewConfig(
                    ClusterConfiguration.newBuilder()
                        .setKubernetes(
                            ClusterConfiguration.Kubernetes.newBuilder().setUnknownFields(later())))
                .build());

    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
    String words = refused.getDescription();
    assertTrue(words.contains("new_config.kubernetes.field number 900 of Kubernetes"), words);
    assertEquals(0, handled.get(), "a handler got it");
  }

  @Test
  @DisplayName("a stranger's request is checked in the same way where strangers may call")
  void unknownFieldOfAStranger() {
    serve(AAAGrpc.getServiceDescriptor());

    Status refused =
        send(
            fixture.asOwner(),
            AAAGrpc.getEscrowMethod(),
            EscrowRequest.newBuilder().setUnknownFields(later()).build());

    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
    assertEquals(0, handled.get(), "a handler got it");
  }

  @Test
  @DisplayName("a read with an unknown field is answered")
  void unknownFieldOfAQuestion() {
    serve(ManagementGrpc.getServiceDescriptor());

    Status reached =
        send(
            fixture.asOwner(),
            ManagementGrpc.getGetNodesMethod(),
            GetNodesRequest.newBuilder().setUnknownFields(later()).build());

    assertEquals("reached", reached.getDescription());
  }

  @Test
  @DisplayName("the report of a node that is newer than the leader is accepted")
  void unknownFieldOfAReport() {
    serve(CuratorGrpc.getServiceDescriptor());

    Status reached =
        send(
            fixture.as(fixture.node()),
            CuratorGrpc.getUpdateNodeStatusMethod(),
            UpdateNodeStatusRequest.newBuilder()
                .setStatus(NodeStatus.newBuilder().setUnknownFields(later()))
                .build());

    assertEquals("reached", reached.getDescription());
  }
}
