package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import dev.polis.fixtures.Distribution;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Holds the table of organs in docs/architecture.md and the essay of each organ against the built
 * bundles. {@code -Dpolis.organs.write=true} writes both anew.
 */
class OrganTableTest {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));
  private static final Path PAGE = REPOSITORY.resolve("docs/architecture.md");
  private static final String BEGIN = "<!-- organs: written by OrganTableTest -->\n";
  private static final String END = "<!-- organs: end -->";
  private static final boolean WRITE = Boolean.getBoolean("polis.organs.write");

  private static final Pattern ITEMS =
      Pattern.compile(" \\* <ul>\\n \\*   <li>Needs:.*?\\n \\* </ul>\\n", Pattern.DOTALL);

  /** The service whose state tells SPLIT. */
  private static final String FOLLOWED = "ClusterManager";

  private static final Pattern SPLIT =
      Pattern.compile("<p><b>In SPLIT</b>: (continues|fences)\\. [A-Z]");

  private static final String HEAD =
      """
      | organ | needs | uses if there | provides | configuration | files | ports |
      |---|---|---|---|---|---|---|
      """;

  private static SortedMap<String, OrganManifest> organs() throws Exception {
    Map<String, String> layout = new HashMap<>();
    layout(Root.at(Path.of("/")), Path.of("/"), layout);
    assertTrue(layout.size() > 10, "the layout of the state directory: " + layout);
    SortedMap<String, OrganManifest> organs = new TreeMap<>();
    try (Stream<Path> folders = Files.list(REPOSITORY.resolve("bundles"));
        Stream<Path> jars = Files.list(Distribution.built().folder().resolve("bundles"))) {
      List<Path> bundles = jars.toList();
      for (Path folder : folders.filter(Files::isDirectory).toList()) {
        String organ = folder.getFileName().toString();
        Path jar =
            bundles.stream()
                .filter(each -> each.getFileName().toString().startsWith("dev.polis." + organ))
                .findFirst()
                .orElseThrow(() -> new AssertionError("the distribution has no bundle " + organ));
        organs.put(organ, OrganManifest.read(jar, layout));
      }
    }
    return organs;
  }

  /** Collects the path of every file and folder that the layout declares, by its accessor. */
  private static void layout(Object place, Path root, Map<String, String> found)
      throws IllegalAccessException, InvocationTargetException {
    for (Method method : place.getClass().getDeclaredMethods()) {
      boolean accessor =
          method.getParameterCount() == 0
              && Modifier.isPublic(method.getModifiers())
              && !Modifier.isStatic(method.getModifiers())
              && method.getReturnType().getName().startsWith("dev.polis.");
      if (!accessor) {
        continue;
      }
      Object inner = method.invoke(place);
      if (inner.getClass().getName().startsWith(Root.class.getName())) {
        layout(inner, root, found);
      } else {
        found.put(
            place.getClass().getName().replace('.', '/') + "." + method.getName(),
            root.relativize(Path.of(inner.toString())).toString());
      }
    }
  }

  @Test
  @DisplayName("the table of organs agrees with the bundles")
  void tableIsThatOfTheBundles() throws Exception {
    StringBuilder table = new StringBuilder(HEAD);
    organs().forEach((organ, manifest) -> table.append(manifest.row(organ)).append('\n'));
    String page = Files.readString(PAGE);
    int begin = page.indexOf(BEGIN);
    int end = page.indexOf(END);
    assertTrue(begin >= 0 && end > begin, PAGE + " has no \"" + BEGIN.strip() + "\"");
    if (WRITE) {
      page = page.substring(0, begin + BEGIN.length()) + table + page.substring(end);
      Files.writeString(PAGE, page);
      end = page.indexOf(END);
    }
    assertEquals(
        table.toString(),
        page.substring(begin + BEGIN.length(), end),
        "write it with ./polis test -pl integration-tests/cluster -Dtest=OrganTableTest"
            + " -Dpolis.organs.write=true");
  }

  @Test
  @DisplayName("each organ's essay lists its bundle's needs, services, files and listeners")
  void essaysAreThoseOfTheBundles() throws Exception {
    List<String> different = new ArrayList<>();
    for (Map.Entry<String, OrganManifest> organ : organs().entrySet()) {
      Path file = essayOf(organ.getKey());
      String text = Files.readString(file);
      Matcher items = ITEMS.matcher(text);
      if (WRITE) {
        text = written(text, items, organ.getValue());
        Files.writeString(file, text);
        items = ITEMS.matcher(text);
      }
      String expected = words(String.join(" ", organ.getValue().essay()));
      String actual = items.find() ? words(items.group().replaceAll("</?ul>|\\*", "")) : "no list";
      if (!actual.equals(expected)) {
        different.add("%s has%n  %s%nits bundle has%n  %s".formatted(file, actual, expected));
      }
    }
    assertEquals(List.of(), different);
  }

  @Test
  @DisplayName(
      "the essay of each organ that follows the cluster's state says what it does in SPLIT")
  void essaysSayWhatSplitMeans() throws Exception {
    List<String> silent = new ArrayList<>();
    for (Map.Entry<String, OrganManifest> organ : organs().entrySet()) {
      OrganManifest manifest = organ.getValue();
      boolean follows = manifest.needs().contains(FOLLOWED) || manifest.uses().contains(FOLLOWED);
      if (follows != SPLIT.matcher(Files.readString(essayOf(organ.getKey()))).find()) {
        silent.add(organ.getKey());
      }
    }
    assertEquals(
        List.of(), silent, "organs whose essays need, or need not, this sentence: " + SPLIT);
  }

  private static Path essayOf(String organ) {
    return REPOSITORY.resolve(
        "bundles/%1$s/src/main/java/dev/polis/%1$s/package-info.java".formatted(organ));
  }

  private static String written(String text, Matcher items, OrganManifest manifest) {
    StringBuilder list = new StringBuilder(" * <ul>\n");
    manifest.essay().forEach(item -> list.append(" *   ").append(item).append('\n'));
    list.append(" * </ul>\n");
    return items.find()
        ? items.replaceFirst(Matcher.quoteReplacement(list.toString()))
        : text.replaceFirst("\n \\*/", Matcher.quoteReplacement("\n *\n" + list + " */"));
  }

  private static String words(String text) {
    return text.strip().replaceAll("\\s+", " ");
  }
}
