package dev.polis.ctl.session;

import com.google.gson.JsonObject;
import dev.polis.wire.plugins.Effect;
import dev.polis.wire.plugins.PluginsGrpc.PluginsBlockingV2Stub;
import dev.polis.wire.plugins.SwapProgress;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import picocli.CommandLine.Option;

/** Orders a swap, and shows it: each stage when it was made, and how it ended. */
public abstract class SwapCommand extends CtlCommand {
  private static final double MILLIS_OF_SECOND = 1000;

  /** Adds the option with which a swap only prints its effects. */
  public abstract static class Tried extends SwapCommand {
    @Option(
        names = "--dry-run",
        description = "only print the effects on the node, with their reasons")
    protected boolean dryRun;
  }

  /** Shows a swap, in a session of its own. */
  protected final ExitCode swap(
      Function<PluginsBlockingV2Stub, BlockingClientCall<?, SwapProgress>> order)
      throws InterruptedException {
    try (Session session = Session.open(options())) {
      return swap(session, order);
    }
  }

  /**
   * Shows a swap until it has ended.
   *
   * @return whether the node now runs, or ran already, what was ordered
   */
  protected final ExitCode swap(
      Session session, Function<PluginsBlockingV2Stub, BlockingClientCall<?, SwapProgress>> order)
      throws InterruptedException {
    List<SwapProgress> steps = session.stream(() -> steps(order.apply(session.swaps())));
    if (steps.isEmpty()) {
      throw new CtlException("the node ended the call without an outcome; see \"plugin history\"");
    }
    SwapProgress end = steps.getLast();
    print(line(end), json(steps));
    return end.getOutcome() == SwapProgress.Outcome.OUTCOME_APPLIED
            || end.getOutcome() == SwapProgress.Outcome.OUTCOME_NOTHING_TO_DO
        ? ExitCode.OK
        : ExitCode.FAILED;
  }

  private List<SwapProgress> steps(BlockingClientCall<?, SwapProgress> call)
      throws StatusException, InterruptedException {
    List<SwapProgress> steps = new ArrayList<>();
    for (SwapProgress step = call.read(); step != null; step = call.read()) {
      steps.add(step);
      if (step.getOutcome() != SwapProgress.Outcome.OUTCOME_NONE) {
        break;
      }
      if (options().output.isForPeople()) {
        print(step);
      }
    }
    return steps;
  }

  private void print(SwapProgress step) {
    out()
        .format(
            Locale.ROOT,
            "%6.1f s  %-9s  %s%n",
            step.getElapsedMillis() / MILLIS_OF_SECOND,
            step.getStage(),
            step.getText());
    for (Effect effect : step.getEffectsList()) {
      out()
          .format(
              Locale.ROOT,
              "          %-12s %s: %s%n",
              WireName.words(effect.getKind()),
              effect.getSubject(),
              effect.getReason());
    }
  }

  private static String line(SwapProgress end) {
    String text = end.getText().isEmpty() ? "" : ": " + end.getText();
    String generation =
        end.getOutcome() == SwapProgress.Outcome.OUTCOME_APPLIED
            ? ", generation " + end.getGeneration()
            : "";
    return WireName.words(end.getOutcome()) + generation + text;
  }

  private static JsonObject json(List<SwapProgress> steps) {
    Rows<Effect> effects =
        new Rows<Effect>()
            .field("effect", effect -> WireName.words(effect.getKind()))
            .field("subject", Effect::getSubject)
            .field("reason", Effect::getReason);
    Rows<SwapProgress> stages =
        new Rows<SwapProgress>()
            .field("stage", SwapProgress::getStage)
            .field("text", SwapProgress::getText)
            .field("elapsed_millis", SwapProgress::getElapsedMillis)
            .field("effects", step -> effects.json(step.getEffectsList()));
    return new Rows<SwapProgress>()
        .field("outcome", end -> WireName.words(end.getOutcome()))
        .field("reason", SwapProgress::getText)
        .field("generation", SwapProgress::getGeneration)
        .field("stages", end -> stages.json(steps.subList(0, steps.size() - 1)))
        .json(steps.getLast());
  }
}
