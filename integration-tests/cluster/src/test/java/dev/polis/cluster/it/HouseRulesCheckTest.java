package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.constant.ClassDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.jar.Attributes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks that each check of the {@link HouseRules} can fail. */
class HouseRulesCheckTest {

  private static final List<String> ORGANS = List.of("dev.polis.cluster", "dev.polis.storage");

  private static final Path SOURCE = Path.of("bundles/x/src/main/java/X.java");
  private static final Path TEST = Path.of("bundles/x/src/test/java/XTest.java");

  @TempDir Path folder;

  private static List<String> organ(String imports, String exports, String components) {
    Attributes manifest = new Attributes();
    put(manifest, "Import-Package", imports);
    put(manifest, "Export-Package", exports);
    put(manifest, "Service-Component", components);
    return HouseRules.organ("dev.polis.cluster", manifest, ORGANS);
  }

  private static void put(Attributes manifest, String name, String value) {
    if (!value.isEmpty()) {
      manifest.putValue(name, value);
    }
  }

  @Test
  void organsThatMeetOtherwise() {
    String good = "dev.polis.api.storage;version=\"[1.0,2)\",org.osgi.service.component";
    assertEquals(List.of(), organ(good, "", "OSGI-INF/x.xml"));
    assertEquals(
        List.of(
            "dev.polis.cluster imports dev.polis.storage of an organ",
            "dev.polis.cluster imports dev.polis.storage.inner of an organ"),
        organ(good + ",dev.polis.storage,dev.polis.storage.inner;resolution:=optional", "", "x"));
    assertEquals(List.of(), organ("dev.polis.storages;uses:=\"a.b,dev.polis.storage\"", "", "x"));
    assertEquals(
        List.of("dev.polis.cluster exports dev.polis.cluster.spi"),
        organ(good, "dev.polis.cluster.spi;version=\"1.0\"", "x"));
    assertEquals(
        List.of("dev.polis.cluster has no Declarative Services component"), organ(good, "", ""));
    assertEquals(
        List.of("dev.polis.cluster imports nothing: the header was not understood"),
        organ("", "", "x"));
  }

  @ParameterizedTest
  @CsvSource({
    "// TO~DO: later, leaves something open",
    "/* FIX~ME */, leaves something open",
    "throw new UnsupportedOp~erationException(\"not yet\");, throws a placeholder",
    "throw new IllegalStateEx~ception();, throws without a word",
    "try { x(); } catch (IOException e) ~{ }, swallows an exception",
  })
  void sourcesThatAreNotWhole(String line, String problem) {
    String text = "class X {\n\n  " + line.replace("~", "") + "\n}\n";
    List<String> broken = HouseRules.source(SOURCE, text);
    assertEquals(1, broken.size(), broken::toString);
    assertEquals(SOURCE + " " + problem + " near line 3", broken.getFirst().split(": ")[0]);
    assertEquals(broken.size(), HouseRules.source(TEST, text).size());
  }

  @ParameterizedTest
  @CsvSource({
    "@Dis~abled, switches a test off",
    "Thread.sl~eep(5);, sleeps in a test",
    "TimeUnit.SECONDS.sl~eep(5);, sleeps in a test",
  })
  void testsThatAreNotRunOrSleep(String line, String problem) {
    String text = line.replace("~", "");
    List<String> broken = HouseRules.source(TEST, text);
    assertEquals(TEST + " " + problem + " near line 1", broken.getFirst().split(": ")[0]);
    assertEquals(List.of(), HouseRules.source(SOURCE, text), "main code may sleep");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "class Boot~Board {}",
        "opens the trap~door",
        "GU~RU",
        "packages it le~nt",
        "waits in va~in",
        "served in ro~unds",
      })
  void privateWords(String line) {
    List<String> broken = HouseRules.words(SOURCE, "\n" + line.replace("~", "") + "\n");
    assertEquals(1, broken.size(), broken::toString);
    assertTrue(broken.getFirst().contains("near line 2"), broken::toString);
    assertEquals(List.of(), HouseRules.words(SOURCE, "silent, a certain round number"));
  }

  /** Uses a class of the package in which the test puts it. */
  private static byte[] classUsing(String name, String used) {
    return ClassFile.of()
        .build(
            ClassDesc.ofInternalName(name),
            type -> type.withField("other", ClassDesc.ofInternalName(used), ClassFile.ACC_PRIVATE));
  }

  @Test
  void packagesThatUseEachOther() {
    PackageGraph graph = new PackageGraph();
    graph.add(classUsing("dev/polis/a/A", "dev/polis/b/B"));
    graph.add(classUsing("dev/polis/b/B", "dev/polis/c/C"));
    assertEquals(List.of(), graph.cycles());
    graph.add(classUsing("dev/polis/c/inner/C", "dev/polis/a/A"));
    assertEquals(List.of(), graph.cycles(), "a package and one below it are two packages");
    graph.add(classUsing("dev/polis/c/C", "dev/polis/a/A"));
    assertEquals(
        List.of(
            "dev.polis.a and dev.polis.b use each other: dev/polis/a/A -> dev/polis/b/B",
            "dev.polis.b and dev.polis.c use each other: dev/polis/b/B -> dev/polis/c/C",
            "dev.polis.c and dev.polis.a use each other: dev/polis/c/C -> dev/polis/a/A"),
        graph.cycles());
  }

  @Test
  void organsWhoseCodeUsesAnotherOrgan() {
    PackageGraph graph = new PackageGraph();
    graph.add(classUsing("dev/polis/cluster/A", "dev/polis/cluster/inner/B"));
    graph.add(classUsing("dev/polis/cluster/A", "dev/polis/files/Mode"));
    assertEquals(List.of(), graph.organsThatMeet(Set.copyOf(ORGANS)));
    graph.add(classUsing("dev/polis/cluster/A", "dev/polis/storage/inner/B"));
    assertEquals(
        List.of(
            "dev.polis.cluster uses dev.polis.storage.inner of another organ:"
                + " dev/polis/cluster/A -> dev/polis/storage/inner/B"),
        graph.organsThatMeet(Set.copyOf(ORGANS)));
  }

  @Test
  void packagesThatSayLittle() throws IOException {
    assertEquals(List.of(folder + " has no package-info.java"), HouseRules.essay(folder));
    Path file = folder.resolve("package-info.java");
    Files.writeString(file, "/**\n * Helpers.\n */\npackage x;\n");
    assertEquals(
        List.of(file + " has an essay of 1 lines", file + " has no drawing"),
        HouseRules.essay(folder));
    Files.writeString(file, "/**\n * <pre>\n" + " * a ──▶ b\n".repeat(7) + " */\npackage x;\n");
    assertEquals(List.of(), HouseRules.essay(folder));
  }

  /** Breaks the rule in every way; only its method keeps it. */
  @SuppressWarnings("unused") // The test only reads it as a class file.
  private record Sinner(Optional<String> component) {
    private static final Optional<String> FIELD = Optional.empty();

    static Optional<String> give() {
      return FIELD;
    }
  }

  @Test
  void fieldsThatAreOptional() throws IOException {
    String name = Sinner.class.getName().replace('.', '/');
    try (InputStream in = Sinner.class.getResourceAsStream("/" + name + ".class")) {
      assertEquals(
          List.of(
              name + " has the Optional field FIELD", name + " has the Optional field component"),
          HouseRules.optionals(in.readAllBytes()).stream().sorted().toList());
    }
  }
}
