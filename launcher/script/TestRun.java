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

/** Holds what the reports of Surefire say of a run: each test, each class's time, its figures. */
final class TestRun {

  /** A test prints its figures and seeds; one that prints more than this per class shows a fault. */
  private static final int FIGURES = 60;

  /** The ways in which a test ends. */
  enum Outcome {
    PASSED,
    /** It failed, and passed at its second attempt. */
    UNSTEADY,
    FAILED,
    SKIPPED
  }

  /**
   * Describes a test.
   *
   * @param owner its class, with the outer class before a $
   * @param name its sentence, or its method's name; empty if the whole class ended so
   * @param message why it failed, also at its first attempt alone, or was skipped; otherwise empty
   * @param causes the lines of its stack trace from the first cause on
   */
  record Case(String owner, String name, Outcome outcome, String message, String causes) {

    String test() {
      return owner + (name.isEmpty() ? "" : "." + name);
    }

    /** Returns whether the test has passed, at its first attempt or its second one. */
    boolean proves() {
      return outcome == Outcome.PASSED || outcome == Outcome.UNSTEADY;
    }

    /** Returns the outermost class, in whose file the test is written. */
    String topClass() {
      return owner.replaceFirst("\\$.*", "");
    }
  }

  private final List<Case> cases = new ArrayList<>();
  private final Map<String, Double> seconds = new TreeMap<>();
  private final Map<String, List<String>> figures = new TreeMap<>();

  private TestRun() {}

  static TestRun read(List<Path> reports) throws IOException, XMLStreamException {
    TestRun run = new TestRun();
    for (Path report : reports) {
      run.read(report);
    }
    return run;
  }

  List<Case> cases() {
    return cases;
  }

  List<Case> failed() {
    return of(Outcome.FAILED);
  }

  List<Case> skipped() {
    return of(Outcome.SKIPPED);
  }

  List<Case> unsteady() {
    return of(Outcome.UNSTEADY);
  }

  private List<Case> of(Outcome outcome) {
    return cases.stream().filter(test -> test.outcome() == outcome).toList();
  }

  int passed() {
    return cases.size() - failed().size() - skipped().size();
  }

  long count(String owner, Outcome outcome) {
    return cases.stream()
        .filter(test -> test.topClass().equals(owner) && test.outcome() == outcome)
        .count();
  }

  /** Returns the time that each class took, by its name. */
  Map<String, Double> seconds() {
    return seconds;
  }

  /** Returns the figures and seeds that each class printed, by its name. */
  Map<String, List<String>> figures() {
    return figures;
  }

  private void read(Path file) throws IOException, XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    try (var stream = Files.newInputStream(file)) {
      XMLStreamReader reader = factory.createXMLStreamReader(stream);
      while (reader.hasNext()) {
        if (reader.next() != XMLStreamReader.START_ELEMENT) {
          continue;
        }
        switch (reader.getLocalName()) {
          case "testsuite" -> readSuite(reader);
          case "testcase" -> readTest(reader);
          default -> {
            // Properties of the machine.
          }
        }
      }
    }
  }

  private void readSuite(XMLStreamReader reader) {
    String time = attribute(reader, "time").replace(",", "");
    if (!time.isEmpty()) {
      String owner = attribute(reader, "name").replaceFirst("\\$.*", "");
      seconds.merge(owner, Double.parseDouble(time), Double::sum);
    }
  }

  /** Reads one test up to its end. */
  private void readTest(XMLStreamReader reader) throws XMLStreamException {
    String owner = attribute(reader, "classname");
    String name = attribute(reader, "name");
    Outcome outcome = Outcome.PASSED;
    String message = "";
    String causes = "";
    while (!isEndOf(reader, "testcase")) {
      if (reader.next() != XMLStreamReader.START_ELEMENT) {
        continue;
      }
      switch (reader.getLocalName()) {
        case "failure", "error", "skipped", "flakyFailure", "flakyError" -> {
          Outcome said =
              switch (reader.getLocalName()) {
                case "skipped" -> Outcome.SKIPPED;
                case "failure", "error" -> Outcome.FAILED;
                default -> Outcome.UNSTEADY;
              };
          // A test that failed and whose clean-up failed, too, is one failed test.
          if (outcome == Outcome.PASSED) {
            outcome = said;
            String words = attribute(reader, "message").strip();
            String type = attribute(reader, "type");
            String trace = trace(reader);
            message = message(words, type, trace);
            message = said == Outcome.SKIPPED ? reason(message) : message;
            causes =
                trace
                    .lines()
                    .dropWhile(line -> !line.startsWith("Caused by: "))
                    .collect(Collectors.joining("\n"));
          }
        }
        case "system-out" -> readFigures(owner, reader.getElementText().lines());
        default -> {
          // Errors' output of the test.
        }
      }
    }
    cases.add(new Case(owner, name, outcome, message, causes));
  }

  /** Reads the stack trace of a failure; that of a first attempt is in an element of its own. */
  private static String trace(XMLStreamReader reader) throws XMLStreamException {
    if (!reader.getLocalName().startsWith("flaky")) {
      return reader.getElementText().strip();
    }
    return reader.nextTag() == XMLStreamReader.START_ELEMENT
            && reader.getLocalName().equals("stackTrace")
        ? reader.getElementText().strip()
        : "";
  }

  private void readFigures(String owner, Stream<String> lines) {
    List<String> kept =
        figures.computeIfAbsent(owner.replaceFirst("\\$.*", ""), any -> new ArrayList<>());
    lines
        .filter(Predicate.not(String::isBlank))
        .limit(FIGURES - kept.size())
        .forEach(line -> kept.add(line.strip()));
  }

  private static boolean isEndOf(XMLStreamReader reader, String element) {
    return reader.getEventType() == XMLStreamReader.END_ELEMENT
        && reader.getLocalName().equals(element);
  }

  /**
   * Returns why a test failed or was skipped. Surefire writes the message of a test that gave up,
   * such as by an assumption, into the stack trace alone.
   */
  private static String message(String said, String type, String trace) {
    if (!said.isEmpty()) {
      return said;
    }
    if (!type.isEmpty() && trace.startsWith(type + ": ")) {
      return trace.substring(type.length() + 2).split("\n\tat ")[0];
    }
    return type.isEmpty() ? "no reason is given" : type;
  }

  /** Returns the reason that a person wrote, without JUnit's words before it. */
  private static String reason(String message) {
    return message
        .replaceFirst("^Assumption failed: ", "")
        .replaceFirst("^.* ==> ", "")
        .replaceAll("\\s+", " ");
  }

  private static String attribute(XMLStreamReader reader, String name) {
    String value = reader.getAttributeValue(null, name);
    return value == null ? "" : value;
  }
}
