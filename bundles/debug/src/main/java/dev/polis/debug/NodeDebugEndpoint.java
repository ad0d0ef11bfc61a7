package dev.polis.debug;

import dev.polis.rpc.CallStreams;
import dev.polis.rpc.CallUpload;
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

/**
 * Serves the log of this node to developers, loads their container images, and issues credentials
 * of Kubernetes.
 */
final class NodeDebugEndpoint extends NodeDebugServiceGrpc.NodeDebugServiceImplBase {

  private final LogCalls logs;
  private final DebugImages images;
  private final DebugKubeconfig kubeconfig;
  private final CallStreams streams;

  NodeDebugEndpoint(
      LogCalls logs, DebugImages images, DebugKubeconfig kubeconfig, CallStreams streams) {
    this.logs = logs;
    this.images = images;
    this.kubeconfig = kubeconfig;
    this.streams = streams;
  }

  @Override
  public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
    logs.serve(request, caller);
  }

  @Override
  public void getDebugKubeconfig(
      GetDebugKubeconfigRequest request, StreamObserver<GetDebugKubeconfigResponse> caller) {
    // On a thread that ends with the call, since it may wait for an API server.
    streams.serve(
        "kubeconfig",
        caller,
        sink ->
            sink.send(
                GetDebugKubeconfigResponse.newBuilder()
                    .setDebugKubeconfig(kubeconfig.issue(request.getId(), request.getGroupsList()))
                    .build()));
  }

  @Override
  public void trace(TraceRequest request, StreamObserver<TraceResponse> caller) {
    throw RpcException.failedPrecondition(
        "this node cannot trace the kernel, because it runs as a process on a machine of others;"
            + " use the machine's own trace-cmd");
  }

  @Override
  public StreamObserver<LoadImageRequest> loadImage(StreamObserver<LoadImageResponse> caller) {
    images.requireOpen();
    images.requireRunning();
    CallUpload<LoadImageRequest> archive = new CallUpload<>(LoadImageRequest::getDataPart);
    streams.serve(
        "load image",
        caller,
        sink -> {
          images.load(archive.bytes());
          sink.send(LoadImageResponse.getDefaultInstance());
        });
    return archive;
  }
}
