package dev.polis.plugins;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.store.SwapRecord;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.plugins.swap.SwapOutcome;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.plugins.swap.SwapStage;
import dev.polis.plugins.swap.SwapStatus;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.plugins.AdoptRequest;
import dev.polis.wire.plugins.CancelResponse;
import dev.polis.wire.plugins.ConfigureRequest;
import dev.polis.wire.plugins.Effect;
import dev.polis.wire.plugins.HistoryResponse;
import dev.polis.wire.plugins.PastSwap;
import dev.polis.wire.plugins.RemoveRequest;
import dev.polis.wire.plugins.RollbackRequest;
import dev.polis.wire.plugins.Setting;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapProgress.Outcome;
import dev.polis.wire.plugins.SwapRequest;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Answers the calls that order, watch and cancel swaps. */
final class SwapCalls {
  private final SwapEngine engine;
  private final StagedFiles staged;

  SwapCalls(SwapEngine engine, StagedFiles staged) {
    this.engine = engine;
    this.staged = staged;
  }

  void swap(SwapRequest request, StreamObserver<SwapProgress> caller)
      throws StatusException, InterruptedException {
    Digest digest = StageCall.digest(request.getDigest());
    if (!staged.isWhole(digest)) {
      throw Status.NOT_FOUND
          .withDescription(
              "no whole file with the digest "
                  + digest
                  + " was staged on this node; stage it first")
          .asException();
    }
    byte[] manifest = StoreCalls.ask(() -> Files.readAllBytes(staged.manifest(digest)));
    run(
        new SwapOrder.Replace(staged.file(digest), manifest),
        new SwapOptions(who(), request.getDryRun(), request.getForce(), request.getOlder()),
        caller);
  }

  void remove(RemoveRequest request, StreamObserver<SwapProgress> caller)
      throws StatusException, InterruptedException {
    run(
        new SwapOrder.Remove(request.getSymbolicName()),
        new SwapOptions(who(), request.getDryRun(), request.getForce(), true),
        caller);
  }

  void rollback(RollbackRequest request, StreamObserver<SwapProgress> caller)
      throws StatusException, InterruptedException {
    run(
        new SwapOrder.Rollback(),
        new SwapOptions(who(), request.getDryRun(), request.getForce(), true),
        caller);
  }

  void adopt(AdoptRequest request, StreamObserver<SwapProgress> caller)
      throws StatusException, InterruptedException {
    if (request.getAll() != request.getSymbolicNamesList().isEmpty()) {
      throw Status.INVALID_ARGUMENT
          .withDescription("name plugins, or say all; not both, and not neither")
          .asException();
    }
    run(
        new SwapOrder.Adopt(Set.copyOf(request.getSymbolicNamesList())),
        new SwapOptions(who(), request.getDryRun(), request.getForce(), true),
        caller);
  }

  void configure(ConfigureRequest request, StreamObserver<SwapProgress> caller)
      throws StatusException, InterruptedException {
    Map<String, Optional<String>> values = new HashMap<>();
    for (Setting each : request.getSettingsList()) {
      values.put(each.getName(), each.getUnset() ? Optional.empty() : Optional.of(each.getValue()));
    }
    if (values.isEmpty()) {
      throw Status.INVALID_ARGUMENT
          .withDescription("settings is empty: name a key and its value")
          .asException();
    }
    run(
        new SwapOrder.Configure(values),
        new SwapOptions(who(), request.getDryRun(), request.getForce(), true),
        caller);
  }

  private static String who() {
    return RpcPeer.current().describe();
  }

  private void run(SwapOrder order, SwapOptions options, StreamObserver<SwapProgress> caller)
      throws StatusException, InterruptedException {
    try {
      follow(engine.begin(order, options), caller);
    } catch (SwapRefusedException e) {
      throw Status.FAILED_PRECONDITION.withDescription(e.getMessage()).withCause(e).asException();
    }
  }

  private static void follow(Value<SwapStatus> swap, StreamObserver<SwapProgress> caller)
      throws InterruptedException {
    int told = 0;
    try (Watcher<SwapStatus> watcher = swap.watch()) {
      while (true) {
        SwapStatus now = watcher.get(status -> true);
        for (SwapStage stage : now.stages().subList(told, now.stages().size())) {
          caller.onNext(progress(stage).setElapsedMillis(elapsed(now)).build());
        }
        told = now.stages().size();
        if (now.outcome().isPresent()) {
          caller.onNext(progress(now.outcome().get()).setElapsedMillis(elapsed(now)).build());
          return;
        }
      }
    }
  }

  private static long elapsed(SwapStatus status) {
    return Duration.between(status.began(), Instant.now()).toMillis();
  }

  private static SwapProgress.Builder progress(SwapStage stage) {
    SwapProgress.Builder progress =
        SwapProgress.newBuilder().setStage(stage.name()).setText(stage.words());
    if (stage instanceof SwapStage.Radius radius) {
      radius
          .lines()
          .forEach(
              line ->
                  progress.addEffects(
                      Effect.newBuilder()
                          .setKind(line.effect().name())
                          .setSubject(line.subject())
                          .setReason(line.reason())));
    }
    return progress;
  }

  private static SwapProgress.Builder progress(SwapOutcome outcome) {
    SwapProgress.Builder progress = SwapProgress.newBuilder().setText(outcome.reason());
    return switch (outcome) {
      case SwapOutcome.Applied applied ->
          progress.setOutcome(Outcome.OUTCOME_APPLIED).setGeneration(applied.generation());
      case SwapOutcome.NothingToDo nothing -> progress.setOutcome(Outcome.OUTCOME_NOTHING_TO_DO);
      case SwapOutcome.Refused refused -> progress.setOutcome(Outcome.OUTCOME_REFUSED);
      case SwapOutcome.Reverted reverted -> progress.setOutcome(Outcome.OUTCOME_REVERTED);
      case SwapOutcome.CouldNotRevert left -> progress.setOutcome(Outcome.OUTCOME_COULD_NOT_REVERT);
    };
  }

  CancelResponse cancel() throws StatusException {
    try {
      return CancelResponse.newBuilder().setWhat(engine.cancel(who())).build();
    } catch (SwapRefusedException e) {
      throw Status.FAILED_PRECONDITION.withDescription(e.getMessage()).withCause(e).asException();
    }
  }

  HistoryResponse history() throws StatusException {
    HistoryResponse.Builder response = HistoryResponse.newBuilder();
    for (SwapRecord each : StoreCalls.ask(engine::history)) {
      response.addSwaps(
          PastSwap.newBuilder()
              .setBeganMillis(each.began().toEpochMilli())
              .setWho(each.who())
              .setWhat(each.what())
              .setOutcome(each.outcome())
              .setReason(each.reason()));
    }
    return response.build();
  }
}
