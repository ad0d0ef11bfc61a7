package dev.polis.baseline;

import aQute.bnd.differ.DiffPluginImpl;
import aQute.bnd.header.Parameters;
import aQute.bnd.osgi.Constants;
import aQute.bnd.osgi.Jar;
import aQute.bnd.service.diff.Delta;
import aQute.bnd.service.diff.Tree;
import aQute.bnd.service.diff.Type;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/**
 * Holds the packages that several bundles export.
 *
 * @param release the version of the platform
 * @param versions of the packages, by name
 * @param packages bnd's view of them, by name
 */
record ApiTree(String release, Map<String, String> versions, Map<String, Tree.Data> packages) {
  private static final String API = "<api>";

  /**
   * Reads the packages of bundles.
   *
   * @throws Exception if one of them cannot be read
   */
  static ApiTree of(String release, List<Path> bundles) throws Exception {
    Map<String, String> versions = new TreeMap<>();
    Map<String, Tree.Data> packages = new TreeMap<>();
    for (Path bundle : bundles) {
      try (Jar jar = new Jar(bundle.toFile())) {
        new Parameters(jar.getManifest().getMainAttributes().getValue(Constants.EXPORT_PACKAGE))
            .forEach(
                (name, attributes) ->
                    versions.put(
                        name, attributes.getOrDefault(Constants.VERSION_ATTRIBUTE, "0.0.0")));
        for (Tree each : new DiffPluginImpl().tree(jar).get(API).getChildren()) {
          if (each.getType() == Type.PACKAGE) {
            packages.put(each.getName(), pruned(each.serialize()));
          }
        }
      }
    }
    return new ApiTree(release, versions, packages);
  }

  /** Returns it as bnd compares it. */
  Tree tree() throws Exception {
    Tree.Data api = data(Type.API, API, Delta.CHANGED, Delta.CHANGED);
    api.children = packages.values().toArray(Tree.Data[]::new);
    Tree.Data root = data(Type.BUNDLE, "platform", Delta.CHANGED, Delta.CHANGED);
    root.children = new Tree.Data[] {api};
    return new DiffPluginImpl().deserialize(root);
  }

  /** Returns the versions as bnd reads them. */
  Parameters exports() {
    return new Parameters(
        versions.entrySet().stream()
            .map(each -> each.getKey() + ";version=" + each.getValue())
            .collect(Collectors.joining(",")));
  }

  /** Leaves out of a type what it has from the JDK, which is another one at another time. */
  private static Tree.Data pruned(Tree.Data node) {
    Tree.Data[] children = node.children == null ? new Tree.Data[0] : node.children;
    Set<String> inherited = new HashSet<>();
    if (Stream.of(Type.CLASS, Type.ENUM, Type.INTERFACE).anyMatch(node.type::equals)) {
      inherited.addAll(methods("java.lang.Object"));
      Arrays.stream(children)
          .filter(each -> each.type == Type.EXTENDS || each.type == Type.IMPLEMENTS)
          .forEach(each -> inherited.addAll(methods(each.name)));
    }
    node.children =
        Arrays.stream(children)
            .filter(each -> each.type != Type.METHOD || !inherited.contains(each.name))
            .map(ApiTree::pruned)
            .toArray(Tree.Data[]::new);
    return node;
  }

  /** Returns the methods of a type of the JDK, as bnd writes them; none of any other type. */
  private static Set<String> methods(String type) {
    if (!type.startsWith("java.")) {
      return Set.of();
    }
    try {
      Set<String> methods = new HashSet<>();
      for (Class<?> at = Class.forName(type); at != null; at = at.getSuperclass()) {
        Stream.of(at.getMethods(), at.getDeclaredMethods())
            .flatMap(Arrays::stream)
            .map(ApiTree::written)
            .forEach(methods::add);
      }
      return methods;
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("the JDK has no " + type + ", which an API names", e);
    }
  }

  private static String written(Method method) {
    return Arrays.stream(method.getParameterTypes())
        .map(Class::getTypeName)
        .collect(Collectors.joining(",", method.getName() + "(", ")"));
  }

  // ---- as a file: a line for the release, then one for each version and each node

  /** Writes it to a file. */
  void write(Path file) throws IOException {
    try (Writer out =
        new OutputStreamWriter(
            new GZIPOutputStream(Files.newOutputStream(file)), StandardCharsets.UTF_8)) {
      out.write(release + '\n');
      for (Map.Entry<String, Tree.Data> each : packages.entrySet()) {
        out.write(versions.get(each.getKey()) + '\n');
        write(out, each.getValue(), 1);
      }
    }
  }

  private static void write(Writer out, Tree.Data node, int depth) throws IOException {
    // The name of a constant is its value, which may have lines.
    String name = node.name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r");
    out.write("%s%s %s %s %s\n".formatted(" ".repeat(depth), node.type, node.add, node.rem, name));
    Tree.Data[] children = node.children.clone();
    Arrays.sort(children, Comparator.comparing(each -> each.type + " " + each.name));
    for (Tree.Data each : children) {
      write(out, each, depth + 1);
    }
  }

  /** Reads what {@link #write} has written. */
  static ApiTree read(Path file) throws IOException {
    Map<String, String> versions = new TreeMap<>();
    Map<String, Tree.Data> packages = new TreeMap<>();
    try (BufferedReader in =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(Files.newInputStream(file)), StandardCharsets.UTF_8))) {
      String release = in.readLine();
      String version = "";
      List<Node> path = new ArrayList<>();
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        int depth = (int) line.chars().takeWhile(c -> c == ' ').count();
        closed(path, depth);
        if (depth == 0) {
          version = line;
          continue;
        }
        Node node = new Node(parsed(line.substring(depth)), new ArrayList<>());
        if (depth == 1) {
          versions.put(node.data.name, version);
          packages.put(node.data.name, node.data);
        } else {
          path.getLast().children.add(node.data);
        }
        path.add(node);
      }
      closed(path, 0);
      return new ApiTree(release, versions, packages);
    }
  }

  /** A node whose children are being read. */
  private record Node(Tree.Data data, List<Tree.Data> children) {}

  /** Ends the nodes that a line of this depth is no part of. */
  private static void closed(List<Node> path, int depth) {
    while (path.size() >= Math.max(depth, 1)) {
      Node last = path.removeLast();
      last.data.children = last.children.toArray(Tree.Data[]::new);
    }
  }

  private static Tree.Data parsed(String line) {
    String[] parts = line.split(" ", 4);
    return data(
        Type.valueOf(parts[0]),
        parts[3].translateEscapes(),
        Delta.valueOf(parts[1]),
        Delta.valueOf(parts[2]));
  }

  private static Tree.Data data(Type type, String name, Delta add, Delta rem) {
    Tree.Data data = new Tree.Data();
    data.type = type;
    data.name = name;
    data.add = add;
    data.rem = rem;
    return data;
  }
}
