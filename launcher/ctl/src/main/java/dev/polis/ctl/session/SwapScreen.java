package dev.polis.ctl.session;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.wire.plugins.Effect;
import dev.polis.wire.plugins.SwapProgress;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Shows a swap: each stage when it was made, and how it ended. */
public final class SwapScreen {
  private static final double MILLIS_OF_SECOND = 1000;

  private final Output output;
  private final PrintWriter out;

  public SwapScreen(Output output, PrintWriter out) {
    this.output = output;
    this.out = out;
  }

  /**
   * Shows a swap until it has ended.
   *
   * @return whether the node now runs, or ran already, what was ordered
   */
  public ExitCode follow(Session session, Session.Call<BlockingClientCall<?, SwapProgress>> order)
      throws InterruptedException {
    List<SwapProgress> steps = session.stream(() -> steps(order));
    if (steps.isEmpty()) {
      throw new CtlException(
          ExitCode.FAILED, "the node ended the call without an outcome; see \"plugin history\"");
    }
    SwapProgress end = steps.getLast();
    if (output == Output.table || output == Output.wide) {
      out.println(line(end));
      out.flush();
    } else {
      output.print(Document.single(json(steps)), out);
    }
    return end.getOutcome() == SwapProgress.Outcome.OUTCOME_APPLIED
            || end.getOutcome() == SwapProgress.Outcome.OUTCOME_NOTHING_TO_DO
        ? ExitCode.OK
        : ExitCode.FAILED;
  }

  private List<SwapProgress> steps(Session.Call<BlockingClientCall<?, SwapProgress>> order)
      throws StatusException, InterruptedException {
    List<SwapProgress> steps = new ArrayList<>();
    BlockingClientCall<?, SwapProgress> call = order.run();
    for (SwapProgress step = call.read(); step != null; step = call.read()) {
      steps.add(step);
      if (step.getOutcome() != SwapProgress.Outcome.OUTCOME_NONE) {
        break;
      }
      if (output == Output.table || output == Output.wide) {
        print(step);
      }
    }
    return steps;
  }

  private void print(SwapProgress step) {
    out.println(
        String.format(
            Locale.ROOT,
            "%6.1f s  %-9s  %s",
            step.getElapsedMillis() / MILLIS_OF_SECOND,
            step.getStage(),
            step.getText()));
    for (Effect effect : step.getEffectsList()) {
      out.println(
          String.format(
              Locale.ROOT,
              "          %-12s %s: %s",
              words(effect.getKind()),
              effect.getSubject(),
              effect.getReason()));
    }
    out.flush();
  }

  private static String line(SwapProgress end) {
    String text = end.getText().isEmpty() ? "" : ": " + end.getText();
    String generation =
        end.getOutcome() == SwapProgress.Outcome.OUTCOME_APPLIED
            ? ", generation " + end.getGeneration()
            : "";
    return words(WireName.shortened(end.getOutcome())) + generation + text;
  }

  private static String words(String constant) {
    return constant.toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static JsonObject json(List<SwapProgress> steps) {
    SwapProgress end = steps.getLast();
    JsonObject document = new JsonObject();
    document.addProperty("outcome", words(WireName.shortened(end.getOutcome())));
    document.addProperty("reason", end.getText());
    document.addProperty("generation", end.getGeneration());
    JsonArray stages = new JsonArray();
    for (SwapProgress step : steps.subList(0, steps.size() - 1)) {
      JsonObject row = new JsonObject();
      row.addProperty("stage", step.getStage());
      row.addProperty("text", step.getText());
      row.addProperty("elapsed_millis", step.getElapsedMillis());
      JsonArray effects = new JsonArray();
      step.getEffectsList().forEach(effect -> effects.add(json(effect)));
      row.add("effects", effects);
      stages.add(row);
    }
    document.add("stages", stages);
    return document;
  }

  private static JsonObject json(Effect effect) {
    JsonObject row = new JsonObject();
    row.addProperty("effect", words(effect.getKind()));
    row.addProperty("subject", effect.getSubject());
    row.addProperty("reason", effect.getReason());
    return row;
  }
}
