package dev.polis.debug;

import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcException;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.GetDebugKubeconfigResponse;
import dev.polis.wire.api.LoadImageRequest;
import dev.polis.wire.api.LoadImageResponse;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.api.TraceRequest;
import dev.polis.wire.api.TraceResponse;
import io.grpc.stub.StreamObserver;

/** Serves the log of this node to developers, and refuses what would change something. */
final class NodeDebugEndpoint extends NodeDebugServiceGrpc.NodeDebugServiceImplBase {

  private final LogCalls logs;

  NodeDebugEndpoint(LogCalls logs) {
    this.logs = logs;
  }

  @Override
  public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
    logs.serve(request, caller);
  }

  @Override
  public void getDebugKubeconfig(
      GetDebugKubeconfigRequest request, StreamObserver<GetDebugKubeconfigResponse> caller) {
    throw RpcException.notFound(
        "this node has no Kubernetes to make a kubeconfig for: this version does not run it yet");
  }

  @Override
  public void trace(TraceRequest request, StreamObserver<TraceResponse> caller) {
    throw RpcException.failedPrecondition(
        "the kernel cannot be traced from here: it belongs to the machine this node runs on as a"
            + " process; use the machine's own trace-cmd");
  }

  @Override
  public StreamObserver<LoadImageRequest> loadImage(StreamObserver<LoadImageResponse> caller) {
    throw RpcException.failedPrecondition(
        "there is no image store to load into: this version does not run containers yet");
  }
}
