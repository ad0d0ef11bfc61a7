package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.LiveTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks that nothing in the repository breaks the {@link HouseRules}. */
class HouseRulesTest {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  private static final List<String> FLOORS =
      List.of("platform", "bundles", "launcher", "integration-tests");

  @Test
  void organsMeetAsServices() throws IOException {
    Map<String, Attributes> organs = organs();
    List<String> broken = new ArrayList<>();
    organs.forEach(
        (organ, manifest) -> broken.addAll(HouseRules.organ(organ, manifest, organs.keySet())));
    assertEquals(List.of(), broken, "organs meet as services, through dev.polis.api");
  }

  /** Returns the manifests of all organs, and requires that they are those of the repository. */
  private static Map<String, Attributes> organs() throws IOException {
    TreeSet<String> folders = new TreeSet<>();
    try (var bundles =
        Files.newDirectoryStream(REPOSITORY.resolve("bundles"), Files::isDirectory)) {
      bundles.forEach(folder -> folders.add("dev.polis." + folder.getFileName()));
    }
    Map<String, Attributes> organs = new TreeMap<>();
    try (Stream<Path> jars = Files.list(Distribution.built().folder().resolve("bundles"))) {
      for (Path jar : jars.toList()) {
        Attributes manifest = manifest(jar);
        String name = String.valueOf(manifest.getValue("Bundle-SymbolicName")).split(";")[0];
        if (folders.contains(name)) {
          organs.put(name, manifest);
        }
      }
    }
    assertEquals(
        folders, organs.keySet(), "organs in the repository and in the distribution differ");
    return organs;
  }

