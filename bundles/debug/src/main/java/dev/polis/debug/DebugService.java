package dev.polis.debug;

import dev.polis.rpc.RpcException;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetComponentLogsRequest;
import dev.polis.wire.debug.GetComponentLogsResponse;
import dev.polis.wire.debug.GetConditionRequest;
import dev.polis.wire.debug.GetConditionResponse;
import io.grpc.stub.StreamObserver;

/** Small questions of tests and developers. */
final class DebugService extends DebugGrpc.DebugImplBase {

  private final ConditionBoard conditions;
  private final ComponentLogs logs;

  DebugService(ConditionBoard conditions, ComponentLogs logs) {
    this.conditions = conditions;
    this.logs = logs;
  }

  @Override
  public void getCondition(
      GetConditionRequest request, StreamObserver<GetConditionResponse> caller) {
    boolean ok = conditions.holds(request.getName()).orElseThrow(() -> unknown(request.getName()));
    caller.onNext(GetConditionResponse.newBuilder().setOk(ok).build());
    caller.onCompleted();
  }

  private RpcException unknown(String name) {
    return RpcException.notFound(
        "there is no condition \"%s\"; known are %s"
            .formatted(name, String.join(", ", conditions.names())));
  }

  @Override
  public void getComponentLogs(
      GetComponentLogsRequest request, StreamObserver<GetComponentLogsResponse> caller) {
    GetComponentLogsResponse response =
        GetComponentLogsResponse.newBuilder()
            .addAllLines(
                logs.lines(
                    request.getComponentPathList(), Integer.toUnsignedLong(request.getTailLines())))
            .build();
    caller.onNext(response);
    caller.onCompleted();
  }
}
