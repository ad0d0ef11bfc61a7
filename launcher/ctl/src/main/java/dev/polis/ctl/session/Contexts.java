package dev.polis.ctl.session;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * Reads and writes the clusters this operator knows, in {@code contexts.yaml}: the current one, and
 * an endpoint for each. Keys and certificates of a context lie in a folder of its name beside it.
 */
public final class Contexts {

  private final Path folder;
  private final SortedMap<String, String> endpoints;
  private final String current;

  private Contexts(Path folder, Map<String, String> endpoints, String current) {
    this.folder = folder;
    this.endpoints = new TreeMap<>(endpoints);
    this.current = current;
  }

  public static Contexts load(Path folder) {
    Path file = folder.resolve("contexts.yaml");
    if (!Files.exists(file)) {
      return new Contexts(folder, Map.of(), "");
    }
    String text = CtlFiles.read(file, "repair or remove it");
    try {
      return parse(folder, new Load(LoadSettings.builder().build()).loadFromString(text));
    } catch (YamlEngineException | IllegalArgumentException e) {
      throw new CtlException(file + " is damaged: " + e.getMessage() + "; repair or remove it", e);
    }
  }

  private static Contexts parse(Path folder, Object document) {
    Map<?, ?> top = map(document, "the whole file");
    Map<String, String> endpoints = new TreeMap<>();
    map(top.get("contexts"), "\"contexts\"")
        .forEach(
            (name, endpoint) ->
                endpoints.put(text(name, "a name"), text(endpoint, "the endpoint of " + name)));
    return new Contexts(folder, endpoints, text(top.get("current"), "\"current\""));
  }

  /**
   * Returns a map of YAML.
   *
   * @throws IllegalArgumentException if the value is another one
   */
  public static Map<?, ?> map(Object value, String what) {
    if (value instanceof Map<?, ?> map) {
      return map;
    }
    throw new IllegalArgumentException(what + " must be a map, and is " + value);
  }

  private static String text(Object value, String what) {
    if (value instanceof String text) {
      return text;
    }
    throw new IllegalArgumentException(what + " must be a text, and is " + value);
  }

  boolean hasCurrent() {
    return !current.isEmpty();
  }

  public String current() {
    return current;
  }

  /** Returns the endpoints by name, sorted. */
  public SortedMap<String, String> endpoints() {
    return Collections.unmodifiableSortedMap(endpoints);
  }

  public CtlTarget target(String name) {
    String endpoint = endpoints.get(name);
    if (endpoint == null) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "there is no context \"%s\" in %s; known are %s"
              .formatted(name, folder, endpoints.isEmpty() ? "none" : endpoints.keySet()));
    }
    return CtlTarget.ofFolder(name, folder.resolve(name), endpoint);
  }

  public Contexts with(String name, String endpoint) {
    Map<String, String> more = new TreeMap<>(endpoints);
    more.put(name, endpoint);
    return new Contexts(folder, more, name);
  }

  public Contexts choosing(String name) {
    target(name);
    return new Contexts(folder, endpoints, name);
  }

  public void save() {
    Map<String, Object> document = new TreeMap<>();
    document.put("current", current);
    document.put("contexts", endpoints);
    String text =
        new Dump(DumpSettings.builder().setDefaultFlowStyle(FlowStyle.BLOCK).build())
            .dumpToString(document);
    CtlFiles.write(folder.resolve("contexts.yaml"), text.getBytes(StandardCharsets.UTF_8));
  }
}