  private static Attributes manifest(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.getManifest().getMainAttributes();
    }
  }

  @Test
  void sourcesAreWhole() throws IOException {
    List<String> broken = new ArrayList<>();
    List<Path> sources = files(".java", "src");
    assertTrue(sources.size() > 500, "only " + sources.size() + " sources were found");
    for (Path source : sources) {
      broken.addAll(HouseRules.source(source, Files.readString(source)));
    }
    assertEquals(List.of(), broken);
  }

  @Test
  void wordsAreThoseOfTheField() throws IOException {
    List<String> broken = new ArrayList<>();
    List<Path> texts = new ArrayList<>(files(".java", "src"));
    texts.addAll(pages());
    for (Path text : texts) {
      Path file = REPOSITORY.relativize(text);
      broken.addAll(HouseRules.words(file, Files.readString(text)));
    }
    assertEquals(List.of(), broken);
  }

  /** Returns the pages of the documentation. */
  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>(List.of(REPOSITORY.resolve("README.md")));
    try (Stream<Path> docs = Files.list(REPOSITORY.resolve("docs"))) {
      docs.filter(page -> page.toString().endsWith(".md")).forEach(pages::add);
    }
    return pages;
  }

  @Test
  void packagesHaveNoCycle() throws IOException {
    PackageGraph graph = packageGraph();
    assertTrue(graph.size() > 40, "only " + graph.size() + " packages use another");
    assertEquals(List.of(), graph.cycles());
  }

  @Test
  void codeOfOrgansUsesNoOtherOrgan() throws IOException {
    assertEquals(List.of(), packageGraph().organsThatMeet(organs().keySet()));
  }

  private static PackageGraph packageGraph() throws IOException {
    PackageGraph graph = new PackageGraph();
    for (Path file : files(".class", "target/classes")) {
      if (file.toString().contains("/target/classes/dev/polis/")) {
        graph.add(Files.readAllBytes(file));
      }
    }
    return graph;
  }

  @Test
  void packagesHaveEssays() throws IOException {
    List<String> broken = new ArrayList<>();
    TreeSet<Path> folders = new TreeSet<>();
    files(".java", "src/main/java").forEach(file -> folders.add(file.getParent()));
    for (Path folder : folders) {
      broken.addAll(HouseRules.essay(folder));
    }
    assertEquals(List.of(), broken);
  }

  /**
   * Requires distinct addresses, since classes of this module run at the same time, beside those of
   * others.
   */
  @Test
  void nodesOfTwoTestClassesHaveNoAddressInCommon() throws IOException {
    Pattern address = Pattern.compile("\"(127\\.0\\.\\d+\\.\\d*)[\"/]");
    Map<String, Set<String>> users = new TreeMap<>();
    List<Path> files = LiveTree.bottomUp(REPOSITORY.resolve("integration-tests"));
    for (Path file : files.stream().filter(HouseRulesTest::isTestOfNodes).toList()) {
      Matcher found = address.matcher(Files.readString(file));
      while (found.find()) {
        users.computeIfAbsent(found.group(1), _ -> new TreeSet<>()).add(file.toFile().getName());
      }
    }
    assertTrue(users.size() > 20, "only these addresses were found: " + users.keySet());
    // Addresses that are only in a command line or a message belong to no node.
    users.keySet().removeIf(each -> each.startsWith("127.0.0."));
    users.values().removeIf(each -> each.size() == 1);
    assertEquals(Map.of(), users);
  }

  /** Returns whether a file is a test of nodes; other files name addresses without a node. */
  private static boolean isTestOfNodes(Path file) {
    String name = file.toString();
    return name.endsWith("IT.java")
        || name.endsWith(".java") && name.contains("/faults/src/test/")
        || name.endsWith(".java") && name.contains("/container/src/test/");
  }

  @Test
  void noFieldIsOptional() throws IOException {
    List<String> broken = new ArrayList<>();
    List<Path> classes = files(".class", "target/classes");
    assertTrue(classes.size() > 500, "only " + classes.size() + " classes were found");
    for (Path file : classes) {
      if (file.toString().contains("/dev/polis/")) {
        broken.addAll(HouseRules.optionals(Files.readAllBytes(file)));
      }
    }
    assertEquals(List.of(), broken, "represent absence by a type, or keep a checked null inside");
  }

  @Test
  void codeThatRunsKnowsThePlacesOfItsLogEntries() throws IOException {
    List<String> broken = new ArrayList<>();
    int classes = 0;
    for (String folder : List.of("bundles", "lib")) {
      try (Stream<Path> jars = Files.list(Distribution.built().folder().resolve(folder))) {
        for (Path jar :
            jars.filter(file -> file.getFileName().toString().startsWith("dev.polis.")).toList()) {
          classes += walks(jar, broken);
        }
      }
    }
    assertTrue(classes > 500, "only " + classes + " classes were found");
    assertEquals(List.of(), broken, "dev.polis.node.places puts the places in");
  }

  private static int walks(Path jar, List<String> broken) throws IOException {
    int classes = 0;
    try (JarFile file = new JarFile(jar.toFile())) {
      for (JarEntry entry : file.stream().toList()) {
        // LogPlaces itself passes entries on to logs without places.
        if (entry.getName().endsWith(".class")
            && entry.getName().startsWith("dev/polis/")
            && !entry.getName().equals("dev/polis/logtree/LogPlaces.class")) {
          broken.addAll(HouseRules.walks(file.getInputStream(entry).readAllBytes()));
          classes++;
        }
      }
    }
    return classes;
  }

  /** Returns the files below a part of the modules, such as {@code src/main/java}. */
  private static List<Path> files(String suffix, String part) throws IOException {
    List<Path> found = new ArrayList<>();
    boolean built = part.startsWith("target");
    for (String floor : FLOORS) {
      LiveTree.bottomUp(REPOSITORY.resolve(floor)).stream()
          .filter(file -> file.toString().endsWith(suffix))
          .filter(file -> file.toString().contains("/" + part + "/"))
          .filter(file -> built || !file.toString().contains("/target/"))
          .forEach(found::add);
    }
    return found;
  }
}
