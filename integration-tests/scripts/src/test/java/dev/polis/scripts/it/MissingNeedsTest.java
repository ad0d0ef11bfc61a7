package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said where the JDK or Maven is missing, on a machine made by namespaces. */
class MissingNeedsTest {

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"test", "up", "ctl", "down"})
  @DisplayName(
      "On a machine that has only JDK 17, each command names what to install, and changes nothing")
  void onlyJdk17(String command) throws Exception {
    ScriptFolder.in(directory);
    Finished run =
        hiding(
            """
            for folder in /usr/lib/jvm /opt; do
              [[ ! -d "$folder" ]] || mount -t tmpfs tmpfs "$folder"
            done
            jdk=/usr/lib/jvm/java-17-openjdk-amd64
            [[ -d /usr/lib/jvm ]] || jdk="$1/java-17"
            mkdir -p "$jdk/bin"
            printf '#!/bin/sh\\n' | tee "$jdk/bin/java" >"$jdk/bin/javac"
            chmod +x "$jdk"/bin/*
            printf 'JAVA_VERSION="17.0.15"\\n' >"$jdk/release"
            export HOME="$1" JAVA_HOME="$jdk" PATH="$jdk/bin:/usr/bin:/bin:/usr/sbin:/sbin"
            """,
            command);

    assertEquals(3, run.code(), run.all());
    assertEquals(
        """
        polis: there is no JDK 25: looked at JAVA_HOME, PATH, /usr/lib/jvm, /opt and ~/.sdkman
        polis: next: install the package openjdk-25-jdk-headless or temurin-25-jdk, or set JAVA_HOME
        """,
        run.err());
    assertEquals("", run.out());
  }

  @Test
  @DisplayName("Without Maven, its package is named")
  void noMaven() throws Exception {
    ScriptFolder.in(directory);
    Finished run =
        hiding(
            """
            mkdir "$1/few"
            mount -t tmpfs tmpfs "$1/few"
            ln -sft "$1/few" /usr/sbin/* /usr/bin/* "$JAVA_HOME"/bin/*
            rm -f "$1/few/mvn"
            export PATH="$1/few"
            """,
            "test");

    assertEquals(3, run.code(), run.all());
    assertEquals("polis: there is no Maven\npolis: next: install the package maven\n", run.err());
  }

  /** Runs a command of {@code polis} after shell code that takes something away. */
  private Finished hiding(String code, String command) throws Exception {
    ScriptFolder scripts = new ScriptFolder(directory);
    List<String> unshare = List.of("unshare", "--map-root-user", "--mount");
    Finished able = scripts.finish(Stream.concat(unshare.stream(), Stream.of("true")).toList());
    assumeTrue(
        able.code() == 0,
        "a machine without a program is made by namespaces, which this one refuses: "
            + able.err().strip());
    List<String> line = new ArrayList<>(unshare);
    line.addAll(List.of("bash", "-euc", code + "exec \"$1/polis\" \"$2\"", "-"));
    line.addAll(List.of(directory.toString(), command));
    return scripts.finish(line);
  }
}
