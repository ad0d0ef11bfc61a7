package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each check of the {@link HouseRules} can fail. */
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
  })
  void testsThatAreNotRunOrSleep(String line, String problem) {
    String text = line.replace("~", "");
    List<String> broken = HouseRules.source(TEST, text);
    assertEquals(TEST + " " + problem + " near line 1", broken.getFirst().split(": ")[0]);
    assertEquals(List.of(), HouseRules.source(SOURCE, text), "what runs may sleep");
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

  /** Breaks the rule in each way there is; what its method does is allowed. */
  @SuppressWarnings("unused") // It is read as a class file only.
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
