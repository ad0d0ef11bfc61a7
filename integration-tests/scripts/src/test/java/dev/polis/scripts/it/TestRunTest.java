package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks the output of {@code polis test} about a run, and its exit code. */
@Tag("full")
class TestRunTest {

  private static final String PASSED = "<testcase name='works' classname='a.OneTest'/>";
  private static final String FAILED =
      """
      <testcase name='adds' classname='a.TwoTest'>
        <failure message='expected: &lt;4&gt; but was: &lt;5&gt;&#10;beside 2 and 2'
            type='org.opentest4j.AssertionFailedError'><![CDATA[at a.TwoTest.adds]]></failure>
        <system-out><![CDATA[<skipped/>]]></system-out>
      </testcase>
      """;
  private static final String BROKEN =
      "<testcase name='opens' classname='a.TwoTest'><error type='java.lang.NullPointerException'/></testcase>";
  private static final String CAUSED =
      """
      <testcase name='calls' classname='a.FourTest'>
        <failure message='no answer' type='java.lang.AssertionError'><![CDATA[java.lang.AssertionError: no answer
      \tat a.FourTest.calls(FourTest.java:7)
      Caused by: java.io.IOException: node list: exit code 3
      polisctl: the node is away
      \tat a.FourTest.list(FourTest.java:9)
      \t... 3 more
      ]]></failure>
      </testcase>
      """;
  private static final String UNSTEADY =
      """
      <testcase name='waits' classname='a.FiveTest'>
        <flakyFailure message='not yet' type='java.lang.AssertionError'>
          <stackTrace><![CDATA[java.lang.AssertionError: not yet
      \tat a.FiveTest.waits(FiveTest.java:7)
      Caused by: java.io.IOException: closed
      ]]></stackTrace>
          <system-out><![CDATA[<failure/>]]></system-out>
        </flakyFailure>
      </testcase>
      """;
  private static final String SKIPPED =
      """
      <testcase name='mounts' classname='a.ThreeTest'>
        <skipped type='org.opentest4j.TestAbortedException'><![CDATA[org.opentest4j.TestAbortedException: Assumption failed: mounting needs root
      \tat a.ThreeTest.mounts(ThreeTest.java:7)
      ]]></skipped>
      </testcase>
      """;
  private static final String DISABLED =
      "<testcase name='loops' classname='a.ThreeTest'><skipped message='System property [x] does not exist ==&gt; takes long'/></testcase>";

  /** The options of every call of Maven in the quick tier. */
  private static final String QUICK =
      "-Dpolis.tier=quick -Dpolis.test.limit=5 m -Dsurefire.timeout=1500";

  @TempDir static Path classes;

  @TempDir Path directory;
  private ScriptFolder scripts;

