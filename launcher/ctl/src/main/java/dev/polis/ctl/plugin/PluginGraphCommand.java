package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.GraphBundle;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.PackageWire;
import dev.polis.wire.plugins.ServiceUse;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Shows how the plugins of a running node use each other. */
@Command(
    name = "graph",
    description = {
      "Shows the provider and the users of each service of a running node, and what happens to a user when the provider"
          + " is replaced; then the packages that each plugin gets from others.",
      "-o wide names the packages; -o dot draws the services, for Graphviz: ... | dot -Tsvg"
    },
    mixinStandardHelpOptions = true)
public final class PluginGraphCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "NAME",
      description =
          "a plugin, an organ or a role: shows only its dependencies; all if none is named")
  String name = "";

  @Option(names = "--platform", description = "the services too that the platform provides")
  boolean platform;

  @Override
  public Integer call() throws InterruptedException {
    GraphRequest request = GraphRequest.newBuilder().setName(name).setPlatform(platform).build();
    try (Session session = Session.open(plugin.ctl.options)) {
      Graph graph = new Graph(session.call(() -> session.bundles().graph(request)));
      PrintWriter out = spec.commandLine().getOut();
      switch (plugin.ctl.options.output) {
        case table, wide -> print(graph, out);
        case json, yaml -> plugin.ctl.options.output.print(Document.single(graph.json()), out);
        case dot -> out.print(graph.dot());
      }
      out.flush();
      return ExitCode.OK.code();
    }
  }

  private void print(Graph graph, PrintWriter out) {
    Output output = plugin.ctl.options.output;
    output.print(
        Document.rows(
            graph.services(),
            Column.of("PROVIDER", "provider"),
            new Column("SERVICE", Graph::service, false),
            Column.of("USER", "user"),
            Column.of("IF THE PROVIDER IS REPLACED, THE USER", "whenReplaced"),
            Column.of("TROUBLE", "trouble"),
            Column.wide("COMPONENT", "component")),
        out);
    out.println();
    output.print(
        Document.rows(
            graph.packages(),
            Column.of("BUNDLE", "user"),
            Column.of("HAS PACKAGES FROM", "provider"),
            Column.of("PACKAGES", "count"),
            Column.wide("NAMES", "names")),
        out);
  }

  /** Turns the answer of the node into rows and into lines of a drawing. */
  private static final class Graph {
    private final GraphResponse response;
    private final Map<Long, GraphBundle> bundles;

    Graph(GraphResponse response) {
      this.response = response;
      this.bundles =
          response.getBundlesList().stream()
              .collect(Collectors.toMap(GraphBundle::getBundleId, Function.identity()));
    }

    private String name(long number) {
      GraphBundle bundle = bundles.get(number);
      return bundle == null
          ? "bundle " + number
          : bundle.getSymbolicName() + " " + bundle.getVersion();
    }

    static String service(JsonObject row) {
      String type = simple(row.get("service").getAsString());
      String detail = row.get("detail").getAsString();
      return detail.isEmpty() ? type : detail;
    }

    private static String simple(String type) {
      return type.substring(type.lastIndexOf('.') + 1);
    }

    JsonArray services() {
      JsonArray rows = new JsonArray();
      response.getServicesList().forEach(use -> rows.add(row(use)));
      return rows;
    }

    private JsonObject row(ServiceUse use) {
      JsonObject row = new JsonObject();
      row.addProperty("provider", use.hasProvider() ? name(use.getProvider()) : "nobody");
      row.addProperty("service", use.getService());
      row.addProperty("detail", use.getDetail());
      row.addProperty("user", use.hasUser() ? name(use.getUser()) : "nobody");
      row.addProperty("component", use.getComponent());
      row.addProperty("mandatory", use.getMandatory());
      row.addProperty("whenReplaced", words(use));
      row.addProperty("waitingCalls", use.getWaitingCalls());
      row.addProperty("trouble", trouble(use));
      return row;
    }

    private static String trouble(ServiceUse use) {
      return use.getWaitingCalls() == 0
          ? use.getStanding()
          : "%d calls wait: %s".formatted(use.getWaitingCalls(), use.getStanding());
    }

    private static String words(ServiceUse use) {
      return switch (use.getWhenReplaced()) {
        case WHEN_REPLACED_FOLLOWS -> "continues with the successor, behind a proxy";
        case WHEN_REPLACED_REBINDS -> "continues, and gets the successor";
        case WHEN_REPLACED_STOPS -> "is deactivated, and comes back with the successor";
        case WHEN_REPLACED_TRACKS -> "looks after it by its own code";
        case WHEN_REPLACED_NOBODY -> "no plugin uses it at present";
        case WHEN_REPLACED_NEVER -> "stands still: it belongs to the platform";
        case WHEN_REPLACED_HOLDS -> "makes new calls wait for the successor, and ends streams";
        case WHEN_REPLACED_UNKNOWN, UNRECOGNIZED -> "";
      };
    }

    JsonArray packages() {
      JsonArray rows = new JsonArray();
      Map<Long, Map<Long, List<PackageWire>>> byUser =
          response.getWiresList().stream()
              .collect(
                  Collectors.groupingBy(
                      PackageWire::getUser,
                      TreeMap::new,
                      Collectors.groupingBy(
                          PackageWire::getProvider, TreeMap::new, Collectors.toList())));
      byUser.forEach(
          (user, providers) ->
              providers.forEach((provider, wires) -> rows.add(row(user, provider, wires))));
      return rows;
    }

    private JsonObject row(long user, long provider, List<PackageWire> wires) {
      JsonObject row = new JsonObject();
      row.addProperty("user", name(user));
      row.addProperty("provider", provider == 0 ? "the class path" : name(provider));
      row.addProperty("count", wires.size());
      JsonArray names = new JsonArray();
      wires.forEach(wire -> names.add(wire.getName() + " " + wire.getVersion()));
      row.add("names", names);
      return row;
    }

    JsonObject json() {
      JsonArray rows = new JsonArray();
      for (GraphBundle bundle : response.getBundlesList()) {
        JsonObject row = new JsonObject();
        row.addProperty("name", bundle.getSymbolicName());
        row.addProperty("version", bundle.getVersion());
        row.addProperty("state", WireName.shortened(bundle.getState()));
        JsonArray provides = new JsonArray();
        bundle.getProvidesList().forEach(provides::add);
        row.add("provides", provides);
        rows.add(row);
      }
      JsonObject graph = new JsonObject();
      graph.add("bundles", rows);
      graph.add("services", services());
      graph.add("packages", packages());
      return graph;
    }

    /** Draws an arrow from each user to its provider. */
    String dot() {
      List<String> lines = new ArrayList<>();
      lines.add("digraph plugins {");
      lines.add("  rankdir=LR; node [shape=box];");
      response.getServicesList().stream()
          .flatMap(use -> ends(use).stream())
          .distinct()
          .sorted()
          .forEach(end -> lines.add("  " + end));
      response.getServicesList().stream()
          .filter(ServiceUse::hasUser)
          .map(this::arrow)
          .distinct()
          .forEach(arrow -> lines.add("  " + arrow));
      lines.add("}");
      return String.join("\n", lines) + "\n";
    }

    private List<String> ends(ServiceUse use) {
      List<String> ends = new ArrayList<>();
      if (use.hasProvider()) {
        ends.add(end(use.getProvider()));
      }
      if (use.hasUser()) {
        ends.add(end(use.getUser()));
      }
      return ends;
    }

    private String end(long number) {
      GraphBundle bundle = bundles.getOrDefault(number, GraphBundle.getDefaultInstance());
      boolean plugin = bundle.getProvidesCount() > 0;
      return "\"%s\"%s;"
          .formatted(name(number), plugin ? " [style=filled, fillcolor=lightblue]" : "");
    }

    private String arrow(ServiceUse use) {
      String style =
          switch (use.getWhenReplaced()) {
            case WHEN_REPLACED_FOLLOWS -> "";
            case WHEN_REPLACED_STOPS -> ", style=bold";
            case WHEN_REPLACED_UNKNOWN -> ", style=dashed, color=red";
            default -> ", style=dashed";
          };
      String provider = use.hasProvider() ? name(use.getProvider()) : "nobody";
      String service = use.getDetail().isEmpty() ? simple(use.getService()) : use.getDetail();
      return "\"%s\" -> \"%s\" [label=\"%s\"%s];"
          .formatted(name(use.getUser()), provider, service, style);
    }
  }
}
