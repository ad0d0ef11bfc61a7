package dev.polis.debug;

import dev.polis.health.calls.HealthCalls;
import dev.polis.rpc.RpcException;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetComponentLogsRequest;
import dev.polis.wire.debug.GetComponentLogsResponse;
import dev.polis.wire.debug.GetConditionRequest;
import dev.polis.wire.debug.GetConditionResponse;
import dev.polis.wire.debug.ListConditionsRequest;
import dev.polis.wire.debug.ListConditionsResponse;
import dev.polis.wire.debug.ListImagesRequest;
import dev.polis.wire.debug.ListImagesResponse;
import dev.polis.wire.debug.NamedCondition;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;

/** Serves conditions, health and the last lines of components, without authentication. */
final class DebugEndpoint extends DebugGrpc.DebugImplBase {

  /** The most answers with log lines at a time, each of half a mebibyte at most. */
  static final int ANSWERS = 16;

  /** The delay after which a caller without room tries again. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  private final Semaphore answers = new Semaphore(ANSWERS);
  private final DebugConditions conditions;
  private final DebugLogs logs;
  private final HealthCalls health;
  private final DebugImages images;

  DebugEndpoint(
      DebugConditions conditions, DebugLogs logs, HealthCalls health, DebugImages images) {
    this.conditions = conditions;
    this.logs = logs;
    this.health = health;
    this.images = images;
  }

  @Override
  public void getCondition(
      GetConditionRequest request, StreamObserver<GetConditionResponse> caller) {
    boolean ok = conditions.holds(request.getName()).orElseThrow(() -> unknown(request.getName()));
    caller.onNext(GetConditionResponse.newBuilder().setOk(ok).build());
    caller.onCompleted();
  }

  @Override
  public void listImages(ListImagesRequest request, StreamObserver<ListImagesResponse> caller) {
    caller.onNext(ListImagesResponse.newBuilder().addAllNames(images.list()).build());
    caller.onCompleted();
  }

  private RpcException unknown(String name) {
    return RpcException.notFound(
        "there is no condition \"%s\"; known are %s"
            .formatted(name, String.join(", ", conditions.all().keySet())));
  }

  @Override
  public void listConditions(
      ListConditionsRequest request, StreamObserver<ListConditionsResponse> caller) {
    ListConditionsResponse.Builder response = ListConditionsResponse.newBuilder();
    conditions
        .all()
        .forEach(
            (name, ok) ->
                response.addConditions(NamedCondition.newBuilder().setName(name).setOk(ok)));
    caller.onNext(response.build());
    caller.onCompleted();
  }

  @Override
  public void getHealth(GetHealthRequest request, StreamObserver<GetHealthResponse> caller) {
    caller.onNext(health.health());
    caller.onCompleted();
  }

  @Override
  public void explain(ExplainRequest request, StreamObserver<ExplainResponse> caller) {
    caller.onNext(health.explain(request));
    caller.onCompleted();
  }

  @Override
  public void getComponentLogs(
      GetComponentLogsRequest request, StreamObserver<GetComponentLogsResponse> caller) {
    if (!answers.tryAcquire()) {
      throw RpcException.unavailable(
          "the node already sends %d answers of this kind; call again when their callers have read them"
              .formatted(ANSWERS),
          RETRY);
    }
    ServerCallStreamObserver<GetComponentLogsResponse> call =
        (ServerCallStreamObserver<GetComponentLogsResponse>) caller;
    AtomicBoolean over = new AtomicBoolean();
    Runnable release =
        () -> {
          if (over.compareAndSet(false, true)) {
            answers.release();
          }
        };
    // The answer takes memory until its caller has read it or has left.
    call.setOnCloseHandler(release);
    call.setOnCancelHandler(release);
    send(request, call, release);
  }

  private void send(
      GetComponentLogsRequest request,
      StreamObserver<GetComponentLogsResponse> caller,
      Runnable release) {
    boolean sent = false;
    try {
      caller.onNext(
          GetComponentLogsResponse.newBuilder()
              .addAllLines(
                  logs.lines(
                      request.getComponentPathList(),
                      Integer.toUnsignedLong(request.getTailLines())))
              .build());
      caller.onCompleted();
      sent = true;
    } finally {
      if (!sent) {
        release.run();
      }
    }
  }
}
