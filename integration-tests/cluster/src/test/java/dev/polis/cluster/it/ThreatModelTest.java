package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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

/** Holds docs/threat-model.md against the tests that it names. */
class ThreatModelTest {
  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** A test as the last column names it: a link to its class, a colon, the sentence of the test. */
  private static final Pattern PROOF =
      Pattern.compile("\\[([A-Za-z0-9]+)]\\(\\.\\./([^)]+\\.java)\\): ([^|]+?)(?=; \\[|$)");

  private static final Pattern PORT = Pattern.compile("\\b(\\d{4})\\b");

  /** Columns of a row that names a threat: who, what, with which key, what stops them, test. */
  private static final int COLUMNS = 5;

  private static List<String[]> rows() throws IOException {
    List<String[]> rows = new ArrayList<>();
    for (String line : Files.readAllLines(REPOSITORY.resolve("docs/threat-model.md"))) {
      if (line.startsWith("| ") && !line.startsWith("| who ")) {
        String[] columns = line.substring(2, line.lastIndexOf(" |")).split(" \\| ");
        assertEquals(COLUMNS, columns.length, line);
        rows.add(columns);
      }
    }
    return rows;
  }

  /** Returns the text of a class with strings joined that were broken into several lines. */
  private static String source(Path file) throws IOException {
    return Files.readString(file).replaceAll("\"\\s*\\+\\s*\"", "");
  }

  @Test
  @DisplayName("each row of the threat model names tests that exist and run")
  void rowsNameTests() throws IOException {
    List<String> wrong = new ArrayList<>();
    List<String[]> rows = rows();
    assertTrue(rows.size() > 20, "the table was read to its end: " + rows.size() + " rows");
    for (String[] row : rows) {
      Matcher proofs = PROOF.matcher(row[COLUMNS - 1]);
      int found = 0;
      while (proofs.find()) {
        found++;
        check(proofs).forEach(wrong::add);
      }
      if (found == 0) {
        wrong.add("no test: " + String.join(" | ", row));
      }
    }
    assertEquals(List.of(), wrong);
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
