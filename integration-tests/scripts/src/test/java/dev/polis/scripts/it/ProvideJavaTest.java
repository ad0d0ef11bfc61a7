package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.scripts.it.FaultyDownloads.Fault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Provides a missing JDK, from a package source and a server of the test's own. The wanted JDK is
 * 99, which no machine has.
 */
@Tag("full")
class ProvideJavaTest {

  private static final String ARCHIVE = "OpenJDK99U-jdk_x64_linux_hotspot_99.0.1_8.tar.gz";

  /** Plays a java that uses the machine's certificates unchanged. */
  private static final String JAVA =
      """
      for argument; do
        [[ "$argument" != *TrustStore.java ]] || cp "${@: -2:1}" "${@: -1}"
      done
      """;

  /** Padding that makes the archive large enough to be cut off: bytes that gzip cannot compress. */
  private static final int PADDING = 300_000;

  private static final int BEGUN = 1000;

  @TempDir Path directory;
  private ScriptFolder scripts;
  private FaultyDownloads server;

  @BeforeEach
  void serveArchive() throws Exception {
    scripts = ScriptFolder.in(directory);
    server = new FaultyDownloads(directory);
    writeJdk("packed/jdk-99.0.1+8", JAVA);
    byte[] padding = new byte[PADDING];
    new Random(1).nextBytes(padding);
    Files.write(scripts.path("packed/jdk-99.0.1+8/lib/modules"), padding);
    server.pack(scripts, "packed", ARCHIVE);
    libraryOf("2.36");
  }

  @AfterEach
  void stopServer() {
    server.close();
  }

  @Test
  @DisplayName("On Debian 13 the JDK is unpacked from its packages, with its settings, once")
  void packages() throws Exception {
    libraryOf("2.41");
    addPackages();
    Finished run = provide("");

    assertEquals(jdk() + "\n", run.requireSuccess("the packages are there").out());
    assertEquals(
        "polis: fetching JDK 99, the packages openjdk-99-jdk-headless openjdk-99-jre-headless\n",
        run.err());
    assertEquals(List.of(), server.requests());
    Path settings = jdk().resolve("conf/net.properties");
    assertFalse(Files.isSymbolicLink(settings), "a link into a folder of another machine");
    assertEquals("proxies", Files.readString(settings));
    assertArrayEquals(
        Files.readAllBytes(server.authority()),
        Files.readAllBytes(jdk().resolve("lib/security/cacerts")));
    nothingHalfMade();

    Finished again = provide("");
    assertEquals(run.out(), again.requireSuccess("it is there").out());
    assertEquals("", again.err(), "it is fetched once");
  }

  @Test
  @DisplayName("Debian 12, whose C library is too old for the packages, gets the archive directly")
  void archive() throws Exception {
    addPackages();
    Finished run = provide("");

    assertEquals(jdk() + "\n", run.requireSuccess("the archive is there").out());
    assertEquals(
        "polis: fetching JDK 99, Temurin 99.0.1+8 from %s/jdk-99.0.1%%2B8/%s\n"
            .formatted(server.url(), ARCHIVE),
        run.err());
    assertEquals(List.of(ARCHIVE), server.requests());
    nothingHalfMade();
  }

  @Test
  @DisplayName("Where the machine's sources lack the packages, the archive is fetched")
  void noPackages() throws Exception {
    libraryOf("2.41");
    new PackageSource(scripts);
    Finished run = provide("");

    assertEquals(jdk() + "\n", run.requireSuccess("the archive is there").out());
    assertTrue(
        run.err()
            .contains(
                "polis: ./polis could not fetch the packages, or they do not start here; see "
                    + scripts.path(".polis/java.log")),
        run::all);
    nothingHalfMade();
  }

  @Test
  @DisplayName("A JDK of the packages that does not start is not used")
  void packagesDoNotStart() throws Exception {
    libraryOf("2.41");
    writeJdk("jre/usr/lib/jvm/java-99-openjdk-amd64", "exit 1");
    addPackages();
    Finished run = provide("");

    assertEquals(jdk() + "\n", run.requireSuccess("the archive is there").out());
    assertEquals(List.of(ARCHIVE), server.requests());
  }

