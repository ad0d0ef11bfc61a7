package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Explains a word, and how the thing of that name stands on the node. */
@Command(
    name = "explain",
    description = {
      "Explains a state, a role, an organ or another word that Polis uses.",
      "For an organ, a role, a plugin, an open wait, a runnable, a condition and 'node' it asks"
          + " the node for the present state and its causes, down to the root cause."
    },
    mixinStandardHelpOptions = true)
public final class ExplainCommand implements Callable<Integer> {

  @ParentCommand CtlRoot ctl;
  @Spec CommandSpec spec;

  @Parameters(
      arity = "0..*",
      paramLabel = "NAME",
      description = "the word; all of them are listed if none is given")
  List<String> words = List.of();

  /** What the node says. */
  private sealed interface Live {
    /** It knows the name. */
    record Known(ExplainResponse facts, String source) implements Live {}

    /** It was asked and has nothing of that name. */
    record Unknown(String answer) implements Live {}

    /** It was not asked, or did not answer; the word may be explained without it. */
    record Unasked(String why) implements Live {}

    /** It does not run, since its last start failed. */
    record Crashed(String why) implements Live {}
  }

  @Override
  public Integer call() throws InterruptedException {
    Map<String, String> glossary = glossary();
    if (words.isEmpty()) {
      glossary.keySet().forEach(spec.commandLine().getOut()::println);
      return ExitCode.OK.code();
    }
    String name = String.join(" ", words);
    Optional<String> text = Optional.ofNullable(glossary.get(name));
    Live live = ask(name);
    if (live instanceof Live.Crashed crashed) {
      if (ctl.options.output == Output.table || ctl.options.output == Output.wide) {
        text.ifPresent(spec.commandLine().getOut()::println);
      }
      throw new CtlException(ExitCode.UNREACHABLE, crashed.why());
    }
    if (text.isEmpty() && !(live instanceof Live.Known)) {
      throw unknown(name, live);
    }
    if (ctl.options.output == Output.table || ctl.options.output == Output.wide) {
      print(text, live, spec.commandLine().getOut());
    } else {
      ctl.options.output.print(
          Document.single(json(name, text, live)), spec.commandLine().getOut());
    }
    return ExitCode.OK.code();
  }

  private static CtlException unknown(String name, Live live) {
    String node =
        switch (live) {
          case Live.Known known -> "";
          case Live.Unknown unknown -> "; the node says: " + unknown.answer();
          case Live.Unasked(String why) -> "; the node was not asked: " + why;
          case Live.Crashed(String why) -> "; " + why;
        };
    return new CtlException(
        ExitCode.NOT_FOUND,
        "there is nothing to say about \"%s\"; '%s explain' lists the words%s"
            .formatted(name, CtlName.called(), node));
  }

  /** Asks with the owner's credentials, and the debug service where there are none. */
  private Live ask(String name) throws InterruptedException {
    ExplainRequest request = ExplainRequest.newBuilder().setName(name).build();
    try (Session session = Session.open(ctl.options)) {
      if (!session.mayAskManagement()) {
        return debug(session, request);
      }
      try {
        return new Live.Known(
            session.call(() -> session.health(session.host()).explain(request)), "the node");
      } catch (CtlException e) {
        if (isUnknown(e)) {
          return new Live.Unknown(e.getMessage());
        }
        return debug(session, request);
      }
    } catch (CtlException e) {
      if (isUnknown(e)) {
        return new Live.Unknown(e.getMessage());
      }
      return crashed() ? new Live.Crashed(e.getMessage()) : new Live.Unasked(e.getMessage());
    }
  }

  private static Live debug(Session session, ExplainRequest request) throws InterruptedException {
    return new Live.Known(
        session.call(() -> session.debug().explain(request)), "the node's debug service");
  }

  private boolean crashed() {
    try {
      CtlTarget target = ctl.options.target();
      return target.listenersNow().nodeIsDown() && target.lastCrash().isPresent();
    } catch (CtlException noTarget) {
      return false; // which is why the node was not asked
    }
  }

  /** Tells an answer of the node from a file that is missing here. */
  private static boolean isUnknown(CtlException failure) {
    return failure.exitCode() == ExitCode.NOT_FOUND
        && failure.getCause() instanceof io.grpc.StatusException;
  }

  private static void print(Optional<String> text, Live live, PrintWriter out) {
    text.ifPresent(out::print);
    switch (live) {
      case Live.Known(ExplainResponse facts, String source) -> {
        if (text.isPresent()) {
          out.println();
        }
        out.printf(
            "%s (%s, says %s): %s%s: %s%n",
            facts.getName(),
            HealthReport.word(facts.getKind()),
            source,
            HealthReport.word(facts.getLevel()),
            facts.hasSince()
                ? " since " + Instant.ofEpochSecond(facts.getSince().getSeconds())
                : "",
            facts.getStanding());
        facts.getFactsList().forEach(fact -> out.printf("  %s%n", fact));
        facts.getCausesList().forEach(cause -> out.printf("  because %s%n", cause));
        facts.getRemediesList().forEach(remedy -> out.printf("  to do: %s%n", remedy));
        facts.getConsequencesList().forEach(victim -> out.printf("  so %s%n", victim));
      }
      case Live.Unknown unknown -> {
        // A word of the language, and nothing that stands in one way or another.
      }
      case Live.Unasked(String why) -> out.printf("The node was not asked: %s%n", why);
      case Live.Crashed crashed -> {
        // It has ended the command.
      }
    }
    out.flush();
  }

  private static JsonObject json(String name, Optional<String> text, Live live) {
    JsonObject row = new JsonObject();
    row.addProperty("name", name);
    row.addProperty("text", text.orElse(""));
    switch (live) {
      case Live.Known(ExplainResponse facts, String source) -> {
        row.addProperty("source", source);
        row.addProperty("kind", HealthReport.word(facts.getKind()));
        row.addProperty("level", HealthReport.word(facts.getLevel()));
        row.addProperty("standing", facts.getStanding());
        if (facts.hasSince()) {
          row.addProperty("since", Instant.ofEpochSecond(facts.getSince().getSeconds()).toString());
        }
        row.add("facts", array(facts.getFactsList()));
        row.add("causes", array(facts.getCausesList()));
        row.add("remedies", array(facts.getRemediesList()));
        row.add("consequences", array(facts.getConsequencesList()));
      }
      case Live.Unknown unknown -> row.addProperty("notKnown", unknown.answer());
      case Live.Unasked(String why) -> row.addProperty("notAsked", why);
      case Live.Crashed(String why) -> row.addProperty("notAsked", why);
    }
    return row;
  }

  private static JsonArray array(List<String> texts) {
    JsonArray array = new JsonArray();
    texts.forEach(array::add);
    return array;
  }

  /** Returns the words and their explanations, found in whatever case they are asked for. */
  public static Map<String, String> glossary() {
    try (InputStream in = ExplainCommand.class.getResourceAsStream("/dev/polis/ctl/explain.yaml")) {
      Map<String, String> words = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
      ((Map<?, ?>) new Load(LoadSettings.builder().build()).loadFromInputStream(in))
          .forEach((word, text) -> words.put((String) word, (String) text));
      return words;
    } catch (IOException e) {
      throw new UncheckedIOException("the words are part of this program", e);
    }
  }
}
