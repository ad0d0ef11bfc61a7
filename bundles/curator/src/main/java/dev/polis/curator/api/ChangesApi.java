package dev.polis.curator.api;

import dev.polis.curator.leader.RepeatableCalls;
import dev.polis.curator.record.ChangeMemory;
import dev.polis.wire.cluster.ChangesGrpc;
import dev.polis.wire.cluster.GetChangeMemoryRequest;
import dev.polis.wire.cluster.GetChangeMemoryResponse;
import io.grpc.stub.StreamObserver;

/** Serves the Changes API, by which a client learns that it may repeat changes. */
public final class ChangesApi extends ChangesGrpc.ChangesImplBase {

  @Override
  public void getChangeMemory(
      GetChangeMemoryRequest request, StreamObserver<GetChangeMemoryResponse> caller) {
    caller.onNext(
        GetChangeMemoryResponse.newBuilder()
            .setSeconds((int) ChangeMemory.AGE.toSeconds())
            .setClients(ChangeMemory.CLIENTS)
            .addAllMethods(RepeatableCalls.methods())
            .build());
    caller.onCompleted();
  }
}
