package dev.polis.cluster.it.docs;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Holds a fenced block of a page.
 *
 * <p>Conditions are written in comments before it, one each:
 *
 * <ul>
 *   <li>{@code <!-- test: skip REASON -->}: is not run
 *   <li>{@code <!-- test: only parse -->}: its commands must exist, with their options; none is run
 *   <li>{@code <!-- test: as root -->}, {@code as user}: is run only by root, or only by others
 *   <li>{@code <!-- test: exit CODE -->}: the exit code of its last command; 0 unless said
 *   <li>{@code <!-- test: before COMMAND -->}: is run first, its output is not compared
 *   <li>{@code <!-- test: with NAME=VALUE -->}: is added to the environment
 *   <li>{@code <!-- test: without PROGRAM... -->}: is run, by root, as on a machine that lacks
 *       these programs
 * </ul>
 *
 * @param page the page's path in the repository
 * @param line its first line, counted from 1 @param language the word behind the fence; may be
 *     empty @param lines its text @param conditions the texts of the comments before it, without
 *     {@code test:}
 */
record Block(String page, int line, String language, List<String> lines, List<String> conditions) {

  private static final String PROMPT = "$ ";

  /**
   * Holds a command and its output.
   *
   * @param text the typed text
   * @param screen the lines below it; empty in a block of the language sh
   */
  record Command(String text, List<String> screen) {}

  Block {
    lines = List.copyOf(lines);
    conditions = List.copyOf(conditions);
  }

  String place() {
    return page + ":" + line;
  }

  boolean isScript() {
    return language.equals("console") || language.equals("sh");
  }

  /** Returns whether a text without a language contains commands, which no test would run. */
  boolean hidesCommands() {
    return language.isEmpty()
        && lines.stream().anyMatch(each -> each.startsWith(PROMPT) || each.startsWith("./polis"));
  }

  /** Returns the rest of each condition that begins with the word. */
  List<String> conditions(String word) {
    return conditions.stream()
        .filter(each -> each.equals(word) || each.startsWith(word + " "))
        .map(each -> each.substring(word.length()).strip())
        .toList();
  }

  Optional<String> condition(String word) {
    return conditions(word).stream().findFirst();
  }

  /** Returns the programs that the machine must lack. */
  List<String> missingPrograms() {
    return conditions("without").stream().flatMap(each -> Stream.of(each.split(" "))).toList();
  }

  int exitCode() {
    return condition("exit").map(Integer::parseInt).orElse(0);
  }

  List<Command> commands() {
    return language.equals("console") ? consoleCommands() : shellCommands();
  }

  private List<Command> consoleCommands() {
    List<Command> commands = new ArrayList<>();
    for (String each : lines) {
      if (each.startsWith(PROMPT)) {
        commands.add(new Command(each.substring(PROMPT.length()), new ArrayList<>()));
      } else if (commands.isEmpty()) {
        throw new AssertionError(place() + " begins with a line that is no command: " + each);
      } else {
        commands.getLast().screen().add(each);
      }
    }
    return commands;
  }

  private List<Command> shellCommands() {
    List<Command> commands = new ArrayList<>();
    StringBuilder continued = new StringBuilder();
    for (String each : lines) {
      continued.append(each);
      if (each.endsWith("\\")) {
        continued.append('\n');
      } else {
        String text = continued.toString().strip();
        continued.setLength(0);
        if (!text.isEmpty() && !text.startsWith("#")) {
          commands.add(new Command(text, List.of()));
        }
      }
    }
    return commands;
  }
}
