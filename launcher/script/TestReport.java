import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import javax.xml.stream.XMLStreamException;

/**
 * Prints the result of a test run from the reports that Surefire wrote: the failed tests with their
 * messages, the tests that passed at a second attempt, the reasons of skipped tests, and the dearest
 * classes. The last line counts the tests that passed, failed and were skipped. The JDK runs it
 * from this source, because the tests may be what does not compile.
 *
 * <pre>
 *   java TestReport.java --log MAVEN_LOG --code MAVEN_EXIT_CODE --repository DIR --tier TIER
 *       --kubernetes yes|missing|without [--whole] [--markdown FILE] &lt; names of the reports
 *
 *   reports ─▶ TestRun ─┬▶ TestSkips   allowed-skips.txt: any other skip fails the run
 *                       ├▶ TestPlan    tags in the sources: a class that did not run fails it
 *                       └▶ TestProofs  docs/vectors.md, docs/threat-model.md: what is unproven
 * </pre>
 *
 * <p>Exits with 0 if tests ran, none failed, few needed a second attempt, each skip is allowed, each class of the tier ran, and
 * Maven ended with 0; otherwise with 1.
 */
final class TestReport {

  /** This much of a message fits on a screen beside others. */
  private static final int MESSAGE_LINES = 12;

  /** Of these, the lines of its end. */
  private static final int LAST_LINES = 4;

  private static final int MESSAGE_WIDTH = 400;

  /** The first errors of Maven are the cause of the others. */
  private static final int MAVEN_ERRORS = 15;

  /** The classes that are worth making cheaper. */
  private static final int DEAREST = 10;

  /**
   * The tests of a run that may pass at their second attempt only. A run of the full tier on a busy
   * machine had up to four; a product that is broken has more.
   */
  private static final int MOST_UNSTEADY = 4;

  /** A run of a few modules is too short for a list of its dearest classes. */
  private static final double LONG_RUN_SECONDS = 60;

  private static final String ERROR = "[ERROR] ";

  /** Maven adds these to its errors each time. */
  private static final List<String> ADVICE =
      List.of(
          "Help 1]",
          "stack trace of the errors",
          "full debug logging",
          "After correcting the problems",
          "mvn <args>",
          "For more information about the errors");

  private final TestRun run;
  private final Map<String, String> options;

  private TestReport(TestRun run, Map<String, String> options) {
    this.run = run;
    this.options = options;
  }

  public static void main(String[] arguments) throws IOException, XMLStreamException {
    Map<String, String> options = new TreeMap<>();
    for (int i = 0; i < arguments.length; i++) {
      boolean flag = i + 1 == arguments.length || arguments[i + 1].startsWith("--");
      options.put(arguments[i].substring(2), flag ? "yes" : arguments[++i]);
    }
    List<Path> files =
        new String(System.in.readAllBytes()).lines().map(Path::of).toList();
    System.exit(new TestReport(TestRun.read(files), options).print());
  }

  private int print() throws IOException {
    Path repository = Path.of(options.get("repository"));
    Path log = Path.of(options.get("log"));
    int mavenCode = Integer.parseInt(options.get("code"));
    List<String> broken = new ArrayList<>();
    run.failed().forEach(failed -> print("FAILED", failed));
    run.unsteady().forEach(unsteady -> print("FAILED ONCE, and passed at its second attempt:", unsteady));
    if (run.unsteady().size() > MOST_UNSTEADY) {
      broken.add(
          "%d tests passed at their second attempt only; at most %d may"
              .formatted(run.unsteady().size(), MOST_UNSTEADY));
    }
    if (options.containsKey("whole")) {
      String tier = options.get("tier");
      // The long forms are a part of the proofs that the pages name.
      if (!tier.equals("long")) {
        new TestProofs(repository, run, tier).lines().forEach(System.out::println);
      }
      broken.addAll(new TestPlan(repository, tier).missing(run));
      printDearest();
    }
    TestSkips skips = TestSkips.read(repository, options.get("tier"), options.get("kubernetes"));
    skips.reasons(run).forEach((reason, count) -> System.out.println("skipped " + count + ": " + reason));
    broken.addAll(skips.forbidden(run));
    broken.forEach(System.out::println);
    boolean ran = run.passed() + run.failed().size() > 0;
    boolean good = ran && run.failed().isEmpty() && broken.isEmpty() && mavenCode == 0;
    if (mavenCode != 0) {
      printMavenErrors(log);
    }
    if (!ran) {
      System.out.println("no test ran");
    }
    if (!good) {
      System.out.println("Maven's log is " + log);
    }
    if (options.containsKey("markdown")) {
      Files.writeString(Path.of(options.get("markdown")), markdown());
    }
    System.out.printf(
        "%d passed, %d failed, %d skipped%n",
        run.passed(), run.failed().size(), run.skipped().size());
    return good ? 0 : 1;
  }