  @ParameterizedTest
  @CsvSource({"2.10, 2.10", "'', 0"})
  @DisplayName("A C library without a JDK is refused before a download")
  void noLibrary(String have, String said) throws Exception {
    libraryOf(have);
    addPackages();
    Finished run = provide("");

    refused(run, "none exists for this machine (x86_64, GNU C library " + said + ")");
    assertEquals(List.of(), server.requests());
  }

  @Test
  @DisplayName("An archive with another digest is refused with both digests")
  void wrongDigest() throws Exception {
    String have = server.digest("SHA-256", ARCHIVE);
    Finished run = provide("export POLIS_JDK_SHA256=" + "0".repeat(64) + "\n");

    refused(run, "has the SHA256 " + have + ", and not " + "0".repeat(64));
    assertEquals(List.of(), left("jdk.tar"));
  }

  @Test
  @DisplayName("An archive that is cut off is resumed, by this call and by the next one")
  void cutOff() throws Exception {
    server.fail(ARCHIVE, Fault.CUT_OFF, Integer.MAX_VALUE);
    refused(provide(""), "could not be fetched in 5 tries");
    long had = Files.size(scripts.path(".polis/jdk.tar.gz.part"));

    server.recover();
    provide("").requireSuccess("the server is well again");
    assertEquals(ARCHIVE + " bytes=" + had + "-", server.requests().getLast());
    nothingHalfMade();
  }

  @Test
  @DisplayName("A file that is no archive, and an archive without a JDK, are refused")
  void noArchive() throws Exception {
    server.serve(ARCHIVE, FaultyDownloads.bytes("<html>"));
    refused(provide(""), "jdk.tar.gz cannot be unpacked: ");

    Files.delete(scripts.path("packed/jdk-99.0.1+8/bin/javac"));
    server.pack(scripts, "packed", ARCHIVE);
    refused(provide(""), "is not a JDK 99 that starts here");
  }

  @Test
  @DisplayName("Where the archive is not available, the refusal names the packages to install")
  void unreachable() throws Exception {
    Finished run = provide("POLIS_JDK_URL=http://127.0.0.1:1\n");

    refused(run, "could not be fetched in 5 tries; 0 bytes have arrived: ");
    assertTrue(
        run.err()
            .endsWith(
                "or install a JDK 25 (package openjdk-25-jdk-headless or temurin-25-jdk),"
                    + " or set JAVA_HOME to one\n"),
        run::all);
  }

  @Test
  @DisplayName(
      "On a machine that trusts no server, the message names the package with the certificates")
  void noCertificates() throws Exception {
    scripts.program("update-ca-certificates", "");
    Finished run = provide("CERTIFICATES=(/none)\n");

    refused(run, "this machine trusts no server, because /none is missing");
    assertTrue(run.err().endsWith("next: install the package ca-certificates\n"), run::all);
  }

  @Test
  @DisplayName("Three calls at once fetch the archive once")
  void atOnce() throws Exception {
    Finished run = provide("java_home & java_home &\n");

    assertEquals((jdk() + "\n").repeat(3), run.requireSuccess("all three").out());
    assertEquals(List.of(ARCHIVE), server.requests());
  }

  @Test
  @DisplayName("The remains of a killed call are never run, and the next call deletes them")
  void killed() throws Exception {
    byte[] begun = Arrays.copyOf(server.content(ARCHIVE), BEGUN);
    Files.createDirectories(scripts.path(".polis"));
    Files.write(scripts.path(".polis/jdk.tar.gz.part"), begun);
    server.fail(ARCHIVE, Fault.SLOW, Integer.MAX_VALUE);
    provide(
            """
            set -m
            { set +m; java_home; } &
            until [[ -e "$POLIS_CACHE/jdk.tar.gz.part.log" ]]; do sleep 0.1; done
            kill -KILL -- -$!
            wait $! || true
            compgen -G "$POLIS_CACHE/jdk.*.new"
            exit
            """)
        .requireSuccess("the call that is killed has begun");
    assertFalse(Files.exists(jdk()), "a JDK that is not whole");

    server.recover();
    provide("").requireSuccess("the call after the killed one");
    assertEquals(ARCHIVE + " bytes=" + BEGUN + "-", server.requests().getLast());
    nothingHalfMade();
  }

