package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.scripts.it.FaultyDownloads.Fault;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Provides a missing Maven, from a server of the test's own. */
@Tag("full")
class ProvideMavenTest {

  private static final String ARCHIVE = "apache-maven-9.9.9-bin.tar.gz";
  private static final String MADE = ".polis/apache-maven-9.9.9";

  @TempDir Path directory;
  private ScriptFolder scripts;
  private FaultyDownloads server;
  private String known;

  @BeforeEach
  void serveArchive() throws Exception {
    scripts = ScriptFolder.in(directory);
    known = Files.readString(properties());
    server = new FaultyDownloads(directory);
    scripts.executable("packed/apache-maven-9.9.9/bin/mvn", "echo Maven of the wrapper");
    server.pack(scripts, "packed", ARCHIVE);
    writeProperties(server.digest("SHA-256", ARCHIVE));
  }

  @AfterEach
  void stopServer() {
    server.close();
  }

  @Test
  @DisplayName("A missing Maven is unpacked from a mirror of Maven Central, once, and runs")
  void provided() throws Exception {
    Finished run = provide("mvn");

    assertEquals("Maven of the wrapper\n", run.requireSuccess("Maven is there").out());
    assertEquals(
        "polis: fetching Maven 9.9.9 from %s/org/apache/maven/apache-maven/9.9.9/%s\n"
            .formatted(server.url(), ARCHIVE),
        run.err());
    assertFalse(Files.exists(scripts.path(MADE + ".tar.gz")), "the archive is deleted");

    Finished again = provide("mvn");
    assertEquals("Maven of the wrapper\n", again.requireSuccess("Maven is there").out());
    assertEquals("", again.err(), "it is fetched once");
  }

  @Test
  @DisplayName("A Maven on the PATH is used, and nothing is fetched")
  void onThePath() throws Exception {
    scripts.program("mvn", "echo mine");
    Finished run = scripts.functions("provide_maven; mvn");

    assertEquals("mine\n", run.requireSuccess("Maven").out());
    assertEquals("", run.err());
    assertFalse(Files.exists(directory.resolve(".polis")));
  }

  @Test
  @DisplayName(
      "A wrong digest, a file that is no archive, and an archive without Maven are refused")
  void faulty() throws Exception {
    writeProperties("0".repeat(64));
    refused(provide(""), ", and not " + "0".repeat(64));

    server.serve(ARCHIVE, FaultyDownloads.bytes("<html>"));
    writeProperties(server.digest("SHA-256", ARCHIVE));
    refused(provide(""), "cannot be unpacked: ");

    Files.delete(scripts.path("packed/apache-maven-9.9.9/bin/mvn"));
    server.pack(scripts, "packed", ARCHIVE);
    writeProperties(server.digest("SHA-256", ARCHIVE));
    refused(provide(""), "has no bin/mvn");
  }

  @Test
  @DisplayName("Where there is no mirror, the refusal names the package")
  void unreachable() throws Exception {
    server.fail(ARCHIVE, Fault.MISSING, 1);
    Finished run = provide("");

    refused(run, ARCHIVE + ": the server answers 404");
    assertTrue(run.err().endsWith("polis: next: install the package maven\n"), run::all);
  }

  @Test
  @DisplayName("Three calls at once fetch it once, and delete the remains of a killed call")
  void atOnce() throws Exception {
    scripts.executable(MADE + ".new/lib/half-unpacked", "");
    Finished run = provide("mvn", "(provide_maven && mvn) &\n(provide_maven && mvn) &\n");

    assertEquals(
        "Maven of the wrapper\n".repeat(3), run.requireSuccess("all three").out(), run::all);
    assertEquals(List.of(ARCHIVE), server.requests());
    assertFalse(Files.exists(scripts.path(MADE + "/lib/half-unpacked")));
  }

  @Test
  @DisplayName("The release in the source is on Maven Central, by its SHA-256")
  void inTheSource() {
    assertTrue(
        known.matches(
            "(?s).*\ndistributionUrl=https://repo\\.maven\\.apache\\.org/maven2/org/apache/maven/"
                + "apache-maven/(\\S+)/apache-maven-\\1-bin\\.tar\\.gz\n"
                + "distributionSha256Sum=[0-9a-f]{64}\n"),
        known);
  }

  private Finished provide(String then) throws Exception {
    return provide(then, "");
  }

  /** Provides Maven on a machine without one, and runs shell code before and after. */
  private Finished provide(String then, String before) throws Exception {
    return scripts.functions(
        """
        few="$(mktemp -d)"
        trap 'rm -rf "$few"' EXIT
        ln -sft "$few" /usr/sbin/* /usr/bin/*
        rm -f "$few/mvn"
        PATH="$few"
        FETCH_PAUSE=0
        export CURL_CA_BUNDLE=%s MVNW_REPOURL=%s
        %sprovide_maven
        %s
        wait
        """
            .formatted(server.authority(), server.url(), before, then));
  }

  private Path properties() {
    return scripts.path(".mvn/wrapper/maven-wrapper.properties");
  }

  private void writeProperties(String digest) throws Exception {
    Files.writeString(
        properties(),
        """
        distributionUrl=https://example.org/org/apache/maven/apache-maven/9.9.9/%s
        distributionSha256Sum=%s
        """
            .formatted(ARCHIVE, digest));
  }

  private void refused(Finished run, String words) {
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains(words), () -> "expected: " + words + "\n" + run.all());
    assertTrue(run.err().contains("polis: next: "), run::all);
    assertFalse(Files.exists(scripts.path(MADE)), "a Maven after a refusal");
  }
}
