package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Starts a JVM as the scripts do, for an operator with another language. */
class NodeLanguageTest {

  @TempDir Path directory;

  private String settings(String environment, String shown) throws Exception {
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    return ScriptFolder.in(directory)
        .finish(
            List.of(
                "bash",
                "-c",
                "set -euo pipefail; cd %s; export %s; source launcher/script/node.sh; %s \"${JVM_OPTIONS[@]}\" -XshowSettings:%s -version"
                    .formatted(directory, environment, java, shown)))
        .requireSuccess("java")
        .all();
  }

  @ParameterizedTest
  @ValueSource(strings = {"ar", "tr"})
  @DisplayName(
      "A JVM of Polis writes numbers and small letters in English, whatever the operator's language is")
  void english(String language) throws Exception {
    String said = settings("JAVA_TOOL_OPTIONS=-Duser.language=" + language, "locale");
    assertTrue(said.contains("default locale = English"), said);
    assertTrue(said.contains("default format locale = English"), said);
  }

  @ParameterizedTest
  @ValueSource(strings = {"LC_ALL=C", "LC_ALL=xx_XX.UTF-8", "LANG=xx_XX.UTF-8"})
  @DisplayName("A JVM of Polis can name each file, also in the C locale and in one that is missing")
  void names(String locale) throws Exception {
    String said = settings(locale, "properties");
    assertTrue(said.contains("sun.jnu.encoding = UTF-8"), said);
  }
}
