import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds the proofs that the pages name against the run: a vector of docs/vectors.md or a row of
 * docs/threat-model.md whose test did not pass in this run is unproven.
 */
final class TestProofs {

  /** A row of docs/vectors.md: id, sentence, link to the class. */
  private static final Pattern VECTOR =
      Pattern.compile("^\\| ([A-Z0-9]+-\\d\\d) \\| (.*) \\| \\[\\w+]\\(\\.\\./(.*)\\) \\|$");

  /** A proof in the last column of docs/threat-model.md: link to the class, a colon, sentence. */
  private static final Pattern THREAT =
      Pattern.compile("\\[\\w+]\\(\\.\\./([^)]+\\.java)\\): ([^|]+?)(?=; \\[| \\|)");

  private final Path repository;
  private final String tier;

  /** Tests by their class and sentence, without the ids before it. */
  private final Map<String, List<TestRun.Case>> tests = new HashMap<>();

  TestProofs(Path repository, TestRun run, String tier) {
    this.repository = repository;
    this.tier = tier;
    for (TestRun.Case test : run.cases()) {
      String owner = test.topClass();
      String simple = owner.substring(owner.lastIndexOf('.') + 1);
      tests.computeIfAbsent(simple, any -> new ArrayList<>()).add(test);
    }
  }

  /** Returns the lines that say what this run did not prove. */
  List<String> lines() throws IOException {
    List<String> lines = new ArrayList<>();
    describe("vector", vectors(), lines);
    describe("threat", threats(), lines);
    return lines;
  }

  private Map<String, Collection<String>> vectors() throws IOException {
    Map<String, Collection<String>> unproven = new TreeMap<>();
    Path page = repository.resolve("docs/vectors.md");
    for (String line : Files.exists(page) ? Files.readAllLines(page) : List.<String>of()) {
      Matcher row = VECTOR.matcher(line);
      if (row.matches()) {
        judge(row.group(1), row.group(3), row.group(2), unproven);
      }
    }
    return unproven;
  }

  private Map<String, Collection<String>> threats() throws IOException {
    Map<String, Collection<String>> unproven = new TreeMap<>();
    Path page = repository.resolve("docs/threat-model.md");
    for (String line : Files.exists(page) ? Files.readAllLines(page) : List.<String>of()) {
      Matcher proofs = THREAT.matcher(line);
      while (line.startsWith("| ") && proofs.find()) {
        judge(line.split("\\|")[1].strip(), proofs.group(1), proofs.group(2), unproven);
      }
    }
    return unproven;
  }

  private void judge(
      String what, String file, String sentence, Map<String, Collection<String>> unproven)
      throws IOException {
    Path source = repository.resolve(file);
    String owner = simpleName(source);
    String wanted = sentence.replace("\\|", "|").strip();
    boolean ofClass = isSentenceOfClass(source, wanted);
    List<TestRun.Case> found =
        runners(source).stream()
            .flatMap(runner -> tests.getOrDefault(runner, List.of()).stream())
            .filter(test -> ofClass || test.name().isEmpty() || test.name().contains(wanted))
            .toList();
    String why = "";
    if (found.isEmpty()) {
      why = "did not run: " + owner + ": " + wanted;
    } else if (found.stream().noneMatch(TestRun.Case::proves)) {
      why = owner + ": " + wanted + ": " + found.getFirst().message();
    }
    if (!why.isEmpty()) {
      unproven.computeIfAbsent(what, any -> new TreeSet<>()).add(why);
    }
  }

  /** A report names the methods of a class, and not the sentence of the class. */
  private static boolean isSentenceOfClass(Path source, String sentence) throws IOException {
    return Files.exists(source)
        && Files.readAllLines(source).stream()
            .anyMatch(line -> line.startsWith("@DisplayName(") && line.contains(sentence));
  }

  /**
   * Returns the classes under whose names the tests of a source are reported: its own, or those
   * beside it that extend it.
   */
  private static List<String> runners(Path source) throws IOException {
    String owner = simpleName(source);
    List<String> runners = new ArrayList<>(List.of(owner));
    if (Files.exists(source) && Files.readString(source).contains("abstract class " + owner)) {
      try (var beside = Files.list(source.getParent())) {
        for (Path file : beside.filter(each -> each.toString().endsWith(".java")).toList()) {
          if (Files.readString(file).contains(" extends " + owner + " ")) {
            runners.add(simpleName(file));
          }
        }
      }
    }
    return runners;
  }

  private static String simpleName(Path source) {
    return source.getFileName().toString().replace(".java", "");
  }

  /** In the quick tier many proofs do not run; a list of them would hide what is new. */
  private void describe(
      String kind, Map<String, Collection<String>> unproven, List<String> lines) {
    if (tier.equals("quick")) {
      if (!unproven.isEmpty()) {
        lines.add(
            "%ss of which this run leaves a proof out: %d; polis test --full and --long run them"
                .formatted(kind, unproven.size()));
      }
      return;
    }
    unproven.forEach((what, reasons) -> reasons.forEach(why -> lines.add("unproven %s %s: %s".formatted(kind, what, why))));
  }
}
