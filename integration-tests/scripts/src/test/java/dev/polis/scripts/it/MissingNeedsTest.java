package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
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

/** Reads the messages where no JDK or Maven can be provided, on a machine made by namespaces. */
class MissingNeedsTest {

  /** Plays a curl that reaches a server without the file. */
  private static final String NOT_FOUND = "echo 404; exit 22";

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"test", "up", "ctl", "down"})
  @DisplayName(
      "On a machine that has only JDK 17 and cannot fetch 25, each command names what to install")
  void onlyJdk17(String command) throws Exception {
    ScriptFolder scripts = ScriptFolder.in(directory).program("getconf", "echo glibc 2.36");
    scripts.program("curl", NOT_FOUND);
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
            export HOME="$1" JAVA_HOME="$jdk" PATH="$1/programs:$jdk/bin:/usr/bin:/bin:/usr/sbin:/sbin"
            """,
            command);

    assertEquals(3, run.code(), run.all());
    assertEquals(
        """
        polis: fetching JDK 25, Temurin %1$s from %2$s
        polis: java: %2$s: the server answers 404
        polis: next: install a JDK 25 (package openjdk-25-jdk-headless or temurin-25-jdk), or set JAVA_HOME to one
        """
            .formatted(
                "25.0.4.1+1",
                "https://github.com/adoptium/temurin25-binaries/releases/download/jdk-25.0.4.1%2B1"
                    + "/OpenJDK25U-jdk_x64_linux_hotspot_25.0.4.1_1.tar.gz"),
        run.err());
    assertEquals("", run.out());
  }

  @Test
  @DisplayName("Where Maven is missing and cannot be fetched, its package is named")
  void noMaven() throws Exception {
    ScriptFolder.in(directory).program("curl", NOT_FOUND);
    Finished run =
        hiding(
            """
            mkdir "$1/few"
            mount -t tmpfs tmpfs "$1/few"
            ln -sft "$1/few" /usr/sbin/* /usr/bin/* "$JAVA_HOME"/bin/*
            rm -f "$1/few/mvn"
            export PATH="$1/programs:$1/few"
            """,
            "test");

    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err().endsWith(": the server answers 404\npolis: next: install the package maven\n"),
        run::all);
  }

  /** Runs a command of {@code polis} after shell code that removes things from the machine. */
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
