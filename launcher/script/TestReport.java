import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * Prints what a run of the tests came to, from the reports that Surefire wrote: each failed test
 * with its message, each reason of skipped ones, and in the last line how many passed, failed and
 * were skipped. The JDK runs it from this source, because the tests may be what does not compile.
 *
 * <pre>
 *   java TestReport.java MAVEN_LOG MAVEN_EXIT_CODE &lt; names of the reports
 * </pre>
 *
 * <p>Exits with 0 if tests ran, none failed, and Maven ended with 0; otherwise with 1.
 */
final class TestReport {

  /** How much of a message fits on a screen beside others. */
  private static final int MESSAGE_LINES = 12;

  private static final int MESSAGE_WIDTH = 400;

  /** How many of Maven's errors are shown; the first ones are the cause. */
  private static final int MAVEN_ERRORS = 15;

  private static final String ERROR = "[ERROR] ";

  /** What Maven adds to its errors each time. */
  private static final List<String> ADVICE =
      List.of(
          "Help 1]",
          "stack trace of the errors",
          "full debug logging",
          "After correcting the problems",
          "mvn <args>",
          "For more information about the errors");

  /** What a test that failed said, and what it was caused by; the causes may be empty. */
  private record Words(String message, String causes) {}

  /** A test that failed. */
  private record Failure(String test, Words words) {}

  private final List<Failure> failures = new ArrayList<>();
  private final Map<String, Integer> skips = new TreeMap<>();
  private int passed;

  private TestReport() {}

  public static void main(String[] arguments) throws IOException, XMLStreamException {
    TestReport report = new TestReport();
    for (String name : new String(System.in.readAllBytes()).lines().toList()) {
      report.read(Path.of(name));
    }
    Path log = Path.of(arguments[0]);
    System.exit(report.print(log, Integer.parseInt(arguments[1])));
  }

  private void read(Path file) throws IOException, XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    try (var stream = Files.newInputStream(file)) {
      XMLStreamReader reader = factory.createXMLStreamReader(stream);
      while (reader.hasNext()) {
        if (reader.next() == XMLStreamReader.START_ELEMENT
            && reader.getLocalName().equals("testcase")) {
          readTest(reader);
        }
      }
    }
  }

  /** Reads one test up to its end. */
  private void readTest(XMLStreamReader reader) throws XMLStreamException {
    String name = attribute(reader, "name");
    String test = attribute(reader, "classname") + (name.isEmpty() ? "" : "." + name);
    boolean ended = false;
    while (!isEndOf(reader, "testcase")) {
      if (reader.next() != XMLStreamReader.START_ELEMENT) {
        continue;
      }
      switch (reader.getLocalName()) {
        case "failure", "error" -> {
          failures.add(new Failure(test, message(reader)));
          ended = true;
        }
        case "skipped" -> {
          skips.merge(oneLine(reason(message(reader).message())), 1, Integer::sum);
          ended = true;
        }
        default -> {
          // Output and properties of the test.
        }
      }
    }
    passed += ended ? 0 : 1;
  }

  private static boolean isEndOf(XMLStreamReader reader, String element) {
    return reader.getEventType() == XMLStreamReader.END_ELEMENT
        && reader.getLocalName().equals(element);
  }

  /**
   * Returns why a test failed or was skipped, and reads to the end of the element. Surefire writes
   * the message of a test that gave up, such as by an assumption, into the stack trace alone.
   */
  private static Words message(XMLStreamReader reader) throws XMLStreamException {
    String message = attribute(reader, "message").strip();
    String type = attribute(reader, "type");
    String trace = reader.getElementText().strip();
    if (message.isEmpty() && trace.startsWith(type + ": ")) {
      message = trace.substring(type.length() + 2).split("\n\tat ")[0];
    }
    String words = !message.isEmpty() ? message : type.isEmpty() ? "no reason is given" : type;
    Stream<String> causes = trace.lines().dropWhile(line -> !line.startsWith("Caused by: "));
    return new Words(words, causes.collect(Collectors.joining("\n")));
  }

  /** Returns the reason that a person wrote, without what JUnit puts before it. */
  private static String reason(String message) {
    return message.replaceFirst("^Assumption failed: ", "").replaceFirst("^.* ==> ", "");
  }

  private static String attribute(XMLStreamReader reader, String name) {
    String value = reader.getAttributeValue(null, name);
    return value == null ? "" : value;
  }

  private int print(Path log, int mavenCode) throws IOException {
    for (Failure failure : failures) {
      System.out.println("FAILED " + failure.test());
      Stream.of(failure.words().message(), failure.words().causes())
          .flatMap(words -> shortened(words).stream())
          .forEach(line -> System.out.println("    " + line));
    }
    skips.forEach((reason, count) -> System.out.println("skipped " + count + ": " + reason));
    int skipped = skips.values().stream().mapToInt(Integer::intValue).sum();
    boolean ran = passed + failures.size() > 0;
    boolean good = ran && failures.isEmpty() && mavenCode == 0;
    if (mavenCode != 0) {
      printMavenErrors(log);
    }
    if (!ran) {
      System.out.println("no test ran");
    }
    if (!good) {
      System.out.println("Maven's log is " + log);
    }
    System.out.printf("%d passed, %d failed, %d skipped%n", passed, failures.size(), skipped);
    return good ? 0 : 1;
  }

  private static List<String> shortened(String message) {
    List<String> lines = message.lines().filter(Predicate.not(TestReport::isStackFrame)).toList();
    List<String> shown = new ArrayList<>();
    for (String line : lines.subList(0, Math.min(MESSAGE_LINES, lines.size()))) {
      shown.add(
          line.length() <= MESSAGE_WIDTH ? line : line.substring(0, MESSAGE_WIDTH - 1) + "…");
    }
    if (lines.size() > MESSAGE_LINES) {
      shown.add("… and " + (lines.size() - MESSAGE_LINES) + " more lines, in the log");
    }
    return shown;
  }

  private static boolean isStackFrame(String line) {
    return line.matches("\\s*(at \\S+\\(.*\\)|\\.\\.\\. \\d+ more)\\s*");
  }

  private static String oneLine(String text) {
    return text.replaceAll("\\s+", " ");
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
                  failures.isEmpty()
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
