package dev.polis.management;

import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcException;
import dev.polis.wire.api.ActivationMode;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.RebootResponse;
import dev.polis.wire.api.UpdateNodeRequest;
import dev.polis.wire.api.UpdateNodeResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;

/** Serves the log and the power of this node to operators. */
final class NodeManagementEndpoint extends NodeManagementGrpc.NodeManagementImplBase {

  private final LogCalls logs;
  private final PowerRequest power;

  NodeManagementEndpoint(LogCalls logs, PowerRequest power) {
    this.logs = logs;
    this.power = power;
  }

  @Override
  public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
    logs.serve(request, caller);
  }

  @Override
  public void updateNode(UpdateNodeRequest request, StreamObserver<UpdateNodeResponse> caller) {
    ActivationMode mode = request.getActivationMode();
    if (mode == ActivationMode.ACTIVATION_MODE_INVALID || mode == ActivationMode.UNRECOGNIZED) {
      throw RpcException.invalid(
          "activation_mode is %d, which is not a mode; set NONE (1), REBOOT (2) or KEXEC (3)"
              .formatted(request.getActivationModeValue()));
    }
    throw RpcException.failedPrecondition(
        "this node fetches no operating system image from a registry: on a machine that an image of"
            + " Polis has booted, polisctl node update sends one; elsewhere others maintain the"
            + " system, so replace the node's bundles, or start it from a newer distribution");
  }

  @Override
  public void reboot(RebootRequest request, StreamObserver<RebootResponse> caller) {
    RebootRules.requirePossible(request);
    power.requireNoLockOut();
    power.offAfter((ServerCallStreamObserver<RebootResponse>) caller);
    caller.onNext(RebootResponse.getDefaultInstance());
    caller.onCompleted();
  }
}
