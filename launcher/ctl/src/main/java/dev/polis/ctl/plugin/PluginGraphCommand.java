package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.plugins.GraphBundle;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.PackageWire;
import dev.polis.wire.plugins.ServiceUse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows how the plugins of a running node use each other. */
@Command(
    name = "graph",
    description = {
      "Shows the provider and the users of each service of a running node, and what happens to a user when the provider"
          + " is replaced; then the packages that each plugin gets from others.",
      "-o wide names the packages; -o dot draws the services, for Graphviz: ... | dot -Tsvg"
    })
public final class PluginGraphCommand extends SessionCommand {

  @Parameters(
      arity = "0..1",
      paramLabel = "NAME",
      description =
          "a plugin, an organ or a role: shows only its dependencies; all if none is named")
  String name = "";

  @Option(names = "--platform", description = "the services too that the platform provides")
  boolean platform;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    GraphRequest request = GraphRequest.newBuilder().setName(name).setPlatform(platform).build();
    Graph graph = new Graph(session.call(() -> session.bundles().graph(request)));
    switch (options().output) {
      case table, wide -> {
        print(graph.services());
        out().println();
        print(graph.packages());
      }
      case json, yaml -> print(Document.single(graph.json()));
      case dot -> out().print(graph.dot());
    }
    out().flush();
    return ExitCode.OK;
  }

  /** Turns the answer of the node into rows and into lines of a drawing. */
  private static final class Graph {
    private static final String NOBODY = "nobody";

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

    Document services() {
      return new Rows<ServiceUse>()
          .column("PROVIDER", "provider", this::provider)
          .field("service", ServiceUse::getService)
          .field("detail", ServiceUse::getDetail)
          .column(new Column("SERVICE", Graph::service, false))
          .column("USER", "user", use -> use.hasUser() ? name(use.getUser()) : NOBODY)
          .field("component", ServiceUse::getComponent)
          .field("mandatory", ServiceUse::getMandatory)
          .column("IF THE PROVIDER IS REPLACED, THE USER", "whenReplaced", Graph::words)
          .field("waitingCalls", ServiceUse::getWaitingCalls)
          .column("TROUBLE", "trouble", Graph::trouble)
          .column(Column.wide("COMPONENT", "component"))
          .document(response.getServicesList());
    }

    private String provider(ServiceUse use) {
      return use.hasProvider() ? name(use.getProvider()) : NOBODY;
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

    /** Returns a row for each pair of a user and a provider, by their numbers. */
    Document packages() {
      Map<Long, Map<Long, List<PackageWire>>> byUser =
          response.getWiresList().stream()
              .collect(
                  Collectors.groupingBy(
                      PackageWire::getUser,
                      TreeMap::new,
                      Collectors.groupingBy(
                          PackageWire::getProvider, TreeMap::new, Collectors.toList())));
      return new Rows<List<PackageWire>>()
          .column("BUNDLE", "user", wires -> name(wires.getFirst().getUser()))
          .column("HAS PACKAGES FROM", "provider", wires -> provider(wires.getFirst()))
          .column("PACKAGES", "count", List::size)
          .wide("NAMES", "names", Graph::names)
          .document(byUser.values().stream().flatMap(each -> each.values().stream()).toList());
    }

    private String provider(PackageWire wire) {
      return wire.getProvider() == 0 ? "the class path" : name(wire.getProvider());
    }

    private static List<String> names(List<PackageWire> wires) {
      return wires.stream().map(wire -> wire.getName() + " " + wire.getVersion()).toList();
    }

    JsonObject json() {
      Rows<GraphBundle> rows =
          new Rows<GraphBundle>()
              .field("name", GraphBundle::getSymbolicName)
              .field("version", GraphBundle::getVersion)
              .field("state", bundle -> WireName.shortened(bundle.getState()))
              .field("provides", GraphBundle::getProvidesList);
      JsonObject graph = new JsonObject();
      graph.add("bundles", rows.json(response.getBundlesList()));
      graph.add("services", services().body());
      graph.add("packages", packages().body());
      return graph;
    }

    /** Draws an arrow from each user to its provider. */
    String dot() {
      List<String> lines = new ArrayList<>();
      lines.add("digraph plugins {");
      lines.add("  rankdir=LR; node [shape=box];");
      response.getServicesList().stream()
          .flatMap(this::ends)
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

    private Stream<String> ends(ServiceUse use) {
      return Stream.concat(
          use.hasProvider() ? Stream.of(end(use.getProvider())) : Stream.empty(),
          use.hasUser() ? Stream.of(end(use.getUser())) : Stream.empty());
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
      String service = use.getDetail().isEmpty() ? simple(use.getService()) : use.getDetail();
      return "\"%s\" -> \"%s\" [label=\"%s\"%s];"
          .formatted(name(use.getUser()), provider(use), service, style);
    }
  }
}
