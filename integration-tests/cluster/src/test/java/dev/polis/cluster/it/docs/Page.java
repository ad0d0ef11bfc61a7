package dev.polis.cluster.it.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Holds a page of the documentation.
 *
 * @param name its path in the repository
 * @param blocks its fenced blocks
 * @param spans the code within its sentences
 */
record Page(String name, List<Block> blocks, List<Span> spans) {

  private static final Pattern CONDITION = Pattern.compile("<!-- test: (.*?) -->");
  private static final Pattern SPAN = Pattern.compile("`([^`]+)`");
  private static final String FENCE = "```";

  /**
   * Holds code within a sentence.
   *
   * @param text without the backquotes
   * @param line its line, counted from 1
   */
  record Span(String text, int line) {}

  /** Reads the README and every page of docs. */
  static List<Page> all(Path repository) throws IOException {
    List<Path> files = new ArrayList<>(List.of(repository.resolve("README.md")));
    try (Stream<Path> docs = Files.walk(repository.resolve("docs"))) {
      docs.filter(file -> file.toString().endsWith(".md")).sorted().forEach(files::add);
    }
    List<Page> pages = new ArrayList<>();
    for (Path file : files) {
      pages.add(parse(repository.relativize(file).toString(), Files.readAllLines(file)));
    }
    return pages;
  }

  static Page parse(String name, List<String> lines) {
    List<Block> blocks = new ArrayList<>();
    List<Span> spans = new ArrayList<>();
    List<String> conditions = new ArrayList<>();
    for (int at = 0; at < lines.size(); at++) {
      String line = lines.get(at).strip();
      if (line.startsWith(FENCE)) {
        int end = endOf(name, lines, at);
        blocks.add(
            new Block(
                name,
                at + 1,
                line.substring(FENCE.length()),
                lines.subList(at + 1, end),
                conditions));
        conditions.clear();
        at = end;
      } else {
        collect(CONDITION, line, conditions);
        List<String> found = new ArrayList<>();
        collect(SPAN, line, found);
        int number = at + 1;
        found.forEach(text -> spans.add(new Span(text, number)));
      }
    }
    if (!conditions.isEmpty()) {
      throw new AssertionError(name + " ends with conditions of no block: " + conditions);
    }
    return new Page(name, blocks, spans);
  }

  private static int endOf(String name, List<String> lines, int begin) {
    for (int at = begin + 1; at < lines.size(); at++) {
      if (lines.get(at).strip().equals(FENCE)) {
        return at;
      }
    }
    throw new AssertionError(name + ":" + (begin + 1) + " has a block that does not end");
  }

  private static void collect(Pattern pattern, String line, List<String> found) {
    Matcher matcher = pattern.matcher(line);
    while (matcher.find()) {
      found.add(matcher.group(1));
    }
  }
}
