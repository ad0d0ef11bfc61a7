package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.base.config.DidYouMean;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Explains a word, and how the thing of that name stands on the node. */
@Command(
    name = "explain",
    description = {
      "Explains a state, a role, an organ or another word that Polis uses.",
      "For an organ, a role, a plugin, an open wait, a runnable, a condition and 'node' it asks"
          + " the node for the present state and its causes, down to the root cause."
    })
public final class ExplainCommand extends CtlCommand {

  @Parameters(
      arity = "0..*",
      paramLabel = "NAME",
      description = "the word; all of them are listed if none is given")
  List<String> words = List.of();

  /**
   * A word of the list.
   *
   * @param kind what it names, such as a role
   * @param meaning the first line of its explanation
   */
  private record Word(String kind, String word, String meaning) {
    static Word of(String word, String text) {
      String[] parts = text.lines().findFirst().orElseThrow().split(": ", 2);
      return new Word(parts[0], word, parts[1]);
    }
  }

  private static final Rows<Word> WORDS =
      new Rows<Word>()
          .column("KIND", "kind", Word::kind)
          .column("WORD", "word", Word::word)
          .column("MEANING", "meaning", Word::meaning);

  /** The answer of the node. */
  private sealed interface Live {
    /** It knows the name. */
    record Known(ExplainResponse facts, String source) implements Live {}

    /** It was asked and has nothing of that name. */
    record Unknown(String answer) implements Live {}

    /** It was not asked, or did not answer; the word may be explained without it. */
    record Unasked(String why) implements Live {}
  }

  @Override
  protected ExitCode run() throws InterruptedException {
    Map<String, String> glossary = glossary();
    if (words.isEmpty()) {
      return print(
          WORDS.document(
              glossary.entrySet().stream()
                  .map(each -> Word.of(each.getKey(), each.getValue()))
                  .sorted(Comparator.comparing(Word::kind))
                  .toList()));
    }
    String name = String.join(" ", words);
    Optional<String> text = Optional.ofNullable(glossary.get(name));
    Live live = ask(name, text);
    if (text.isEmpty() && !(live instanceof Live.Known)) {
      throw unknown(name, live);
    }
    if (!options().output.isForPeople()) {
      return print(Document.single(json(name, text, live)));
    }
    print(text, live, out());
    return ExitCode.OK;
  }

  private static CtlException unknown(String name, Live live) {
    String node =
        switch (live) {
          case Live.Known known -> "";
          case Live.Unknown unknown -> "; the node says: " + unknown.answer();
          case Live.Unasked(String why) -> "; the node was not asked: " + why;
        };
    return new CtlException(
        ExitCode.NOT_FOUND,
        "there is nothing to say about \"%s\"%s; '%s explain' lists the words%s"
            .formatted(name, DidYouMean.guess(name, glossary().keySet()), CtlName.called(), node));
  }

  /**
   * Asks with the owner's credentials, and the debug service where there are none.
   *
   * @throws CtlException if the node does not run, since its last start failed; people read the
   *     explanation of the word first
   */
  private Live ask(String name, Optional<String> text) throws InterruptedException {
    ExplainRequest request = ExplainRequest.newBuilder().setName(name).build();
    try (Session session = Session.open(options())) {
      if (!session.mayAskManagement()) {
        return debug(session, request);
      }
      try {
        return new Live.Known(
            session.call(() -> session.health(session.here()).explain(request)),
            "the node at " + session.host());
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
      if (!crashed()) {
        return new Live.Unasked(e.getMessage());
      }
      if (options().output.isForPeople()) {
        text.ifPresent(out()::println);
      }
      throw new CtlException(ExitCode.UNREACHABLE, e.getMessage(), e);
    }
  }

  private static Live debug(Session session, ExplainRequest request) throws InterruptedException {
    return new Live.Known(
        session.call(() -> session.debug().explain(request)),
        "the debug service of the node at " + session.host());
  }

  private boolean crashed() {
    try {
      CtlTarget target = options().target();
      return target.listenersNow().nodeIsDown() && target.lastCrash().isPresent();
    } catch (CtlException noTarget) {
      return false; // which is why the node was not asked
    }
  }

  /** Returns whether the node itself does not know the name, and no file is missing here. */
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
            WireName.words(facts.getKind()),
            source,
            WireName.shortened(facts.getLevel()),
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
        row.addProperty("kind", WireName.words(facts.getKind()));
        row.addProperty("level", WireName.shortened(facts.getLevel()));
        row.addProperty("standing", facts.getStanding());
        if (facts.hasSince()) {
          row.addProperty("since", Instant.ofEpochSecond(facts.getSince().getSeconds()).toString());
        }
        row.add("facts", Rows.element(facts.getFactsList()));
        row.add("causes", Rows.element(facts.getCausesList()));
        row.add("remedies", Rows.element(facts.getRemediesList()));
        row.add("consequences", Rows.element(facts.getConsequencesList()));
      }
      case Live.Unknown unknown -> row.addProperty("notKnown", unknown.answer());
      case Live.Unasked(String why) -> row.addProperty("notAsked", why);
    }
    return row;
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