  @Test
  @DisplayName("The JDK's list holds each certificate that the machine trusts")
  void certificates() throws Exception {
    scripts
        .finish(
            List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-XX:TieredStopAtLevel=1",
                scripts.path("launcher/script/TrustStore.java").toString(),
                server.authority().toString(),
                scripts.path("cacerts").toString()))
        .requireSuccess("TrustStore");

    KeyStore trusted = KeyStore.getInstance(scripts.path("cacerts").toFile(), (char[]) null);
    assertEquals(1, trusted.size());
    assertTrue(trusted.isCertificateEntry("authority-0"));
  }

  /** Calls {@code java_home}, with settings that let it see only the test's sources. */
  private Finished provide(String settings) throws Exception {
    return scripts.functions(
        """
        JAVA_WANTED=99
        JAVA_PACKAGES=(openjdk-99-jdk-headless openjdk-99-jre-headless)
        JAVA_ROOM_PACKAGES=0
        JAVA_ROOM_ARCHIVE=0
        TEMURIN_VERSION=99.0.1+8
        TEMURIN_SHA256=%s
        FETCH_PAUSE=0
        FETCH_PROGRESS=100000
        POLIS_JDK_URL=%s
        CERTIFICATES=(%s)
        export CURL_CA_BUNDLE=$CERTIFICATES
        """
                .formatted(server.digest("SHA-256", ARCHIVE), server.url(), server.authority())
            + settings
            + "java_home; wait");
  }

  /** Lets the machine have another C library. */
  private void libraryOf(String version) throws IOException {
    scripts.program("getconf", version.isEmpty() ? "exit 1" : "echo glibc " + version);
  }

  /** Makes packages with the layout of Debian's. */
  private void addPackages() throws Exception {
    Path home = scripts.path("jre/usr/lib/jvm/java-99-openjdk-amd64");
    if (!Files.exists(home)) {
      writeJdk("jre/usr/lib/jvm/java-99-openjdk-amd64", JAVA);
    }
    String javac = "usr/lib/jvm/java-99-openjdk-amd64/bin/javac";
    Files.createDirectories(scripts.path("jdk/" + javac).getParent());
    Files.move(scripts.path("jre/" + javac), scripts.path("jdk/" + javac));
    Files.createDirectories(scripts.path("jre/etc/java-99-openjdk"));
    Files.writeString(scripts.path("jre/etc/java-99-openjdk/net.properties"), "proxies");
    Files.createDirectories(home.resolve("conf"));
    Files.createSymbolicLink(
        home.resolve("conf/net.properties"), Path.of("/etc/java-99-openjdk/net.properties"));
    Files.createSymbolicLink(home.resolve("lib/security/cacerts"), Path.of("/none/cacerts"));
    PackageSource source = new PackageSource(scripts);
    source.add("jdk", "openjdk-99-jdk-headless", "openjdk-99-jre-headless");
    source.add("jre", "openjdk-99-jre-headless", "");
  }

  private void writeJdk(String home, String java) throws IOException {
    scripts.executable(home + "/bin/java", java);
    scripts.executable(home + "/bin/javac", "");
    Files.createDirectories(scripts.path(home + "/lib/security"));
    Files.writeString(scripts.path(home + "/release"), "JAVA_VERSION=\"99.0.1\"\n");
  }

  private Path jdk() {
    return scripts.path(".polis/jdk-99.0.1");
  }

  private void refused(Finished run, String words) throws Exception {
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains(words), () -> "expected: " + words + "\n" + run.all());
    assertTrue(run.err().contains("polis: next: "), run::all);
    assertEquals("", run.out());
    assertEquals(List.of(), left("jdk-"), "a JDK after a refusal");
    assertEquals(List.of(), left("jdk.").stream().filter(each -> each.endsWith(".new")).toList());
  }

  private void nothingHalfMade() throws IOException {
    assertEquals(List.of("jdk-99.0.1", "jdk.lock"), left("jdk"));
  }

  /** Returns the files in the cache with such names. */
  private List<String> left(String prefix) throws IOException {
    if (!Files.exists(scripts.path(".polis"))) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(scripts.path(".polis"))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith(prefix))
          .sorted()
          .toList();
    }
  }
}
