package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Holds docs/vectors.md against the tests: each test that bears the id of a vector is in the table,
 * and nothing else is. {@code -Dpolis.vectors.write=true} writes the table anew.
 */
class VectorTableTest {

  private static final Pattern ID =
      Pattern.compile("\\b((?:SUP|LOG|EVT|CON|PKI|IDN|RPC|RES|CUR|ROL|STO|LBL|SEED|D)-\\d\\d)\\b");

  private static final Pattern DISPLAY_NAME = Pattern.compile("@DisplayName\\(\\s*\"([^\"]*)\"");

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  private static Map<String, Set<String>> testsByVector() throws IOException {
    Map<String, Set<String>> found = new TreeMap<>();
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

  private static void collect(Path file, Map<String, Set<String>> found) throws IOException {
    Matcher names = DISPLAY_NAME.matcher(Files.readString(file));
    while (names.find()) {
      Matcher ids = ID.matcher(names.group(1));
      while (ids.find()) {
        found
            .computeIfAbsent(ids.group(1), id -> new TreeSet<>())
            .add(REPOSITORY.relativize(file).toString());
      }
    }
  }

  private static String table() throws IOException {
    StringBuilder table =
        new StringBuilder(
            """
            # Which test proves which behaviour

            The ids are those of the reference's test vectors (SUP, LOG, EVT, …) and defects (D). A test bears its id in its name;
            this table is held against the tests by `VectorTableTest`.

            | id | tests |
            |---|---|
            """);
    testsByVector()
        .forEach(
            (id, files) ->
                table
                    .append("| ")
                    .append(id)
                    .append(" | ")
                    .append(
                        String.join(
                            "<br>",
                            files.stream()
                                .map(
                                    file ->
                                        "[%s](../%s)"
                                            .formatted(
                                                Path.of(file)
                                                    .getFileName()
                                                    .toString()
                                                    .replace(".java", ""),
                                                file))
                                .toList()))
                    .append(" |\n"));
    return table.toString();
  }

  @Test
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
}
