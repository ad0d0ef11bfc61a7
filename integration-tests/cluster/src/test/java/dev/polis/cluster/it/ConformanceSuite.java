package dev.polis.cluster.it;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.LastLines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * Runs Kubernetes' own conformance suite, from an archive that holds the suite, the program that
 * runs it in parallel, and all images.
 *
 * @param folder with e2e.test, ginkgo and conf-images.tar
 */
record ConformanceSuite(Path folder) {

  private static final String ARCHIVES = "conformance-*-linux-amd64.tar.xz";

  private static final String LIST = "conformance/passed-1-node.txt";

  /** The archive holds 370 MB, which a shared machine unpacks in half a minute. */
  private static final Duration UNPACKING = Duration.ofMinutes(5);

  /** The report's mark of a test, in contrast to a preparation. */
  private static final String TEST = "[It] ";

  /** The labels that the suite appends to a name: "… [sig-node, Conformance]". */
  private static final Pattern LABELS = Pattern.compile(" \\[[^\\]]*, [^\\]]*\\]$");

  /** The result of a test. */
  enum Outcome {
    PASSED,
    FAILED,
    SKIPPED
  }

  /** Returns the archive beside the checkout, or in the folder that the environment names. */
  static Optional<Path> archive() throws IOException {
    if (!Files.isDirectory(archives())) {
      return Optional.empty();
    }
    try (var found = Files.newDirectoryStream(archives(), ARCHIVES)) {
      Iterator<Path> archives = found.iterator();
      return archives.hasNext() ? Optional.of(archives.next()) : Optional.empty();
    }
  }

  /** Returns the list beside the archive, of the tests that one node can pass. */
  static Optional<Path> list() {
    return Optional.of(archives().resolve(LIST)).filter(Files::isRegularFile);
  }

  private static Path archives() {
    String named = System.getenv().getOrDefault("POLIS_KUBERNETES_ARCHIVES", "");
    return named.isEmpty() ? beside() : Path.of(named);
  }

  private static Path beside() {
    Path folder = Path.of("").toAbsolutePath();
    while (folder.getParent() != null && !Files.exists(folder.resolve("polis"))) {
      folder = folder.getParent();
    }
    return folder.resolveSibling("shared").resolve("kubernetes");
  }

  /** Unpacks an archive into an empty folder. */
  static ConformanceSuite unpacked(Path archive, Path folder) throws Exception {
    Files.createDirectories(folder);
    Finished.of(
            List.of("tar", "-C", folder.toString(), "-xJf", archive.toString()),
            Map.of(),
            UNPACKING)
        .requireSuccess("unpacking " + archive);
    try (Stream<Path> all = Files.walk(folder)) {
      return new ConformanceSuite(
          all.filter(file -> file.endsWith("e2e.test"))
              .findFirst()
              .orElseThrow(() -> new AssertionError(archive + " holds no e2e.test"))
              .getParent());
    }
  }

  Path images() {
    return folder.resolve("conf-images.tar");
  }

  /**
   * Runs tests by their names.
   *
   * @param processes tests that run at once; Serial tests need 1 @param report a folder for its
   *     report and its output @return the result of each test by name, without those that were not
   *     run
   */
  Map<String, Outcome> run(
      KubernetesNode node, List<String> names, int processes, Path report, Duration within)
      throws Exception {
    Files.createDirectories(report);
    List<String> command = new ArrayList<>();
    String focus =
        names.stream().map(ConformanceSuite::escaped).collect(Collectors.joining("|", "(", ")"));
    String suite = folder.resolve("e2e.test").toString();
    if (processes > 1) {
      command.addAll(
          List.of(
              folder.resolve("ginkgo").toString(),
              "--procs=" + processes,
              "--focus=" + focus,
              "--timeout=" + within.toSeconds() + "s",
              "--no-color",
              suite,
              "--"));
    } else {
      command.addAll(
          List.of(
              suite,
              "-ginkgo.focus=" + focus,
              "-ginkgo.timeout=" + within.toSeconds() + "s",
              "-ginkgo.no-color"));
    }
    command.addAll(
        List.of(
            "--kubeconfig=" + node.administrator(),
            "--provider=skeleton",
            "--kubectl-path=" + node.program("kubectl"),
            "--report-dir=" + report,
            "--disable-log-dump",
            "--num-nodes=1"));
    Finished finished =
        Finished.of(command, Map.of("HOME", report.toString()), within.plusMinutes(2));
    Files.writeString(report.resolve("output.txt"), finished.all());
    Map<String, Outcome> outcomes = outcomes(report);
    // The report lists all 7,579 tests of the suite; those that were not selected are skipped.
    outcomes.keySet().retainAll(names);
    if (outcomes.isEmpty()) {
      throw new AssertionError("the suite reported no test: " + end(finished.all()));
    }
    return outcomes;
  }

  /** Returns the last lines of output, which give the reason of the end. */
  private static String end(String output) {
    return LastLines.of(output, 60);
  }

  /** Quotes a name for Go's regular expressions, which have no \Q. */
  private static String escaped(String name) {
    return name.replaceAll("([\\\\.+*?()|\\[\\]{}^$])", "\\\\$1");
  }

  private static Map<String, Outcome> outcomes(Path report)
      throws IOException, ParserConfigurationException, SAXException {
    Map<String, Outcome> outcomes = new TreeMap<>();
    try (var files = Files.newDirectoryStream(report, "junit*.xml")) {
      for (Path file : files) {
        NodeList cases =
            DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(file.toFile())
                .getElementsByTagName("testcase");
        for (int number = 0; number < cases.getLength(); number++) {
          Element test = (Element) cases.item(number);
          if (test.getAttribute("name").startsWith(TEST)) {
            outcomes.put(name(test), outcome(test));
          }
        }
      }
    }
    return outcomes;
  }

  private static String name(Element test) {
    return LABELS.matcher(test.getAttribute("name").substring(TEST.length())).replaceFirst("");
  }

  private static Outcome outcome(Element test) {
    if (test.getElementsByTagName("skipped").getLength() > 0) {
      return Outcome.SKIPPED;
    }
    boolean failed =
        test.getElementsByTagName("failure").getLength() > 0
            || test.getElementsByTagName("error").getLength() > 0;
    return failed ? Outcome.FAILED : Outcome.PASSED;
  }
}
