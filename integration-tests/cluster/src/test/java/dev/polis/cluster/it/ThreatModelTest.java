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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Holds docs/threat-model.md against the tests that it names. A test with the tag {@code attack}
 * acts as the row's attacker: it opens the connections, sends the bytes, presents the certificate,
 * changes the file or makes the call, and asserts that the attack fails without harm. A test of a
 * parser, of a setting or of normal use has no such tag. The report of a run lists the named tests
 * that did not run.
 */
class ThreatModelTest {
  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** Matches a test in the last column: a link to its class, a colon, the sentence of the test. */
  private static final Pattern PROOF =
      Pattern.compile("\\[([A-Za-z0-9]+)]\\(\\.\\./([^)]+\\.java)\\): ([^|]+?)(?=; \\[|$)");

  private static final String TAG = "@Tag(\"attack\")";

  private static final Pattern SENTENCE =
      Pattern.compile("@DisplayName\\(\\s*\"((?:[^\"\\\\]|\\\\.)*)\"\\s*\\)");

  private static final Pattern PORT = Pattern.compile("\\b(\\d{4})\\b");

  /** The number of columns of a row: who, reaches, with which key, what stops them, test. */
  private static final int COLUMNS = 5;

  private static List<String[]> rows() throws IOException {
    List<String[]> rows = new ArrayList<>();
    for (String line : Files.readAllLines(REPOSITORY.resolve("docs/threat-model.md"))) {
      if (line.startsWith("| ") && !line.startsWith("| who |")) {
        String[] columns = line.substring(2, line.lastIndexOf(" |")).split(" \\| ");
        assertEquals(COLUMNS, columns.length, line);
        rows.add(columns);
      }
    }
    return rows;
  }

  /** Returns the source of a class, with multi-line strings joined. */
  private static String source(Path file) throws IOException {
    return Files.readString(file).replaceAll("\"\\s*\\+\\s*\"", "");
  }

  /** Returns the sentences of the attack tests in a class. */
  private static Set<String> attacks(Path file) throws IOException {
    Set<String> sentences = new TreeSet<>();
    String source = source(file);
    boolean all = source.contains("\n" + TAG + "\n");
    for (String method : source.split("\n\n")) {
      String annotations = method.split("\\bvoid ", 2)[0];
      Matcher sentence = SENTENCE.matcher(annotations);
      if ((all || annotations.contains("  " + TAG + "\n")) && sentence.find()) {
        sentences.add(sentence.group(1));
      }
    }
    return sentences;
  }

  @Test
  @DisplayName("each row of the threat model names existing tests, one of which attacks")
  void rowsNameTests() throws IOException {
    List<String> wrong = new ArrayList<>();
    List<String[]> rows = rows();
    assertTrue(rows.size() > 30, "the table was read to its end: " + rows.size() + " rows");
    for (String[] row : rows) {
      Matcher proofs = PROOF.matcher(row[COLUMNS - 1]);
      boolean attacked = false;
      while (proofs.find()) {
        List<String> faults = check(proofs);
        wrong.addAll(faults);
        attacked |=
            faults.isEmpty()
                && attacks(REPOSITORY.resolve(proofs.group(2))).contains(proofs.group(3).strip());
      }
      if (!attacked) {
        wrong.add("no test with " + TAG + ": " + String.join(" | ", row));
      }
    }
    assertEquals(List.of(), wrong);
  }

  @Test
  @DisplayName("a row of the threat model names each test that attacks")
  void attacksHaveRows() throws IOException {
    Set<String> named = new TreeSet<>();
    for (String[] row : rows()) {
      PROOF
          .matcher(row[COLUMNS - 1])
          .results()
          .forEach(proof -> named.add(proof.group(2) + ": " + proof.group(3).strip()));
    }
    Set<String> found = new TreeSet<>();
    for (Path file : tests()) {
      for (String sentence : attacks(file)) {
        found.add(REPOSITORY.relativize(file) + ": " + sentence);
      }
    }
    assertTrue(found.size() > 40, "the tests were found: " + found.size());
    found.removeAll(named);
    assertEquals(Set.of(), found, "attacks without a row");
  }

  /** Returns the sources of all tests. */
  private static List<Path> tests() throws IOException {
    List<Path> tests = new ArrayList<>();
    for (String place : List.of("platform", "bundles", "launcher", "tools", "integration-tests")) {
      LiveTree.bottomUp(REPOSITORY.resolve(place)).stream()
          .filter(file -> file.toString().contains("/src/test/java/"))
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> !file.endsWith("ThreatModelTest.java"))
          .forEach(tests::add);
    }
    return tests;
  }

  private static List<String> check(Matcher proof) throws IOException {
    Path file = REPOSITORY.resolve(proof.group(2));
    String sentence = proof.group(3).strip();
    if (!Files.exists(file) || !file.endsWith(proof.group(1) + ".java")) {
      return List.of("no such class: " + proof.group());
    }
    String source = source(file);
    if (!source.contains("\"" + sentence + "\"")) {
      return List.of("%s has no test \"%s\"".formatted(proof.group(1), sentence));
    }
    return source.contains("@Dis" + "abled")
        ? List.of(proof.group(1) + " has a test that is switched off")
        : List.of();
  }

  @Test
  @DisplayName("each port that the architecture names has a row in the threat model")
  void portsAreInTheModel() throws IOException {
    Set<String> modelled = new TreeSet<>();
    for (String[] row : rows()) {
      ports(row[1], modelled);
    }
    Set<String> missing = new TreeSet<>();
    for (String line : Files.readAllLines(REPOSITORY.resolve("docs/architecture.md"))) {
      if (line.matches("\\| \\d{4}.*")) {
        ports(line.substring(0, line.indexOf('|', 1)), missing);
      }
    }
    assertTrue(missing.size() >= 7, "the table of ports was read: " + missing);
    missing.removeAll(modelled);
    assertEquals(Set.of(), missing, "ports without a row");
  }

  private static void ports(String text, Set<String> found) {
    Matcher ports = PORT.matcher(text);
    while (ports.find()) {
      found.add(ports.group(1));
    }
  }
}
