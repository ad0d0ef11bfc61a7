package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Distribution;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of the house, read off every manifest of the distribution. */
class HouseRulesTest {

  /** A package at the beginning of a clause of Import-Package or Export-Package. */
  private static final Pattern PACKAGE = Pattern.compile("(?:^|,)\\s*([a-z][\\w]*(?:\\.\\w+)+)");

  private static final Pattern QUOTED = Pattern.compile("\"[^\"]*\"");

  private static final Map<String, Attributes> ORGANS = new TreeMap<>();

  @BeforeAll
  static void readManifests() throws IOException {
    Path repository = Path.of(System.getProperty("polis.repository"));
    List<String> organs = new ArrayList<>();
    try (var folders =
        Files.newDirectoryStream(repository.resolve("bundles"), Files::isDirectory)) {
      folders.forEach(folder -> organs.add("dev.polis." + folder.getFileName()));
    }
    try (Stream<Path> jars = Files.list(Distribution.built().folder().resolve("bundles"))) {
      for (Path jar : jars.toList()) {
        Attributes manifest = manifest(jar);
        String name = String.valueOf(manifest.getValue("Bundle-SymbolicName")).split(";")[0];
        if (organs.contains(name)) {
          ORGANS.put(name, manifest);
        }
      }
    }
    assertEquals(
        organs.stream().sorted().toList(),
        List.copyOf(ORGANS.keySet()),
        "organs in the repository and in the distribution differ");
  }

  private static Attributes manifest(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.getManifest().getMainAttributes();
    }
  }

  private static List<String> packages(String header) {
    if (header == null) {
      return List.of();
    }
    Matcher matcher = PACKAGE.matcher(QUOTED.matcher(header).replaceAll(""));
    List<String> packages = new ArrayList<>();
    while (matcher.find()) {
      packages.add(matcher.group(1));
    }
    return packages;
  }

  @Test
  void noOrganImportsAnother() {
    List<String> wrong = new ArrayList<>();
    ORGANS.forEach(
        (organ, manifest) -> {
          List<String> imports = packages(manifest.getValue("Import-Package"));
          assertTrue(!imports.isEmpty(), organ + " imports nothing: the header was not understood");
          imports.stream()
              .filter(each -> ORGANS.keySet().stream().anyMatch(other -> within(each, other)))
              .forEach(each -> wrong.add(organ + " imports " + each));
        });
    assertEquals(List.of(), wrong, "organs meet as services, through dev.polis.api");
  }

  private static boolean within(String imported, String organ) {
    return imported.equals(organ) || imported.startsWith(organ + ".");
  }

  @Test
  void organsExportNothing() {
    List<String> wrong = new ArrayList<>();
    ORGANS.forEach(
        (organ, manifest) ->
            packages(manifest.getValue("Export-Package"))
                .forEach(each -> wrong.add(organ + " exports " + each)));
    assertEquals(List.of(), wrong, "a provider exports nothing");
  }

  @Test
  void everyOrganIsDeclared() {
    ORGANS.forEach(
        (organ, manifest) ->
            assertTrue(
                manifest.getValue("Service-Component") != null,
                organ + " has no Declarative Services component"));
  }
}
