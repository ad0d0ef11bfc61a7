package dev.polis.debug;

import dev.polis.rpc.CallStreams;
import dev.polis.rpc.CallUpload;
import dev.polis.wire.images.LoadRequest;
import dev.polis.wire.images.LoadResponse;
import dev.polis.wire.images.NodeImagesGrpc;
import io.grpc.stub.StreamObserver;

/** Loads container images for callers with the permission to change this node's software. */
final class ImagesEndpoint extends NodeImagesGrpc.NodeImagesImplBase {

  private final DebugImages images;
  private final CallStreams streams;

  ImagesEndpoint(DebugImages images, CallStreams streams) {
    this.images = images;
    this.streams = streams;
  }

  @Override
  public StreamObserver<LoadRequest> load(StreamObserver<LoadResponse> caller) {
    images.requireRunning();
    CallUpload<LoadRequest> archive = new CallUpload<>(LoadRequest::getDataPart);
    streams.serve(
        "load images",
        caller,
        sink ->
            sink.send(LoadResponse.newBuilder().addAllNames(images.load(archive.bytes())).build()));
    return archive;
  }
}
