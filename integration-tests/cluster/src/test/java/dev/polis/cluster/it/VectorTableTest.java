package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Holds docs/vectors.md against the tests: each test that bears the id of a vector is in the table,
 * and nothing else is. {@code -Dpolis.vectors.write=true} writes the table anew.
 */
class VectorTableTest {

  private static final String IDS = "(?:SUP|LOG|EVT|CON|PKI|IDN|RPC|RES|CUR|ROL|STO|LBL|SEED|D)";

  private static final Pattern ID = Pattern.compile("\\b(" + IDS + "-\\d\\d)\\b");

  /** Ids at the head of a name, with what joins them: the sentence begins behind them. */
  private static final Pattern HEAD =
      Pattern.compile("^" + IDS + "-\\d\\d(?:(?:,| and)? " + IDS + "-\\d\\d)*:? ");

  private static final Pattern DISPLAY_NAME = Pattern.compile("@DisplayName\\(\\s*\"([^\"]*)\"");

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** The vectors of the ground: without a test of each, nothing above them may be trusted. */
  private static final List<String> REQUIRED =
      Stream.of(
              range("SUP", 1, 12),
              range("LOG", 1, 17),
              range("EVT", 1, 6),
              range("EVT", 10, 18),
              Stream.of("CON-06", "CON-08"),
              range("PKI", 1, 4),
              range("IDN", 1, 1),
              range("RPC", 1, 5),
              range("SEED", 1, 18),
              Stream.of("D-02", "D-03", "D-05"))
          .flatMap(ids -> ids)
          .toList();

  /** A row of the table. */
  private record Row(String id, String sentence, String file) implements Comparable<Row> {

    @Override
    public int compareTo(Row other) {
      return key().compareTo(other.key());
    }

    private String key() {
      return String.join("\0", id, file, sentence);
    }

    String text() {
      String name = Path.of(file).getFileName().toString().replace(".java", "");
      return "| %s | %s | [%s](../%s) |%n".formatted(id, sentence, name, file);
    }
  }

  private static Stream<String> range(String kind, int first, int last) {
    return IntStream.rangeClosed(first, last).mapToObj(number -> "%s-%02d".formatted(kind, number));
  }

  private static Set<Row> rows() throws IOException {
    Set<Row> found = new TreeSet<>();
    Files.walkFileTree(
        REPOSITORY,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = String.valueOf(folder.getFileName());
            return name.equals("target") || name.startsWith(".") && !folder.equals(REPOSITORY)
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            if (file.toString().endsWith(".java") && file.toString().contains("/src/test/")) {
              collect(file, found);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return found;
  }

  private static void collect(Path file, Set<Row> found) throws IOException {
    String path = REPOSITORY.relativize(file).toString();
    Matcher names = DISPLAY_NAME.matcher(Files.readString(file));
    while (names.find()) {
      String sentence = HEAD.matcher(names.group(1)).replaceFirst("").replace("|", "\\|");
      Matcher ids = ID.matcher(names.group(1));
      while (ids.find()) {
        found.add(new Row(ids.group(1), sentence, path));
      }
    }
  }

  private static String table() throws IOException {
    StringBuilder table =
        new StringBuilder(
            """
            # Which test proves which behaviour

            The ids are those of the reference's test vectors (SUP, LOG, EVT, …) and defects (D). A test bears its id in its name, and the middle column is
            that name. `VectorTableTest` holds this table against the tests.

            | id | what is shown | test |
            |---|---|---|
            """);
    rows().forEach(row -> table.append(row.text()));
    return table.toString();
  }

  @Test
  @DisplayName("the table names the tests that bear an id, and no others")
  void theTableIsThatOfTheTests() throws IOException {
    Path document = REPOSITORY.resolve("docs/vectors.md");
    if (Boolean.getBoolean("polis.vectors.write")) {
      Files.writeString(document, table());
    }
    assertEquals(
        table(),
        Files.readString(document),
        "docs/vectors.md is out of date; write it with ./polis test -pl integration-tests/cluster"
            + " -Dtest=VectorTableTest -Dpolis.vectors.write=true");
  }

  @Test
  @DisplayName("each vector of the ground has a test")
  void noVectorIsWithoutTest() throws IOException {
    List<String> missing = new ArrayList<>(REQUIRED);
    missing.removeAll(rows().stream().map(Row::id).toList());
    assertEquals(List.of(), missing, "vectors that no test bears in its name");
  }
}
