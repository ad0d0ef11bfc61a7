package dev.polis.convergence;

import com.google.protobuf.ByteString;
import dev.polis.api.roles.RoleName;
import dev.polis.pki.NodeId;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.ReportedPlugin.Decision;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.osgi.framework.Version;

/**
 * Holds one plugin that the cluster wants on this node.
 *
 * @param plugin its name and version
 * @param decision the deciding scope: the node's own pin, one of its roles, or everywhere
 * @param scope the same as text, such as {@code on each node}
 * @param older true to accept it in place of a newer version
 * @param sinceMillis the time of the wish; it changes when an operator asks for another attempt
 * @param manifest the content of its manifest's file
 */
record Want(
    StoredPlugin plugin,
    Decision decision,
    String scope,
    boolean older,
    long sinceMillis,
    ByteString manifest) {

  /**
   * Orders the wants of one name by precedence: a pin over a role, a role over everywhere. Among
   * several roles the newest version decides, since its role may need the new features.
   */
  private static final Comparator<Want> DECIDES =
      Comparator.comparingInt((Want want) -> rank(want.decision()))
          .thenComparing(want -> Version.parseVersion(want.plugin().version()))
          .thenComparing(Want::scope, Comparator.reverseOrder());

  private static int rank(Decision decision) {
    return switch (decision) {
      case DECISION_NODE -> 3;
      case DECISION_ROLE -> 2;
      default -> 1;
    };
  }

  /**
   * Finds the plugins that the cluster wants on one node.
   *
   * @param all the wants of all nodes
   * @param self the node
   * @param roles its roles
   * @param malformed receives a line for each malformed entry, which is skipped
   * @return the wants by symbolic name
   */
  static SortedMap<String, Want> of(
      List<WantedPlugin> all, NodeId self, Set<RoleName> roles, Consumer<String> malformed) {
    SortedMap<String, Want> wants = new TreeMap<>();
    for (WantedPlugin each : all) {
      try {
        of(each, self, roles)
            .ifPresent(
                want ->
                    wants.merge(
                        want.plugin().symbolicName(),
                        want,
                        (one, other) -> DECIDES.compare(one, other) >= 0 ? one : other));
      } catch (IllegalArgumentException e) {
        malformed.accept(
            "the node ignores the wanted plugin \"%s\": %s"
                .formatted(each.getSymbolicName(), e.getMessage()));
      }
    }
    return Collections.unmodifiableSortedMap(wants);
  }

  private static Optional<Want> of(WantedPlugin wanted, NodeId self, Set<RoleName> roles) {
    PluginScope scope = wanted.getScope();
    return switch (scope.getKindCase()) {
      case EVERYWHERE -> Optional.of(want(wanted, Decision.DECISION_EVERYWHERE, "on each node"));
      case ROLE ->
          roles.stream().anyMatch(role -> role.text().equals(scope.getRole()))
              ? Optional.of(
                  want(wanted, Decision.DECISION_ROLE, "on nodes with the role " + scope.getRole()))
              : Optional.empty();
      case NODE_ID ->
          scope.getNodeId().equals(self.text())
              ? Optional.of(want(wanted, Decision.DECISION_NODE, "on this node"))
              : Optional.empty();
      case KIND_NOT_SET ->
          throw new IllegalArgumentException("this node does not know the kind of its scope");
    };
  }

  private static Want want(WantedPlugin wanted, Decision decision, String scope) {
    // Fails here for an invalid version, where the exception is caught.
    Version.parseVersion(wanted.getVersion());
    return new Want(
        new StoredPlugin(
            wanted.getSymbolicName(), wanted.getVersion(), new Digest(wanted.getDigest())),
        decision,
        scope,
        wanted.getOlder(),
        wanted.getWantedMillis(),
        wanted.getManifest());
  }

  /** Returns the plugin's name and version for people. */
  String label() {
    return plugin.symbolicName() + " " + plugin.version();
  }
}
