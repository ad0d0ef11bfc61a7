package dev.polis.ctl.plugin;

import com.google.protobuf.ByteString;
import dev.polis.base.config.DidYouMean;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Finds the plugin that a person names, among those that the cluster wants or its nodes have. */
final class PluginChoice {
  /** Shorter beginnings of digests may be versions. */
  private static final Pattern DIGEST = Pattern.compile("[0-9a-f]{8,64}");

  private final PluginSetView view;
  private final String name;
  private final String which;

  /**
   * Reads the name.
   *
   * @param text {@code NAME}, {@code NAME@VERSION} or {@code NAME@DIGEST}
   */
  PluginChoice(PluginSetView view, String text) {
    int at = text.indexOf('@');
    this.view = view;
    this.name = at < 0 ? text : text.substring(0, at);
    this.which = at < 0 ? "" : text.substring(at + 1);
  }

  /**
   * Finds the one plugin that is meant.
   *
   * @param nodes whose present version is meant if none was named
   */
  PluginFile find(List<Node> nodes) {
    Map<String, PluginFile> known = known();
    if (known.isEmpty()) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "neither the cluster nor a node knows a plugin \"%s\"%s"
              .formatted(name, DidYouMean.among(name, view.names())));
    }
    List<PluginFile> meant =
        which.isEmpty() ? running(nodes) : known.values().stream().filter(this::isMeant).toList();
    if (meant.size() == 1) {
      return meant.getFirst();
    }
    throw new CtlException(
        meant.isEmpty() ? ExitCode.NOT_FOUND : ExitCode.FAILED,
        "%s; there are %s"
            .formatted(
                meant.isEmpty() ? absent() : "more than one is meant by " + label(),
                known.values().stream()
                    .map(
                        each ->
                            "%s@%s (digest %s)"
                                .formatted(name, each.getVersion(), each.getDigest()))
                    .collect(Collectors.joining(", "))));
  }

  private String absent() {
    return which.isEmpty()
        ? "it runs on none of the nodes, so name the version of " + name
        : "no node has " + label() + " any more, push it";
  }

  private String label() {
    return which.isEmpty() ? name : name + "@" + which;
  }

  private boolean isMeant(PluginFile file) {
    return file.getVersion().equals(which)
        || DIGEST.matcher(which).matches() && file.getDigest().startsWith(which);
  }

  private List<PluginFile> running(List<Node> nodes) {
    return nodes.stream()
        .flatMap(node -> view.reported(node.getId(), name).stream())
        .filter(plugin -> !plugin.getDigest().isEmpty())
        .map(plugin -> file(plugin.getVersion(), plugin.getDigest()))
        .distinct()
        .toList();
  }

  private PluginFile file(String version, String digest) {
    return PluginFile.newBuilder()
        .setSymbolicName(name)
        .setVersion(version)
        .setDigest(digest)
        .build();
  }

  /** Collects all versions of the plugin, by digest. */
  private Map<String, PluginFile> known() {
    List<PluginFile> all = new ArrayList<>();
    for (WantedPlugin each : view.set().getWantedList()) {
      if (each.getSymbolicName().equals(name)) {
        all.add(file(each.getVersion(), each.getDigest()));
      }
    }
    for (PluginReport report : view.set().getReportsList()) {
      report.getFilesList().stream()
          .filter(each -> each.getSymbolicName().equals(name))
          .forEach(all::add);
      for (ReportedPlugin each : report.getPluginsList()) {
        if (each.getSymbolicName().equals(name)) {
          all.add(file(each.getVersion(), each.getDigest()));
          all.add(file(each.getDistributionVersion(), each.getDistributionDigest()));
        }
      }
    }
    Map<String, PluginFile> known = new LinkedHashMap<>();
    all.stream()
        .filter(each -> !each.getDigest().isEmpty())
        .forEach(each -> known.putIfAbsent(each.getDigest(), each));
    return known;
  }

  /** Returns the content of a plugin's manifest, from the cluster or from a node that has it. */
  ByteString manifest(Session session, PluginFile file) throws InterruptedException {
    Optional<WantedPlugin> wanted =
        view.set().getWantedList().stream()
            .filter(each -> each.getDigest().equals(file.getDigest()))
            .findFirst();
    if (wanted.isPresent()) {
      return wanted.get().getManifest();
    }
    List<Place> holders =
        view.nodes().stream()
            .filter(node -> has(node, file) && !node.getStatus().getExternalAddress().isEmpty())
            .sorted(Comparator.comparing(node -> node.getHealth() != Node.Health.HEALTH_HEALTHY))
            .map(Place::of)
            .toList();
    if (holders.isEmpty()) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "no node that can be asked has %s %s; push it".formatted(name, file.getVersion()));
    }
    return session.call(() -> manifest(session, holders, file));
  }

  private boolean has(Node node, PluginFile file) {
    return view.report(node.getId()).stream()
        .flatMap(report -> report.getFilesList().stream())
        .anyMatch(each -> each.getDigest().equals(file.getDigest()));
  }

  /** Asks the nodes one after the other until one answers. */
  private static ByteString manifest(Session session, List<Place> holders, PluginFile file)
      throws StatusException, InterruptedException {
    for (Place holder : holders.subList(0, holders.size() - 1)) {
      try {
        return manifest(session, holder, file);
      } catch (StatusException away) {
        // The next one has the same file.
        continue;
      }
    }
    return manifest(session, holders.getLast(), file);
  }

  private static ByteString manifest(Session session, Place place, PluginFile file)
      throws StatusException, InterruptedException {
    BlockingClientCall<?, FetchResponse> call =
        session.plugins(place).fetch(FetchRequest.newBuilder().setDigest(file.getDigest()).build());
    try {
      FetchResponse first = call.read();
      if (first == null || first.getManifest().isEmpty()) {
        throw new CtlException(
            "the node at %s gives no manifest of %s; push the plugin again"
                .formatted(place.host(), file.getSymbolicName()));
      }
      return first.getManifest();
    } finally {
      call.cancel("the manifest is all that was wanted", null);
    }
  }
}
