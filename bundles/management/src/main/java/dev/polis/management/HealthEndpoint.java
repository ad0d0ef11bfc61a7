package dev.polis.management;

import dev.polis.health.calls.HealthCalls;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.HealthGrpc;
import io.grpc.stub.StreamObserver;

/** Serves the health of this node to operators. */
final class HealthEndpoint extends HealthGrpc.HealthImplBase {
  private final HealthCalls calls;

  HealthEndpoint(HealthCalls calls) {
    this.calls = calls;
  }

  @Override
  public void getHealth(GetHealthRequest request, StreamObserver<GetHealthResponse> caller) {
    caller.onNext(calls.health());
    caller.onCompleted();
  }

  @Override
  public void explain(ExplainRequest request, StreamObserver<ExplainResponse> caller) {
    caller.onNext(calls.explain(request));
    caller.onCompleted();
  }
}
