package dev.polis.convergence;

import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.store.PluginOrigin;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.ReportedPlugin.Decision;
import java.util.Comparator;
import java.util.Optional;
import java.util.TreeSet;

/** Makes the report of the running, wanted and missing plugins for the cluster's record. */
final class PluginReports {
  /** The longest reason in characters of at most three bytes; the curator accepts 4 KiB. */
  private static final int LONGEST_REASON = 1024;

  private PluginReports() {}

  /** Makes the report of a node. */
  static PluginReport of(LocalInventory inventory, Progress progress) {
    PluginReport.Builder report = PluginReport.newBuilder().setGeneration(inventory.generation());
    TreeSet<String> names = new TreeSet<>(progress.wants().keySet());
    inventory.running().forEach(plugin -> names.add(plugin.symbolicName()));
    inventory.distribution().forEach(plugin -> names.add(plugin.symbolicName()));
    names.forEach(name -> report.addPlugins(plugin(name, inventory, progress)));
    inventory.files().stream()
        .map(
            file ->
                PluginFile.newBuilder()
                    .setSymbolicName(file.symbolicName())
                    .setVersion(file.version())
                    .setDigest(file.digest().hex())
                    .build())
        .sorted(
            Comparator.comparing(PluginFile::getSymbolicName).thenComparing(PluginFile::getDigest))
        .forEach(report::addFiles);
    return report.build();
  }

  private static ReportedPlugin plugin(String name, LocalInventory inventory, Progress progress) {
    ReportedPlugin.Builder plugin = ReportedPlugin.newBuilder().setSymbolicName(name);
    Optional<StoredPlugin> running = inventory.running(name);
    running.ifPresent(each -> plugin.setVersion(each.version()).setDigest(each.digest().hex()));
    inventory
        .distribution(name)
        .ifPresent(
            own ->
                plugin
                    .setDistributionVersion(own.version())
                    .setDistributionDigest(own.digest().hex()));
    Optional<Want> want = Optional.ofNullable(progress.wants().get(name));
    Optional<StoredPlugin> wanted =
        want.isPresent()
            ? wanted(plugin, want.get(), inventory)
            : unwanted(plugin, name, inventory);
    wanted.ifPresent(
        each -> plugin.setWantedVersion(each.version()).setWantedDigest(each.digest().hex()));
    if (plugin.getWhyNot().isEmpty() && !running.equals(wanted)) {
      plugin
          .setWhyNot(
              shortened(progress.whyNot().getOrDefault(name, "the node has not reached it yet")))
          .setFailed(progress.failed().contains(name));
    }
    return plugin.build();
  }

  /** Shortens a reason that would make the curator refuse the whole report. */
  private static String shortened(String reason) {
    return reason.length() <= LONGEST_REASON ? reason : reason.substring(0, LONGEST_REASON) + "…";
  }

  private static Optional<StoredPlugin> wanted(
      ReportedPlugin.Builder plugin, Want want, LocalInventory inventory) {
    boolean runs =
        inventory.running(want.plugin().symbolicName()).filter(want.plugin()::equals).isPresent();
    if (!runs && Step.isOverruled(inventory, want)) {
      plugin
          .setDecision(Decision.DECISION_BY_HAND)
          .setWhyNot(
              "an operator has overruled the cluster on this node; it stays so until the cluster wants another version");
    } else {
      plugin.setDecision(want.decision());
    }
    return Optional.of(want.plugin());
  }

  private static Optional<StoredPlugin> unwanted(
      ReportedPlugin.Builder plugin, String name, LocalInventory inventory) {
    Optional<StoredPlugin> running = inventory.running(name);
    Optional<StoredPlugin> own = inventory.distribution(name);
    boolean brought =
        inventory.origin(name).filter(PluginOrigin.FromCluster.class::isInstance).isPresent();
    if (running.equals(own) || brought) {
      plugin.setDecision(Decision.DECISION_DISTRIBUTION);
      return own;
    }
    plugin.setDecision(Decision.DECISION_BY_HAND);
    return running;
  }
}
