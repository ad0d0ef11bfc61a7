package dev.polis.plugins;

import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.wire.plugins.StageHeader;
import dev.polis.wire.plugins.StageRequest;
import dev.polis.wire.plugins.StageResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;

/** Receives a plugin's file, or a part of it. gRPC calls it from one thread at a time. */
final class StageCall implements StreamObserver<StageRequest> {
  private final StagedFiles files;
  private final Runnable arrived;
  private final StreamObserver<StageResponse> caller;

  /** The header; null until it has come. */
  private StageHeader header;

  private long position;
  private boolean refused;

  /**
   * @param arrived called when the file is complete
   */
  StageCall(StagedFiles files, Runnable arrived, StreamObserver<StageResponse> caller) {
    this.files = files;
    this.arrived = arrived;
    this.caller = caller;
  }

  @Override
  public void onNext(StageRequest request) {
    if (refused) {
      return;
    }
    try {
      if (header == null) {
        begin(request);
      } else if (request.hasHeader()) {
        throw invalid("the header comes with the first message alone");
      }
      write(request);
    } catch (StatusException e) {
      refused = true;
      caller.onError(e);
    }
  }

  private void begin(StageRequest request) throws StatusException {
    if (!request.hasHeader()) {
      throw invalid("the first message needs a header with the digest of the file");
    }
    digest(request.getHeader());
    long size = request.getHeader().getSize();
    if (size < 1 || size > StagedFiles.LARGEST) {
      throw invalid(
          "size is %d; a plugin has between 1 and %d bytes".formatted(size, StagedFiles.LARGEST));
    }
    header = request.getHeader();
    position = header.getOffset();
    if (position < 0) {
      throw invalid("offset is " + position + "; it counts from 0");
    }
  }

  private void write(StageRequest request) throws StatusException {
    if (request.getData().isEmpty()) {
      return;
    }
    if (position + request.getData().size() > header.getSize()) {
      throw invalid(
          "there is more data than the %d bytes of the header".formatted(header.getSize()));
    }
    Digest digest = digest(header);
    StoreCalls.ask(
        () -> {
          files.write(digest, position, request.getData().asReadOnlyByteBuffer());
          return digest;
        });
    position += request.getData().size();
  }

  @Override
  public void onError(Throwable broken) {
    // The received bytes stay; the sender asks for their number and continues there.
    refused = true;
  }

  @Override
  public void onCompleted() {
    if (refused) {
      return;
    }
    try {
      if (header == null) {
        throw invalid("the stream has no message; send a header with the digest of the file");
      }
      Digest digest = digest(header);
      long size = StoreCalls.ask(() -> files.size(digest));
      if (size == header.getSize() && !header.getManifest().isEmpty()) {
        StoreCalls.ask(
            () -> {
              files.finish(digest, header.getManifest().toByteArray());
              return digest;
            });
        arrived.run();
      }
      caller.onNext(
          StageResponse.newBuilder().setSize(size).setComplete(files.isWhole(digest)).build());
      caller.onCompleted();
    } catch (StatusException e) {
      caller.onError(e);
    }
  }

  static Digest digest(StageHeader header) throws StatusException {
    return digest(header.getDigest());
  }

  static Digest digest(String hex) throws StatusException {
    try {
      return new Digest(hex);
    } catch (IllegalArgumentException e) {
      throw invalid("digest: " + e.getMessage());
    }
  }

  private static StatusException invalid(String why) {
    return Status.INVALID_ARGUMENT.withDescription(why).asException();
  }
}