  @BeforeAll
  static void compileReport() throws Exception {
    Path sources = ScriptFolder.REPOSITORY.resolve("launcher/script");
    try (Stream<Path> files = Files.list(sources)) {
      Stream<String> reports =
          files.map(Path::toString).filter(file -> file.matches(".*/Test\\w+\\.java"));
      String[] arguments =
          Stream.concat(Stream.of("-d", classes.toString()), reports).toArray(String[]::new);
      assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments));
    }
  }

  @BeforeEach
  void copyScripts() throws Exception {
    scripts = ScriptFolder.in(directory).withEtcd().withKubernetes().withCompiled(classes);
    allow("always | ThreeTest | (mounting needs root|takes long)");
    // On a machine that lacks a program, each run would fetch it.
    String programs = scripts.functions("echo ${!PACKAGE_OF[@]}").out();
    for (String program : programs.strip().split(" ")) {
      scripts.program(program, "");
    }
  }

  @Test
  @DisplayName("The last line counts the tests, after the failed ones and the reasons of skips")
  void countsAreTheLastLine() throws Exception {
    maven(1, PASSED, PASSED, FAILED, BROKEN, SKIPPED);
    Finished run = scripts.run("polis", "test");

    assertEquals(1, run.code(), run.all());
    assertEquals(
        """
        FAILED a.TwoTest.adds
            expected: <4> but was: <5>
            beside 2 and 2
        FAILED a.TwoTest.opens
            java.lang.NullPointerException
        skipped 1: mounting needs root
        Maven's log is %s
        2 passed, 2 failed, 1 skipped
        """
            .formatted(scripts.path(".polis/test.log")),
        run.out());
    assertTrue(Files.readString(scripts.path(".polis/test.log")).contains("BUILD"), run::all);
  }

  @Test
  @DisplayName("A failed test's causes follow its message, without the frames of the stack")
  void causes() throws Exception {
    maven(1, CAUSED);
    assertTrue(
        scripts
            .run("polis", "test")
            .out()
            .startsWith(
                """
                FAILED a.FourTest.calls
                    no answer
                    Caused by: java.io.IOException: node list: exit code 3
                    polisctl: the node is away
                Maven's log"""));
  }

  @Test
  @DisplayName(
      "Tests that pass at their second attempt are named; the run passes, unless there are many")
  void unsteady() throws Exception {
    maven(0, PASSED, UNSTEADY);
    Finished few = scripts.run("polis", "test");
    assertEquals(0, few.code(), few.all());
    assertEquals(
        """
        FAILED ONCE, and passed at its second attempt: a.FiveTest.waits
            not yet
            Caused by: java.io.IOException: closed
        2 passed, 0 failed, 0 skipped
        """,
        few.out());

    maven(0, PASSED, UNSTEADY, UNSTEADY, UNSTEADY, UNSTEADY, UNSTEADY);
    Finished many = scripts.run("polis", "test");
    assertEquals(1, many.code(), many.all());
    assertTrue(
        many.out().contains("5 tests passed at their second attempt only; at most 4 may\n"),
        many::all);
  }

  @Test
  @DisplayName(
      "All modules are built first; then their tests run at the same time, each module's once")
  void streams() throws Exception {
    maven(0, PASSED);
    for (String module : List.of("platform/one", "integration-tests/two")) {
      Path folder = Files.createDirectories(scripts.path(module));
      String name = "dev.polis." + folder.getFileName();
      Files.writeString(folder.resolve("pom.xml"), pom(name, ""));
      Files.createDirectories(folder.resolve("target"));
      Files.writeString(folder.resolve("target/" + name + "-0.1.0.jar"), "just built");
    }
    Files.writeString(
        scripts.path("pom.xml"),
        pom("polis", "<module>platform/one</module>\n<module>integration-tests/two</module>"));
    Files.createDirectories(scripts.path("fetched/org/junit"));
    Files.createDirectories(scripts.path("fetched/dev/cel"));
    Path former = Files.createDirectories(scripts.path("fetched/dev/polis/dev.polis.one"));

    Finished run = scripts.run("polis", "test");
    assertEquals(0, run.code(), run.all());

    List<String> calls = Files.readAllLines(scripts.path("arguments"));
    assertEquals(
        "--batch-mode -Dstyle.color=never -T 1C verify -DskipTests " + QUICK + " --fail-at-end",
        calls.get(0));
    String others = "";
    Set<String> modules = new TreeSet<>();
    for (String call : calls.subList(2, calls.size())) {
      assertTrue(
          call.endsWith(
              " -Dsurefire.rerunFailingTestsCount=1 surefire:test " + QUICK + " --fail-at-end"),
          call);
      assertTrue(call.contains(" -DexcludedGroups=full | long | alone | beside -D"), call);
      String chosen = call.replaceFirst("^.* -pl (\\S+) .*$", "$1");
      if (chosen.startsWith("!")) {
        others += chosen;
      } else {
        for (String each : chosen.split(",")) {
          assertTrue(modules.add(each), () -> each + " is in two groups: " + calls);
        }
      }
    }
    assertEquals("!" + String.join(",!", modules), sorted(others), calls::toString);
    List<String> priorities = Files.readAllLines(scripts.path("priorities"));
    String ours = priorities.getFirst().split(" ")[0] + " ";
    List<String> lower = priorities.stream().filter(call -> !call.startsWith(ours)).toList();
    assertEquals(4, lower.size(), lower::toString);
    assertTrue(
        lower.stream().anyMatch(call -> call.contains(" -pl integration-tests/container ")),
        lower::toString);

    Path repository = scripts.path(".polis/repository");
    assertEquals(
        "just built",
        Files.readString(
            repository.resolve("dev/polis/dev.polis.one/0.1.0/dev.polis.one-0.1.0.jar")));
    for (String name : List.of("polis", "dev.polis.one", "dev.polis.two")) {
      Path pom = repository.resolve("dev/polis/" + name + "/0.1.0/" + name + "-0.1.0.pom");
      assertTrue(Files.isRegularFile(pom), pom::toString);
    }
    assertTrue(Files.isDirectory(repository.resolve("org/junit")));
    assertTrue(Files.isDirectory(repository.resolve("dev/cel")));
    assertTrue(Files.isDirectory(former), "files that Maven has fetched stay");
  }

  @Test
  @DisplayName("With a Maven that does not print its repository, modules are tested in turn")
  void oneAfterTheOther() throws Exception {
    maven(0, PASSED);
    Files.delete(scripts.path("fetched"));
    Finished run = scripts.run("polis", "test");

    assertEquals(0, run.code(), run.all());
    assertEquals("1 passed, 0 failed, 0 skipped", lastOf(run.out()));
    assertEquals(
        "--batch-mode -Dstyle.color=never verify -DexcludedGroups=full | long "
            + QUICK
            + " --fail-at-end",
        Files.readAllLines(scripts.path("arguments")).getLast());
  }

  @Test
  @DisplayName(
      "A full run takes tests that promise no time beside the others, in one process; the others keep their priorities")
  void beside() throws Exception {
    maven(0, PASSED);
    Finished run = scripts.run("polis", "test", "--full", "--without-kubernetes");
    assertEquals(0, run.code(), run.all());
    List<String> priorities = Files.readAllLines(scripts.path("priorities"));
    List<String> calls =
        priorities.stream().filter(call -> call.contains(" -Dgroups=beside ")).toList();
    assertEquals(1, calls.size(), calls::toString);
    assertTrue(calls.getFirst().contains(" -pl integration-tests/cluster "), calls::toString);
    assertTrue(
        calls.getFirst().contains(" -Dpolis.forks=1 -Dpolis.reports=beside-reports -D"),
        calls::toString);
    String ours = priorities.getFirst().split(" ")[0] + " ";
    assertTrue(calls.getFirst().startsWith(ours), calls::toString);
    List<String> lower = priorities.stream().filter(call -> !call.startsWith(ours)).toList();
    assertEquals(4, lower.size(), lower::toString);
  }

  private static String sorted(String modules) {
    return String.join(",", new TreeSet<>(List.of(modules.split(","))));
  }

  /** A project file, in the form of those in this repository. */
  private static String pom(String artifact, String modules) {
    return """
        <project>
          <parent>
            <artifactId>another</artifactId>
            <version>7</version>
          </parent>
          <artifactId>%s</artifactId>
          <version>0.1.0</version>
          <modules>
            %s
          </modules>
        </project>
        """
        .formatted(artifact, modules);
  }

  @Test
  @DisplayName("A run without failures ends with 0, and prints each reason of skips once")
  void allPass() throws Exception {
    maven(0, PASSED, SKIPPED, DISABLED, SKIPPED);
    Finished run = scripts.run("polis", "test");

    assertEquals(0, run.code(), run.all());
    assertEquals(
        """
        skipped 2: mounting needs root
        skipped 1: takes long
        1 passed, 0 failed, 3 skipped
        """,
        run.out());
  }

  @Test
  @DisplayName("A run without tests fails, although Maven succeeds")
  void nothingRan() throws Exception {
    maven(0, SKIPPED);
    Finished run = scripts.run("polis", "test");

    assertEquals(1, run.code(), run.all());
    assertTrue(run.out().contains("no test ran\n"), run.all());
    assertEquals("0 passed, 0 failed, 1 skipped", lastOf(run.out()));
  }

  @Test
  @DisplayName("Reports that an earlier run left are not counted")
  void oldReports() throws Exception {
    Path old = scripts.path("b/target/surefire-reports/TEST-b.xml");
    Files.createDirectories(old.getParent());
    Files.writeString(old, "<testsuite>" + FAILED + "</testsuite>");
    Files.setLastModifiedTime(old, FileTime.from(Instant.now().minusSeconds(60)));
    maven(0, PASSED);

    assertEquals("1 passed, 0 failed, 0 skipped", lastOf(scripts.run("polis", "test").out()));
  }

  @Test
  @DisplayName(
      "A failure outside of tests is shown with Maven's errors, its log and the untested modules")
  void compilerFails() throws Exception {
    scripts.program(
        "mvn",
        """
        echo '[INFO] Building dev.polis.base 0.1.0      [1/2]'
        echo '[INFO] dev.polis.base ........................ FAILURE [  0.5 s]'
        echo '[INFO] dev.polis.rpc .......................... SKIPPED'
        echo '[ERROR] Failed to execute goal maven-compiler-plugin on project dev.polis.base: error'
        echo '[ERROR] /src/Value.java:[7,3] cannot find symbol'
        echo '[ERROR] '
        echo '[ERROR] [Help 1] somewhere'
        exit 1
        """);
    Finished run = scripts.run("polis", "test");

    assertEquals(1, run.code(), run.all());
    assertEquals(
        """
        [ERROR] Failed to execute goal maven-compiler-plugin on project dev.polis.base: error
        [ERROR] /src/Value.java:[7,3] cannot find symbol
        not tested, because a module before them failed: dev.polis.rpc
        no test ran
        Maven's log is %s
        0 passed, 0 failed, 0 skipped
        """
            .formatted(scripts.path(".polis/test.log")),
        run.out());
    assertTrue(
        run.err().matches("(?s).*the run took \\d+ s, with \\d+ s of processor time\n"), run.err());
  }

  @Test
  @DisplayName(
      "Without a terminal there is a line for each module, and one for each class that fails")
  void linesWithoutTerminal() throws Exception {
    maven(1, PASSED, FAILED);
    Finished run = scripts.run("polis", "test", "-pl", "platform/one");

    assertEquals(
        """
        polis: testing 1 of 2: dev.polis.one (T)
        polis: FAILED: 1 of 2 tests in a.TwoTest
        polis: testing 2 of 2: dev.polis.two (T)
        """,
        run.err()
            .replaceAll("\\(\\d+ s\\)", "(T)")
            .replaceFirst("^polis: building what platform/one needs\n(polis: building .*\n)+", ""));
  }

  @Test
  @DisplayName("On a terminal one line is updated: module, class, counts, time")
  void oneLineMoves() throws Exception {
    maven(0, PASSED);
    Files.writeString(scripts.path("slow"), "");
    String command = scripts.path("polis") + " test -pl a 2>&1 >" + scripts.path("out");
    Finished run =
        scripts.finish(List.of("env", "TERM=xterm", "script", "-qec", command, "/dev/null"));

    assertEquals(0, run.code(), run.all());
    String screen = run.out();
    assertTrue(
        screen.matches("(?s).*\\r\\x1b\\[Kpolis: testing 2 of 2: dev.polis.two, LastTest; .*"),
        screen);
    assertTrue(screen.matches("(?s).*; 1 passed, 0 failed \\(\\d+ s\\).*"), screen);
    assertTrue(screen.endsWith("\r\u001b[K"), "the line is taken away at the end: " + screen);
    assertEquals("1 passed, 0 failed, 0 skipped\n", Files.readString(scripts.path("out")));
  }

  @Test
  @DisplayName("Continuous integration runs only polis test --full, with the same arguments")
  void continuousIntegration() throws Exception {
    maven(0, PASSED);
    Finished run = scripts.run(".ci/run", "-Dtest=One");

    assertEquals(0, run.code(), run.all());
    assertEquals("1 passed, 0 failed, 0 skipped", lastOf(run.out()));
    for (String call : Files.readAllLines(scripts.path("arguments"))) {
      assertTrue(call.endsWith(" -Dtest=One"), call);
      assertTrue(call.contains(" validate ") || call.contains(" -Dpolis.tier=full "), call);
    }
  }

  @Test
  @DisplayName("With -pl, the modules that it needs are built before, and Maven's options are kept")
  void oneModule() throws Exception {
    maven(0, PASSED);
    Finished run = scripts.run("polis", "test", "-pl", "platform/base", "-ff");

    assertEquals(0, run.code(), run.all());
    assertEquals(
        """
        --batch-mode -Dstyle.color=never -T 1C install -pl platform/base -am -DskipTests -Dspotless.check.skip=true
        --batch-mode -Dstyle.color=never verify %s -DexcludedGroups=full | long -pl platform/base -ff
        """
            .formatted(QUICK),
        Files.readString(scripts.path("arguments")));
  }

  @Test
  @DisplayName("A skip that the list does not allow, or not in this run, fails the run")
  void forbiddenSkips() throws Exception {
    maven(0, PASSED, SKIPPED);
    for (String line :
        List.of(
            "always | FourTest | mounting needs root",
            "always | ThreeTest | mounting needs",
            (Files.getAttribute(directory, "unix:uid").equals(0) ? "user" : "root")
                + " | ThreeTest | mounting needs root",
            "kubernetes | ThreeTest | mounting needs root")) {
      allow(line);
      Finished run = scripts.run("polis", "test");

      assertEquals(1, run.code(), line + run.all());
      assertTrue(
          run.out()
              .contains(
                  "SKIPPED, which launcher/script/allowed-skips.txt does not allow in this run:"
                      + " a.ThreeTest.mounts: mounting needs root\n"),
          run::all);
    }
    allow("kubernetes | ThreeTest | mounting needs root");
    assertEquals(0, scripts.run("polis", "test", "--without-kubernetes").code());
  }

  @Test
  @DisplayName("--full requires Kubernetes' programs, or a yes to leave them out")
  void fullNeedsKubernetes() throws Exception {
    maven(0, PASSED);
    Files.delete(scripts.path(".polis/kubernetes-" + scripts.kubernetesVersion() + "/versions"));
    scripts.program("curl", "exit 1");
    Finished run = scripts.run("polis", "test", "--full");

    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err()
            .endsWith(
                """
                polis: --full runs Kubernetes' programs, which this machine lacks
                polis: next: repair the problem named above, or leave them out: %s test --full --without-kubernetes
                """
                    .formatted(scripts.path("polis"))),
        run::all);
    assertEquals(0, scripts.run("polis", "test", "--full", "--without-kubernetes").code());
  }

  @Test
  @DisplayName(
      "A class of the tier that no report names fails the run; one of another tier does not")
  void classesThatDidNotRun() throws Exception {
    maven(0, PASSED);
    source("b/src/test/java/b/ForkTest.java", "class ForkTest {\n  @Test\n  void runs() {}\n}");
    source("b/src/test/java/b/HelpTest.java", "class HelpTest {\n  void helps() {}\n}");
    source(
        "b/src/test/java/b/Contract.java",
        "abstract class Contract {\n  @Test\n  void holds() {}\n}");
    source(
        "b/src/test/java/b/FullTest.java",
        "@Tag(\"full\")\nclass FullTest {\n  @Test\n  void runs() {}\n}");
    source(
        "b/src/test/java/b/EachTest.java",
        "class EachTest {\n  @Test\n  @Tag(\"full\")\n  void runs() {}\n}");
    Finished quick = scripts.run("polis", "test");
    assertEquals(1, quick.code(), quick.all());
    assertEquals(List.of("b.ForkTest"), notRun(quick));
    assertEquals(
        List.of("b.EachTest", "b.ForkTest", "b.FullTest"),
        notRun(scripts.run("polis", "test", "--full")).stream().sorted().toList());
  }

  private static List<String> notRun(Finished run) {
    String head = "DID NOT RUN, and belongs to this tier: ";
    return run.out()
        .lines()
        .filter(line -> line.startsWith(head))
        .map(line -> line.substring(head.length()))
        .toList();
  }

  @Test
  @DisplayName("Each vector and threat whose proof did not pass is printed as unproven")
  void unproven() throws Exception {
    maven(0, PASSED, SKIPPED);
    source(
        "docs/vectors.md",
        """
        | SUP-01 | works | [OneTest](../a/OneTest.java) |
        | SUP-02 | mounts | [ThreeTest](../a/ThreeTest.java) |
        | SUP-03 | sleeps | [OneTest](../a/OneTest.java) |
        | SUP-04 | works | [OneContract](../a/OneContract.java) |
        | SUP-05 | the whole | [OneTest](../a/OneTest.java) |
        """);
    source("a/OneContract.java", "abstract class OneContract {}");
    source("a/OneTest.java", "@DisplayName(\"the whole\")\nclass OneTest extends OneContract {}");
    source(
        "docs/threat-model.md",
        "| a stranger | p | k | s | [OneTest](../a/OneTest.java): works; [OneTest](../a/OneTest.java): attacks |");
    Finished run = scripts.run("polis", "test", "--full");
    assertEquals(0, run.code(), run.all());
    assertEquals(
        """
        unproven vector SUP-02: ThreeTest: mounts: mounting needs root
        unproven vector SUP-03: did not run: OneTest: sleeps
        unproven threat a stranger: did not run: OneTest: attacks
        skipped 1: mounting needs root
        1 passed, 0 failed, 1 skipped
        """,
        run.out());
    assertTrue(
        scripts
            .run("polis", "test")
            .out()
            .startsWith("vectors of which this run leaves a proof out: 2;"));
  }

  @Test
  @DisplayName("Tests that need the whole machine run last, in one process")
  void alone() throws Exception {
    maven(0, PASSED);
    source("platform/b/src/test/java/b/SpeedTest.java", "@Tag(\"alone\")\nclass SpeedTest {}");
    Finished run = scripts.run("polis", "test");
    assertEquals(0, run.code(), run.all());
    String last = Files.readAllLines(scripts.path("arguments")).getLast();
    assertTrue(last.contains(" -pl platform/b "), last);
    assertTrue(
        last.contains(
            " -Dgroups=alone -DexcludedGroups=full | long -Dpolis.forks=1 -Dpolis.reports=alone-reports -D"),
        last);
  }

  @Test
  @DisplayName("The slowest classes are named, and the figures that a long run prints are kept")
  void dearest() throws Exception {
    maven(
        0,
        """
        <testsuite name='a.OneTest' time='61.5'/>
        <testsuite name='a.TwoTest' time='1,261.5'/>
        <testcase name='works' classname='a.OneTest'><system-out>7 of 7 moments, seed 3</system-out></testcase>
        """);
    assertEquals(
        """
        the dearest of 2 classes, of 1323 s in all:
          1261.5 s  a.TwoTest
            61.5 s  a.OneTest
        1 passed, 0 failed, 0 skipped
        """,
        scripts.run("polis", "test").out());
  }

  @Test
  @DisplayName("A long run that was cut off continues with the classes that have not passed")
  void longRunContinues() throws Exception {
    maven(1, FAILED);
    // The folders of sources; a changed one makes a long run begin anew.
    for (String place : List.of(".mvn", "bundles", "integration-tests", "examples")) {
      Files.createDirectories(scripts.path(place));
    }
    source("pom.xml", "");
    source("platform/b/src/test/java/b/ATest.java", "@Tag(\"longer\")\nclass ATest {}");
    source("platform/b/src/test/java/b/BTest.java", "class BTest {\n  @Tag(\"long\")\n}");
    Finished cut = scripts.run("polis", "test", "--long");
    assertEquals(1, cut.code(), cut.all());
    assertEquals(List.of("b.ATest", "b.BTest"), notRun(cut).stream().sorted().toList());
    maven(
        0,
        """
        <testcase name='works' classname='b.ATest'><system-out>7 moments</system-out></testcase>
        <testcase name='works' classname='b.BTest'/>
        """);
    Finished rest = scripts.run("polis", "test", "--long");
    assertEquals(0, rest.code(), rest.all());
    assertTrue(
        Files.readString(scripts.path(".polis/long/report.md")).contains("- b.ATest: 7 moments\n"));
    Finished nothing = scripts.run("polis", "test", "--long");
    assertTrue(nothing.err().contains("polis: BTest has passed before\n"), nothing::all);
    List<String> tests =
        Files.readAllLines(scripts.path("arguments")).stream()
            .filter(call -> call.contains(" -Dtest="))
            .map(call -> call.replaceFirst("^.* -Dtest=(\\w+) .*$", "$1"))
            .toList();
    assertEquals(List.of("ATest", "BTest", "ATest", "BTest"), tests);
  }

  @Test
  @DisplayName("Only the long form of one class of a module is run, once")
  void longFormOfOneClass() throws Exception {
    maven(0, PASSED);
    Finished run = scripts.run("polis", "test", "--long", "-pl", "platform/base", "-Dtest=One");

    assertEquals(0, run.code(), run.all());
    List<String> tests =
        Files.readAllLines(scripts.path("arguments")).stream()
            .filter(call -> call.contains(" -Dtest="))
            .toList();
    assertEquals(1, tests.size(), tests::toString);
    String test = tests.getFirst();
    assertTrue(
        test.contains(" -Dpolis.tier=long ")
            && test.contains(" -Dgroups=longer | long ")
            && test.endsWith(" -pl platform/base -Dtest=One"),
        test);
  }

  private void allow(String line) throws IOException {
    Files.writeString(scripts.path("launcher/script/allowed-skips.txt"), line + "\n");
  }

  private void source(String name, String text) throws IOException {
    Path file = scripts.path(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  /** Plays a build of two modules whose tests have these results. */
  private void maven(int code, String... tests) throws Exception {
    Files.createDirectories(scripts.path("fetched"));
    Files.writeString(
        scripts.path("content"), "<testsuite>" + String.join("", tests) + "</testsuite>");
    String result =
        code == 0
            ? "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s -- in a.TwoTest"
            : "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in a.TwoTest";
    scripts.program(
        "mvn",
        """
        cd %s
        printf '%%s\\n' "$*" >>arguments
        printf '%%s %%s\\n' "$(nice)" "$*" >>priorities
        case "$*" in
          *" validate"*) echo "[DEBUG] Using local repository at %s/fetched" && exit ;;
          *-DskipTests*) echo '[INFO] Building dev.polis.one 0.1.0      [1/2]' && exit ;;
        esac
        echo '[INFO] Building dev.polis.one 0.1.0      [1/2]'
        echo '[INFO] Running a.TwoTest'
        echo '%s'
        echo '[INFO] Building dev.polis.two 0.1.0      [2/2]'
        echo '[INFO] Running a.LastTest'
        [[ ! -f slow ]] || sleep 2.5
        mkdir -p a/target/surefire-reports
        cp content a/target/surefire-reports/TEST-a.xml
        echo '[INFO] BUILD ENDED'
        exit %d
        """
            .formatted(directory, directory, result, code));
  }

  private static String lastOf(String text) {
    return text.substring(text.stripTrailing().lastIndexOf('\n') + 1).stripTrailing();
  }
}
