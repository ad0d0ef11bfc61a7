package dev.polis.ctl;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Explains a word. */
@Command(
    name = "explain",
    description = "Explains a state, a role, an organ or another word that Polis uses.",
    mixinStandardHelpOptions = true)
final class ExplainCommand implements Callable<Integer> {

  @ParentCommand Ctl ctl;
  @Spec CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "NAME",
      description = "the word; all of them are listed if none is given")
  String name = "";

  @Override
  public Integer call() {
    Map<String, String> words = words();
    if (name.isEmpty()) {
      words.keySet().forEach(spec.commandLine().getOut()::println);
      return ExitCode.OK.code();
    }
    String text = words.get(name);
    if (text == null) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "there is nothing to say about \"%s\"; '%s explain' lists the words"
              .formatted(name, CtlName.called()));
    }
    spec.commandLine().getOut().print(text);
    spec.commandLine().getOut().flush();
    return ExitCode.OK.code();
  }

  /** Returns the words, found in whatever case they are asked for. */
  static Map<String, String> words() {
    try (InputStream in = ExplainCommand.class.getResourceAsStream("explain.yaml")) {
      Map<String, String> words = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
      ((Map<?, ?>) new Load(LoadSettings.builder().build()).loadFromInputStream(in))
          .forEach((word, text) -> words.put((String) word, (String) text));
      return words;
    } catch (IOException e) {
      throw new UncheckedIOException("the words are part of this program", e);
    }
  }
}