  private static void print(String outcome, TestRun.Case test) {
    System.out.println(outcome + " " + test.test());
    Stream.of(test.message(), test.causes())
        .flatMap(words -> shortened(words).stream())
        .forEach(line -> System.out.println("    " + line));
  }

  private void printDearest() {
    double all = run.seconds().values().stream().mapToDouble(Double::doubleValue).sum();
    if (all < LONG_RUN_SECONDS) {
      return;
    }
    System.out.printf("the dearest of %d classes, of %.0f s in all:%n", run.seconds().size(), all);
    run.seconds().entrySet().stream()
        .sorted(Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder()))
        .limit(DEAREST)
        .forEach(entry -> System.out.printf("%8.1f s  %s%n", entry.getValue(), entry.getKey()));
  }

  /** Returns a table of the classes, and below it the figures and seeds that they printed. */
  private String markdown() {
    StringBuilder text = new StringBuilder("| class | seconds | passed | failed | skipped |\n|---|---|---|---|---|\n");
    run.seconds()
        .forEach(
            (name, seconds) ->
                text.append(
                    "| %s | %.0f | %d | %d | %d |%n"
                        .formatted(
                            name,
                            seconds,
                            run.count(name, TestRun.Outcome.PASSED),
                            run.count(name, TestRun.Outcome.FAILED),
                            run.count(name, TestRun.Outcome.SKIPPED))));
    text.append('\n');
    run.figures().forEach((name, lines) -> lines.forEach(line -> text.append("- %s: %s%n".formatted(name, line))));
    return text.toString();
  }

  private static List<String> shortened(String message) {
    List<String> lines = message.lines().filter(Predicate.not(TestReport::isStackFrame)).toList();
    if (lines.size() <= MESSAGE_LINES) {
      return lines.stream().map(TestReport::narrowed).toList();
    }
    // A program that fails says why at its end.
    List<String> shown = new ArrayList<>();
    int first = MESSAGE_LINES - LAST_LINES;
    lines.subList(0, first).forEach(line -> shown.add(narrowed(line)));
    shown.add("… and " + (lines.size() - MESSAGE_LINES) + " more lines, in the log …");
    lines.subList(lines.size() - LAST_LINES, lines.size()).forEach(line -> shown.add(narrowed(line)));
    return shown;
  }

  private static String narrowed(String line) {
    return line.length() <= MESSAGE_WIDTH ? line : line.substring(0, MESSAGE_WIDTH - 1) + "…";
  }

  private static boolean isStackFrame(String line) {
    return line.matches("\\s*(at \\S+\\(.*\\)|\\.\\.\\. \\d+ more)\\s*");
  }

  /**
   * Prints what failed besides tests, such as the compiler, and the modules that were not tested
   * because of it.
   */
  private void printMavenErrors(Path log) throws IOException {
    Predicate<String> advice = line -> ADVICE.stream().anyMatch(line::contains);
    try (Stream<String> lines = Files.lines(log)) {
      lines
          .filter(line -> line.startsWith(ERROR) && line.length() > ERROR.length())
          .filter(advice.negate())
          // With failed tests, their lines are shown already.
          .filter(
              line ->
                  run.failed().isEmpty()
                      || line.contains("Failed to execute goal")
                          && !line.contains("There are test failures"))
          .distinct()
          .limit(MAVEN_ERRORS)
          .forEach(line -> System.out.println(shortened(line).getFirst()));
    }
    try (Stream<String> lines = Files.lines(log)) {
      List<String> skipped =
          lines
              .filter(line -> line.matches("\\[INFO\\] \\S+ \\.+ SKIPPED"))
              .map(line -> line.split(" ")[1])
              .toList();
      if (!skipped.isEmpty()) {
        System.out.println(
            "not tested, because a module before them failed: " + String.join(", ", skipped));
      }
    }
  }
}
