package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Compares the patches of {@code integration-tests/mutations}, which its {@code run} tries, with
 * the sources. {@code -Dpolis.mutations.write=true} writes the table of docs/mutations.md anew.
 */
class MutationPatchesTest {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));
  private static final Path PAGE = REPOSITORY.resolve("docs/mutations.md");
  private static final String TABLE =
      "| mutation | the product then | noticed by |\n|---|---|---|\n";

  /** Holds a patch: its name and its whole text. */
  private record Mutation(String name, String text) {

    /** Returns the value of a field of its head. */
    String said(String key) {
      return text.substring(0, text.indexOf("\ndiff ") + 1)
          .lines()
          .filter(line -> line.startsWith(key + ": "))
          .map(line -> line.substring(key.length() + 2))
          .findFirst()
          .orElseThrow(() -> new AssertionError("%s.patch does not say %s".formatted(name, key)));
    }

    /** Returns the test's source, below the repository. */
    Path source() throws IOException {
      Path module = REPOSITORY.resolve(said("module"));
      String file = said("test").replaceFirst("#.*", "") + ".java";
      try (Stream<Path> all = Files.walk(module.resolve("src/test"))) {
        return all.filter(each -> each.endsWith(file))
            .findFirst()
            .map(REPOSITORY::relativize)
            .orElseThrow(() -> new AssertionError(name + ".patch: " + module + " has no " + file));
      }
    }

    String row() throws IOException {
      return "| [%s](../integration-tests/mutations/%s.patch) | %s | [%s](../%s) |%n"
          .formatted(name, name, said("breaks"), said("test").replace("#", "."), source());
    }
  }

  private static List<Mutation> mutations() throws IOException {
    try (Stream<Path> all = Files.list(REPOSITORY.resolve("integration-tests/mutations"))) {
      List<Path> patches = all.filter(each -> each.toString().endsWith(".patch")).sorted().toList();
      return patches.stream().map(MutationPatchesTest::read).toList();
    }
  }

  private static Mutation read(Path patch) {
    try {
      return new Mutation(
          patch.getFileName().toString().replace(".patch", ""), Files.readString(patch));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  @DisplayName(
      "each mutation names its fault and the text that shows it, and applies to shipped code")
  void patchesApply() throws Exception {
    List<Mutation> mutations = mutations();
    assertTrue(mutations.size() > 10, mutations::toString);
    for (Mutation each : mutations) {
      assertFalse(each.said("expect").isBlank(), each.name());
      assertFalse(each.text().contains("\n+++ b/integration-tests/"), each.name());
      Finished.of(
              List.of(
                  "git",
                  "-C",
                  REPOSITORY.toString(),
                  "apply",
                  "--check",
                  "integration-tests/mutations/" + each.name() + ".patch"),
              Map.of(),
              Duration.ofMinutes(1))
          .requireSuccess(each.name() + ".patch does not apply any more; make it again");
    }
  }

  @Test
  @DisplayName("docs/mutations.md lists the mutations, each with its test, and no others")
  void tableIsThatOfThePatches() throws Exception {
    StringBuilder table = new StringBuilder(TABLE);
    for (Mutation each : mutations()) {
      table.append(each.row());
    }
    String page = Files.readString(PAGE);
    String essay = page.substring(0, page.indexOf(TABLE));
    if (Boolean.getBoolean("polis.mutations.write")) {
      Files.writeString(PAGE, essay + table);
    }
    assertEquals(
        essay + table,
        Files.readString(PAGE),
        "write it with ./polis test -pl integration-tests/scripts -Dtest=MutationPatchesTest"
            + " -Dpolis.mutations.write=true");
  }
}
