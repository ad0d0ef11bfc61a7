package dev.polis.ctl.kube;

import dev.polis.ctl.session.Contexts;
import dev.polis.ctl.session.CtlException;
import dev.polis.pki.CaBundle;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.representer.StandardRepresenter;

/**
 * Holds the content of a kubeconfig file, of which this program knows a part. What it does not know
 * stays as it is, in its order; comments get lost.
 */
final class Kubeconfig {

  private static final String CLUSTERS = "clusters";
  private static final String CONTEXTS = "contexts";
  private static final String USERS = "users";

  /** Matches texts that readers of YAML 1.1, such as kubectl, take for something else. */
  private static final String AMBIGUOUS = "(?i)y|n|yes|no|on|off|true|false|null|~||[-+.0-9].*";

  private final Map<String, Object> document;

  private Kubeconfig(Map<String, Object> document) {
    this.document = document;
  }

  /** Returns an empty one. */
  static Kubeconfig empty() {
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("apiVersion", "v1");
    document.put("kind", "Config");
    document.put("preferences", new LinkedHashMap<>());
    return new Kubeconfig(document);
  }

  /**
   * Reads a file's text, which may be empty.
   *
   * @param file for the words of a refusal
   */
  static Kubeconfig parse(String text, String file) {
    if (text.isBlank()) {
      return empty();
    }
    try {
      Object content = new Load(LoadSettings.builder().build()).loadFromString(text);
      Kubeconfig config = new Kubeconfig(new LinkedHashMap<>(map(content, "the whole file")));
      List.of(CLUSTERS, CONTEXTS, USERS).forEach(config::entries);
      return config;
    } catch (YamlEngineException | IllegalArgumentException e) {
      throw new CtlException(
          "%s is not a kubeconfig: %s; repair it, or give --to FILE"
              .formatted(file, e.getMessage()),
          e);
    }
  }

  private static Map<String, Object> map(Object value, String what) {
    Map<String, Object> map = new LinkedHashMap<>();
    Contexts.map(value, what).forEach((key, each) -> map.put(String.valueOf(key), each));
    return map;
  }

  /** Returns the entries of a list, each with its name; none if the list is missing. */
  private List<Map<String, Object>> entries(String list) {
    Object found = document.get(list);
    if (found == null) {
      return new ArrayList<>();
    }
    if (!(found instanceof List<?> all)) {
      throw new IllegalArgumentException("\"" + list + "\" must be a list, and is " + found);
    }
    List<Map<String, Object>> entries = new ArrayList<>();
    all.forEach(each -> entries.add(map(each, "an entry of \"" + list + "\"")));
    return entries;
  }

  /**
   * Adds, or replaces, the entries of a cluster.
   *
   * @param name of the context and the user; those of single controllers begin with it
   * @param ca the certificate of the cluster's CA
   * @param controllers all of them, the one to use first
   * @param plugin the command that prints credentials
   */
  void merge(String name, CaBundle ca, List<KubeEndpoint> controllers, List<String> plugin) {
    Set<String> present =
        controllers.stream().map(each -> name + "-" + each.shortName()).collect(Collectors.toSet());
    removeControllers(CLUSTERS, name, present);
    removeControllers(CONTEXTS, name, present);
    for (KubeEndpoint each : controllers) {
      String entry = name + "-" + each.shortName();
      put(CLUSTERS, entry, "cluster", cluster(each, ca));
      put(CONTEXTS, entry, "context", context(entry, name));
    }
    put(CONTEXTS, name, "context", context(name + "-" + controllers.getFirst().shortName(), name));
    put(USERS, name, "user", Map.of("exec", exec(plugin)));
    document.put("current-context", name);
  }

  /** Removes the entries of single controllers that have gone. */
  private void removeControllers(String list, String name, Set<String> present) {
    Pattern ours = Pattern.compile(Pattern.quote(name) + "-[0-9a-f]{8}");
    List<Map<String, Object>> entries = entries(list);
    entries.removeIf(
        entry -> {
          String found = String.valueOf(entry.get("name"));
          return ours.matcher(found).matches() && !present.contains(found);
        });
    document.put(list, entries);
  }

  private void put(String list, String name, String kind, Map<String, Object> content) {
    List<Map<String, Object>> entries = entries(list);
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("name", name);
    entry.put(kind, content);
    int present = 0;
    while (present < entries.size() && !name.equals(entries.get(present).get("name"))) {
      present++;
    }
    if (present < entries.size()) {
      entries.set(present, entry);
    } else {
      entries.add(entry);
    }
    document.put(list, entries);
  }

  private static Map<String, Object> cluster(KubeEndpoint controller, CaBundle ca) {
    Map<String, Object> cluster = new LinkedHashMap<>();
    cluster.put("server", controller.uri().toString());
    cluster.put("tls-server-name", controller.node());
    cluster.put("certificate-authority-data", Base64.getEncoder().encodeToString(ca.pemBytes()));
    return cluster;
  }

  private static Map<String, Object> context(String cluster, String user) {
    Map<String, Object> context = new LinkedHashMap<>();
    context.put("cluster", cluster);
    context.put("user", user);
    return context;
  }

  private static Map<String, Object> exec(List<String> plugin) {
    Map<String, Object> exec = new LinkedHashMap<>();
    exec.put("apiVersion", KubeCredentialsCommand.API);
    exec.put("command", plugin.getFirst());
    exec.put("args", plugin.subList(1, plugin.size()));
    exec.put("interactiveMode", "Never");
    return exec;
  }

  /** Returns the text of the file. */
  String text() {
    DumpSettings settings =
        DumpSettings.builder().setDefaultFlowStyle(FlowStyle.BLOCK).setSplitLines(false).build();
    return new Dump(settings, new Unambiguous(settings)).dumpToString(document);
  }

  /** Quotes the texts that some reader would take for something else. */
  private static final class Unambiguous extends StandardRepresenter {
    Unambiguous(DumpSettings settings) {
      super(settings);
    }

    @Override
    protected Node representScalar(Tag tag, String value, ScalarStyle style) {
      return super.representScalar(
          tag,
          value,
          tag.equals(Tag.STR) && style == ScalarStyle.PLAIN && value.matches(AMBIGUOUS)
              ? ScalarStyle.DOUBLE_QUOTED
              : style);
    }
  }
}
