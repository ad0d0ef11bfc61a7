package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.base.config.DidYouMean;
import dev.polis.curator.record.PluginRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.Digest;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Holds a plugin that a caller wants in a scope, and checks it against the cluster's records.
 *
 * @param scope the nodes that should run the plugin
 * @param file the content of its manifest's file
 * @param manifest the parsed manifest
 * @param older true if the plugin may replace a newer version
 */
record PluginCandidate(PluginScope scope, ByteString file, PluginManifest manifest, boolean older) {

  /**
   * Reads and verifies the manifest. Each node verifies the manifest again, and also the bundle.
   *
   * @throws dev.polis.rpc.RpcException FAILED_PRECONDITION if nodes may not run a plugin with this
   *     manifest
   */
  static PluginCandidate verified(
      PluginScope scope, ByteString file, boolean older, TrustRoots roots, PluginRecords records) {
    byte[] bytes = file.toByteArray();
    try {
      Set<Digest> distribution =
          switch (ManifestEnvelope.decode(bytes)) {
            case SignedManifest signed -> Set.of();
            case DistributionManifest given -> reported(given, records);
          };
      PluginManifest manifest =
          new PluginVerifier(PlatformVersion.current(), distribution)
              .verifyManifest(bytes, roots)
              .manifest();
      return new PluginCandidate(scope, file, manifest, older);
    } catch (PluginRefusedException e) {
      throw Refusal.precondition("%s", e.getMessage());
    }
  }

  /**
   * Returns the manifest in the form for the verifier if a node reports that its distribution has
   * the bundle. Such a bundle has no signature, but the cluster may want a node's own bundle.
   */
  private static Set<Digest> reported(DistributionManifest given, PluginRecords records)
      throws PluginRefusedException {
    String digest = given.content().digest().hex();
    boolean known =
        records.reports().stream()
            .flatMap(report -> report.getPluginsList().stream())
            .anyMatch(plugin -> plugin.getDistributionDigest().equals(digest));
    return known ? Set.of(given.digest()) : Set.of();
  }

  /**
   * Refuses a scope that does not exist, and a plugin that is older than the running one.
   *
   * @throws dev.polis.rpc.RpcException NOT_FOUND or FAILED_PRECONDITION
   */
  void require(PluginRecords records) {
    switch (scope.getKindCase()) {
      case EVERYWHERE, KIND_NOT_SET -> {}
      case ROLE -> requireRole(records);
      case NODE_ID -> requireNode(records);
    }
    if (!older) {
      records.reports().forEach(report -> requireNewer(report, records));
    }
  }

  private void requireRole(PluginRecords records) {
    SortedSet<String> known = new TreeSet<>();
    records
        .nodes()
        .forEach(node -> RoleRecord.names(node.getRoles()).forEach(role -> known.add(role.text())));
    known.add(RoleName.KUBERNETES_CONTROLLER.text());
    known.add(RoleName.KUBERNETES_WORKER.text());
    roles(manifest.provides()).forEach(known::add);
    for (WantedPlugin each : records.wanted()) {
      known.addAll(provided(each));
    }
    if (!known.contains(scope.getRole())) {
      throw Refusal.notFound(
          "no node has a role \"%s\", and no wanted plugin provides it%s",
          scope.getRole(), DidYouMean.among(scope.getRole(), known));
    }
  }

  private static List<String> provided(WantedPlugin wanted) {
    try {
      return roles(
          ManifestEnvelope.decode(wanted.getManifest().toByteArray()).content().provides());
    } catch (PluginRefusedException e) {
      // A newer curator accepted a manifest that this one does not understand, so this one reads no
      // role from it.
      return List.of();
    }
  }

  private static List<String> roles(List<Provided> provides) {
    return provides.stream().filter(Provided.Role.class::isInstance).map(Provided::name).toList();
  }

  private void requireNode(PluginRecords records) {
    if (records.nodes().stream().noneMatch(node -> node.getId().equals(scope.getNodeId()))) {
      throw Refusal.notFound(
          "there is no node %s in this cluster; list them first", scope.getNodeId());
    }
  }

  /** Refuses the plugin if the reporting node would run it and now runs a newer version. */
  private void requireNewer(PluginReport report, PluginRecords records) {
    String node = report.getNodeId();
    if (!decidesFor(node, records)) {
      return;
    }
    runs(report)
        .filter(now -> WantedPluginRules.isOlder(manifest.version().toString(), now))
        .ifPresent(
            now -> {
              throw Refusal.precondition(
                  "%s %s is older than %s, which runs on node %s; set older if you want the older version",
                  manifest.symbolicName(), manifest.version(), now, node);
            });
  }

  private Optional<String> runs(PluginReport report) {
    return report.getPluginsList().stream()
        .filter(plugin -> plugin.getSymbolicName().equals(manifest.symbolicName()))
        .map(ReportedPlugin::getVersion)
        .filter(version -> !version.isEmpty())
        .findFirst();
  }

  /** Returns whether this scope would determine the version on a node. */
  private boolean decidesFor(String node, PluginRecords records) {
    return switch (scope.getKindCase()) {
      case NODE_ID -> scope.getNodeId().equals(node);
      case ROLE -> records.hasRole(node, scope.getRole()) && !isPinned(node, records);
      case EVERYWHERE -> !isPinned(node, records) && !isOfRole(node, records);
      case KIND_NOT_SET -> false;
    };
  }

  private boolean isPinned(String node, PluginRecords records) {
    return others(records).anyMatch(each -> each.getScope().getNodeId().equals(node));
  }

  private boolean isOfRole(String node, PluginRecords records) {
    return others(records)
        .filter(each -> each.getScope().hasRole())
        .anyMatch(each -> records.hasRole(node, each.getScope().getRole()));
  }

  private Stream<WantedPlugin> others(PluginRecords records) {
    return records.wanted().stream()
        .filter(each -> each.getSymbolicName().equals(manifest.symbolicName()));
  }

  /** Returns the entry of the record. */
  WantedPlugin wanted(String who, long millis) {
    return WantedPlugin.newBuilder()
        .setScope(scope)
        .setSymbolicName(manifest.symbolicName())
        .setVersion(manifest.version().toString())
        .setDigest(manifest.digest().hex())
        .setManifest(file)
        .setOlder(older)
        .setWantedBy(who)
        .setWantedMillis(millis)
        .build();
  }
}
