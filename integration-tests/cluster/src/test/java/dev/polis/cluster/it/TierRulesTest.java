package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.LiveTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Holds the tags of all tests to the tiers of {@link dev.polis.fixtures.Tier}, so that each class
 * runs in one of them. The report of a run compares the classes that ran with the same tags.
 */
class TierRulesTest {

  private static final Set<String> TIERS = Set.of("full", "longer", "long", "alone", "beside");

  /** A tag for the purpose of a test, not its tier; ThreatModelTest requires it. */
  private static final String ATTACK = "attack";

  private static final Pattern TEST =
      Pattern.compile(
          "^ +@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|ContainerTest)\\b",
          Pattern.MULTILINE);

  private static final Pattern TAG = Pattern.compile("@Tag\\(\"?([^\")]*)\"?\\)");

  private static final Pattern CLASS_TAG =
      Pattern.compile("^@Tag\\(\"(\\w+)\"\\)", Pattern.MULTILINE);

  /** Matches a class that reads the tier, and so does more work in the long one. */
  private static final Pattern ASKS =
      Pattern.compile(
          "\\bSlice\\.of\\(|\\bTier\\.(?:isLong\\(|pick\\([^,]+,\\s*([^,]+),(?!\\s*\\1\\)))");

  /** The module whose Surefire runs classes that end with IT, too. */
  private static final Set<String> INTEGRATION = Set.of("integration-tests/cluster");

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** A source of tests, by its path in the repository. */
  private record Source(String path, String text) {

    boolean hasTests() {
      return TEST.matcher(text).find();
    }

    String module() {
      return path.substring(0, path.indexOf("/src/test/"));
    }

    Set<String> tags() {
      return found(TAG);
    }

    Set<String> classTags() {
      return found(CLASS_TAG);
    }

    private Set<String> found(Pattern tag) {
      return tag.matcher(text)
          .results()
          .map((MatchResult result) -> result.group(1))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static List<Source> sources() throws IOException {
    List<Source> sources = new ArrayList<>();
    for (String place : List.of("platform", "bundles", "launcher", "tools", "integration-tests")) {
      for (Path file : LiveTree.bottomUp(REPOSITORY.resolve(place))) {
        String path = REPOSITORY.relativize(file).toString();
        if (path.contains("/src/test/") && path.endsWith(".java")) {
          sources.add(new Source(path, Files.readString(file)));
        }
      }
    }
    assertTrue(sources.size() > 400, "the sources were found: " + sources.size());
    return sources;
  }

  @Test
  @DisplayName("each class of tests is found by Surefire under its name")
  void names() throws IOException {
    List<String> wrong = new ArrayList<>();
    for (Source source : sources()) {
      boolean found =
          source.path().endsWith("Test.java")
              || source.path().endsWith("IT.java") && INTEGRATION.contains(source.module());
      // The tests of a base class run in its subclasses.
      boolean base = source.text().contains("\nabstract class ");
      if (source.hasTests() && !found && !base) {
        wrong.add(source.path());
      }
    }
    assertEquals(List.of(), wrong, "name them …Test, or …IT in " + INTEGRATION);
  }

  @Test
  @DisplayName("each tag is one of a tier, and no class has two tiers that exclude each other")
  void tags() throws IOException {
    List<String> wrong = new ArrayList<>();
    for (Source source : sources()) {
      source.tags().stream()
          .filter(tag -> !TIERS.contains(tag) && !tag.equals(ATTACK))
          .filter(tag -> source.hasTests() && !source.path().endsWith("TierRulesTest.java"))
          .forEach(tag -> wrong.add(source.path() + " has the tag " + tag));
      Set<String> ofClass = source.classTags();
      ofClass.remove(ATTACK);
      if (ofClass.contains("long") && ofClass.size() > 1) {
        wrong.add(source.path() + " runs in the long tier alone, and has " + ofClass);
      }
    }
    assertEquals(List.of(), wrong, "the tags are " + new TreeSet<>(TIERS) + " and " + ATTACK);
  }

  @Test
  @DisplayName("each class whose amount of work depends on the tier runs in the long one")
  void longForms() throws IOException {
    List<String> wrong =
        sources().stream()
            .filter(source -> source.hasTests() && ASKS.matcher(source.text()).find())
            .filter(source -> !source.path().endsWith("TierRulesTest.java"))
            .filter(source -> source.tags().stream().noneMatch(tag -> tag.startsWith("long")))
            .map(Source::path)
            .toList();
    assertEquals(List.of(), wrong, "give them @Tag(\"longer\")");
  }
}
