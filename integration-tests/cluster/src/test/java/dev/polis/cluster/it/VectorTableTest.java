package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Holds docs/vectors.md against the tests: each test that bears the id of a vector is in the table,
 * and nothing else is. {@code -Dpolis.vectors.write=true} writes the table anew.
 */
class VectorTableTest {

  private static final String IDS =
      "(?:SUP|LOG|EVT|CON|PKI|IDN|RPC|RES|CUR|ROL|STO|LBL|SEED|DHC|DNS|WG|MET|K8S|BOOT|D)";

  private static final Pattern ID = Pattern.compile("\\b(" + IDS + "-\\d\\d)\\b");

  /** Matches the ids at the head of a name, with the words that join them; the sentence follows. */
  private static final Pattern HEAD =
      Pattern.compile("^" + IDS + "-\\d\\d(?:(?:,| and)? " + IDS + "-\\d\\d)*:? ");

  private static final Pattern DISPLAY_NAME = Pattern.compile("@DisplayName\\(\\s*\"([^\"]*)\"");

  /** Begins the reason of a vector of which some clauses have a test and others do not. */
  private static final String IN_PART = "in part: ";

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** Every vector and defect that the reference numbers. */
  private static final Set<String> REFERENCE =
      Stream.of(
              range("SUP", 1, 14),
              range("LOG", 1, 17),
              range("EVT", 1, 6),
              range("EVT", 10, 18),
              range("STO", 1, 4),
              range("DHC", 1, 10),
              range("DNS", 1, 4),
              range("DNS", 10, 12),
              range("CON", 1, 8),
              range("PKI", 1, 4),
              range("IDN", 1, 1),
              range("RPC", 1, 5),
              range("RES", 1, 1),
              range("CUR", 1, 23),
              range("ROL", 1, 4),
              range("WG", 1, 2),
              range("MET", 1, 2),
              range("LBL", 1, 2),
              range("K8S", 1, 7),
              range("BOOT", 1, 3),
              range("SEED", 1, 18),
              range("D", 1, 50))
          .flatMap(ids -> ids)
          .collect(Collectors.toCollection(TreeSet::new));

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

            The ids are those of the reference's test vectors (SUP, LOG, EVT, …) and defects (D). The name of a test begins with its ids, and the middle column is
            the rest of that name. `VectorTableTest` compares this table with the tests.

            | id | what is shown | test |
            |---|---|---|
            """);
    rows().forEach(row -> table.append(row.text()));
    table.append(
        """

        ## Not yet, because

        Vectors of the reference without a test, or with a test of only a part, and the reason.

        | id | because |
        |---|---|
        """);
    open().forEach((id, reason) -> table.append("| %s | %s |%n".formatted(id, reason)));
    return table.toString();
  }

  /** Reads the vectors without a test, each with its reason, from {@code vectors-open.txt}. */
  private static SortedMap<String, String> open() throws IOException {
    try (InputStream in = VectorTableTest.class.getResourceAsStream("vectors-open.txt")) {
      SortedMap<String, String> open = new TreeMap<>();
      new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.startsWith("#"))
          .forEach(line -> open.put(line.split(" ", 2)[0], line.split(" ", 2)[1]));
      return open;
    }
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
  @DisplayName("each vector of the reference has a test, or a reason why not yet")
  void noVectorIsWithoutTestOrReason() throws IOException {
    Set<String> tested = rows().stream().map(Row::id).collect(Collectors.toSet());
    Set<String> accounted = new TreeSet<>(tested);
    accounted.addAll(open().keySet());
    assertEquals(REFERENCE, accounted, "the vectors with a test or a reason in vectors-open.txt");
    open()
        .forEach(
            (id, reason) ->
                assertEquals(
                    reason.startsWith(IN_PART),
                    tested.contains(id),
                    id
                        + " has a test and a reason why it has none that is not \"in part\", or the"
                        + " other way round"));
  }

  @Test
  @DisplayName("no test that bears an id is disabled")
  void noVectorIsDisabled() throws IOException {
    List<String> disabled = new ArrayList<>();
    for (Row row : rows()) {
      if (Files.readString(REPOSITORY.resolve(row.file())).contains("@Dis" + "abled")) {
        disabled.add(row.file());
      }
    }
    assertEquals(List.of(), disabled, "a skipped test is no proof");
  }
}
