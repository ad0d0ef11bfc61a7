package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Starts a JVM as the scripts do, for an operator with another language. */
class NodeLanguageTest {

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"ar", "tr"})
  @DisplayName(
      "A JVM of Polis writes numbers and small letters in English, whatever the operator's language is")
  void english(String language) throws Exception {
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    Finished run =
        ScriptFolder.in(directory)
            .finish(
                List.of(
                    "bash",
                    "-c",
                    "set -euo pipefail; cd %s; source launcher/script/node.sh; JAVA_TOOL_OPTIONS=-Duser.language=%s %s \"${JVM_OPTIONS[@]}\" -XshowSettings:locale -version"
                        .formatted(directory, language, java)))
            .requireSuccess("java");
    assertTrue(run.all().contains("default locale = English"), run.all());
    assertTrue(run.all().contains("default format locale = English"), run.all());
  }
}
