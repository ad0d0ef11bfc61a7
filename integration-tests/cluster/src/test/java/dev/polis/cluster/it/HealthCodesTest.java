package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.LiveTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Checks that {@code explain} explains each reason that an organ or role gives for its health. */
class HealthCodesTest {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));
  private static final Path ENTRIES =
      REPOSITORY.resolve("launcher/ctl/src/main/resources/dev/polis/ctl/explain.yaml");

  /**
   * Matches the making of a condition: its code is the first argument, or the one after the level.
   */
  private static final Pattern MADE =
      Pattern.compile(
          "(?:HealthCondition\\.(?:up|degraded|waiting|down)\\(|new HealthCondition\\([^,]+,"
              + "|new Advice\\()\\s*([\\w.()]+|\"[^\"]*\")\\s*,");

  /** Matches a condition that is made from an advice, whose code is in the making of the advice. */
  private static final String PASSED_ON = "advice.code()";

  private static final Pattern ENTRY =
      Pattern.compile("(?m)^([a-z][\\w-]*): \\|\\n((?:  .*\\n?)+)");

  private static Stream<Path> sources(String floor) throws IOException {
    return LiveTree.bottomUp(REPOSITORY.resolve(floor)).stream()
        .filter(file -> file.toString().contains("/src/main/java/"))
        .filter(file -> file.toString().endsWith(".java"))
        .filter(file -> !file.endsWith("HealthCondition.java"));
  }

  /** Returns the codes in the source, each with its file. */
  private static SortedMap<String, String> codes() throws IOException {
    SortedMap<String, String> codes = new TreeMap<>();
    for (String floor : List.of("platform", "bundles", "launcher", "integration-tests")) {
      for (Path file : sources(floor).toList()) {
        String text = Files.readString(file);
        MADE.matcher(text)
            .results()
            .map(found -> found.group(1))
            .filter(argument -> !argument.equals(PASSED_ON))
            .forEach(
                argument ->
                    codes.put(code(argument, text, file), REPOSITORY.relativize(file).toString()));
      }
    }
    return codes;
  }

  private static String code(String argument, String text, Path file) {
    if (argument.startsWith("\"")) {
      return argument.substring(1, argument.length() - 1);
    }
    return Pattern.compile("String " + Pattern.quote(argument) + "\\s*=\\s*\"([^\"]+)\"")
        .matcher(text)
        .results()
        .map(found -> found.group(1))
        .findFirst()
        .orElseThrow(
            () ->
                new AssertionError(
                    "%s makes a health condition whose code is %s: write a literal or a constant of"
                            .formatted(file, argument)
                        + " that file, so that this test can read it"));
  }

  /** Returns the entries that explain a code. */
  private static List<String> explained() throws IOException {
    return ENTRY
        .matcher(Files.readString(ENTRIES))
        .results()
        .filter(entry -> entry.group(2).lines().anyMatch(line -> line.startsWith("  Code: ")))
        .map((MatchResult entry) -> entry.group(1))
        .sorted()
        .toList();
  }

  @Test
  @DisplayName(
      "every health code in the source has an entry in explain.yaml, and no entry is stale")
  void everyCodeIsExplained() throws IOException {
    SortedMap<String, String> codes = codes();
    assertTrue(codes.size() > 25, "the source was not understood; found only " + codes);
    assertEquals(
        List.copyOf(codes.keySet()),
        explained(),
        () -> ENTRIES + " must explain each of these codes (and where it is made): " + codes);
  }

  @Test
  @DisplayName("the making of a condition is recognized on one line and on several")
  void conditionsAreRecognized() {
    Matcher one = MADE.matcher("scope.set(HealthCondition.waiting(NOT_READY, text));");
    assertTrue(one.find());
    assertEquals("NOT_READY", one.group(1));
    Matcher other = MADE.matcher("new HealthCondition(\n  HealthLevel.DOWN,\n \"no-disk\",\n text");
    assertTrue(other.find());
    assertEquals("\"no-disk\"", other.group(1));
  }
}
