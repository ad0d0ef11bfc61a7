package dev.polis.management;

import com.google.protobuf.Timestamp;
import dev.polis.base.boot.RuntimeInstance;
import dev.polis.rpc.RpcException;
import dev.polis.wire.runtime.GetRuntimeRequest;
import dev.polis.wire.runtime.GetRuntimeResponse;
import dev.polis.wire.runtime.RestartRequest;
import dev.polis.wire.runtime.RestartResponse;
import dev.polis.wire.runtime.RuntimeGrpc;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;

/** Reports the process of this node to operators, and restarts it. */
final class RuntimeEndpoint extends RuntimeGrpc.RuntimeImplBase {
  private final PowerRequest power;

  RuntimeEndpoint(PowerRequest power) {
    this.power = power;
  }

  @Override
  public void getRuntime(GetRuntimeRequest request, StreamObserver<GetRuntimeResponse> caller) {
    RuntimeInstance now = RuntimeInstance.current();
    caller.onNext(
        GetRuntimeResponse.newBuilder()
            .setInstance(now.id())
            .setProcessId(ProcessHandle.current().pid())
            .setStarted(
                Timestamp.newBuilder()
                    .setSeconds(now.started().getEpochSecond())
                    .setNanos(now.started().getNano()))
            .build());
    caller.onCompleted();
  }

  @Override
  public void restart(RestartRequest request, StreamObserver<RestartResponse> caller) {
    String now = RuntimeInstance.current().id();
    if (request.getInstance().isEmpty()) {
      throw RpcException.invalid(
          "instance is empty: name the process to replace; GetRuntime names the running one");
    }
    if (!request.getInstance().equals(now)) {
      throw RpcException.failedPrecondition(
          "process \"%s\" does not run any more, or never ran here; the running process is %s"
              .formatted(request.getInstance(), now));
    }
    power.restartAfter((ServerCallStreamObserver<RestartResponse>) caller);
    caller.onNext(RestartResponse.newBuilder().setInstance(now).build());
    caller.onCompleted();
  }
}
