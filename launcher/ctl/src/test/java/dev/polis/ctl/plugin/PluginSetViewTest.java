package dev.polis.ctl.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.GetPluginSetResponse;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.ReportedPlugin.Decision;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Checks the screens of wanted plugins, made from a curator's answers. */
class PluginSetViewTest {
  private static final String NAME = "org.example.backup";
  private static final String OLD = "a".repeat(64);
  private static final String NEW = "b".repeat(64);

  private static Node node(String id, String... roles) {
    return Node.newBuilder()
        .setId(id)
        .setRoles(RoleRecord.of(List.of(roles).stream().map(RoleName::new).toList()))
        .build();
  }

  private static WantedPlugin wanted(PluginScope scope, String version, String digest) {
    return WantedPlugin.newBuilder()
        .setScope(scope)
        .setSymbolicName(NAME)
        .setVersion(version)
        .setDigest(digest)
        .build();
  }

  private static PluginScope role(String role) {
    return PluginScope.newBuilder().setRole(role).build();
  }

  private static PluginReport report(String node, ReportedPlugin.Builder plugin) {
    return PluginReport.newBuilder()
        .setNodeId(node)
        .addPlugins(plugin.setSymbolicName(NAME))
        .addFiles(PluginFile.newBuilder().setSymbolicName(NAME).setVersion("1.0.0").setDigest(OLD))
        .build();
  }

  private static final List<Node> NODES = List.of(node("n1"), node("n2", "NightlyBackup"));

  private static PluginSetView view(List<WantedPlugin> wanted, PluginReport... reports) {
    return new PluginSetView(
        GetPluginSetResponse.newBuilder()
            .addAllWanted(wanted)
            .addAllReports(List.of(reports))
            .build(),
        NODES);
  }

  private static JsonObject row(PluginSetView view, String node) {
    return PluginSetRows.of(view, NODES, true).asList().stream()
        .map(each -> each.getAsJsonObject())
        .filter(each -> each.get("node").getAsString().equals(node))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aNodeDecidesOverItsRole_andThatOverEverywhere() {
    WantedPlugin everywhere = wanted(PluginScopeOptions.anywhere(), "1.0.0", OLD);
    WantedPlugin backup = wanted(role("NightlyBackup"), "2.0.0", NEW);
    WantedPlugin pin = wanted(PluginScope.newBuilder().setNodeId("n2").build(), "1.0.0", OLD);

    PluginSetView roles = view(List.of(everywhere, backup));
    assertEquals(List.of("n1"), roles.decidedBy(everywhere).stream().map(Node::getId).toList());
    assertEquals(List.of("n2"), roles.decidedBy(backup).stream().map(Node::getId).toList());
    PluginSetView pinned = view(List.of(everywhere, backup, pin));
    assertEquals(List.of(), pinned.decidedBy(backup));
    assertEquals("node n2", row(pinned, "n2").get("decidedBy").getAsString());
  }

  @Test
  void push_thatNoNodeRuns_namesTheNextCommand() {
    String backup = PluginFollow.withoutNodes(role("NightlyBackup"));
    assertTrue(backup.contains("\"node role add NODE NightlyBackup\" gives the role"), backup);
    String everywhere = PluginFollow.withoutNodes(PluginScopeOptions.anywhere());
    assertTrue(everywhere.contains("\"plugin diff\" shows which"), everywhere);
    assertFalse(everywhere.contains("role add"), everywhere);
  }

  @Test
  void diff_saysWhatRunsWhatIsWantedWhoDecidesAndWhyNot() {
    WantedPlugin everywhere = wanted(PluginScopeOptions.anywhere(), "2.0.0", NEW);
    ReportedPlugin.Builder failed =
        ReportedPlugin.newBuilder()
            .setVersion("1.0.0")
            .setDigest(OLD)
            .setWantedDigest(NEW)
            .setDecision(Decision.DECISION_EVERYWHERE)
            .setFailed(true)
            .setWhyNot("nothing answers on port 1");

    PluginSetView view = view(List.of(everywhere), report("n1", failed));

    JsonObject told = row(view, "n1");
    assertEquals("1.0.0", told.get("runs").getAsString());
    assertEquals("2.0.0", told.get("wants").getAsString());
    assertEquals("everywhere", told.get("decidedBy").getAsString());
    assertEquals("nothing answers on port 1", told.get("whyNot").getAsString());
    assertFalse(told.get("asWanted").getAsBoolean());
    JsonObject silent = row(view, "n2");
    assertEquals("the node has not reported its plugins yet", silent.get("whyNot").getAsString());
    assertFalse(silent.get("asWanted").getAsBoolean());
  }

  @Test
  void diff_showsADifferenceToTheDistributionOnly_unlessAllIsAskedFor() {
    ReportedPlugin.Builder shipped =
        ReportedPlugin.newBuilder()
            .setVersion("1.0.0")
            .setDigest(OLD)
            .setDecision(Decision.DECISION_DISTRIBUTION)
            .setDistributionVersion("1.0.0")
            .setDistributionDigest(OLD);
    PluginSetView same = view(List.of(), report("n1", shipped.clone()));
    assertEquals(new JsonArray(), PluginSetRows.of(same, NODES.subList(0, 1), false));
    assertTrue(PluginSetRows.areAsWanted(PluginSetRows.of(same, NODES, true)));

    PluginSetView swapped =
        view(
            List.of(),
            report(
                "n1",
                shipped.setVersion("2.0.0").setDigest(NEW).setDecision(Decision.DECISION_BY_HAND)));
    JsonArray rows = PluginSetRows.of(swapped, NODES.subList(0, 1), false);
    assertEquals("by hand", rows.get(0).getAsJsonObject().get("decidedBy").getAsString());
    assertTrue(PluginSetRows.areAsWanted(rows));
  }

  @Test
  void diff_ofASilentNode_saysThatItTakesThePluginWhenItIsBack() {
    Node silent = node("n1").toBuilder().setHealth(Node.Health.HEALTH_HEARTBEAT_TIMEOUT).build();
    PluginSetView view =
        view(
            List.of(wanted(PluginScopeOptions.anywhere(), "2.0.0", NEW)),
            report("n1", ReportedPlugin.newBuilder().setVersion("1.0.0").setDigest(OLD)));

    String away = whyNot(view, silent);
    assertEquals("the node is silent; it takes the plugin when it is back", away);
    assertEquals("the node does not know of it yet", whyNot(view, node("n1")));
  }

  private static String whyNot(PluginSetView view, Node node) {
    return PluginSetRows.of(view, List.of(node), true)
        .get(0)
        .getAsJsonObject()
        .get("whyNot")
        .getAsString();
  }

  @Test
  void pin_findsAVersionAmongWhatIsWantedRunsOrLiesOnANode() {
    PluginSetView view =
        view(
            List.of(wanted(PluginScopeOptions.anywhere(), "2.0.0", NEW)),
            report("n1", ReportedPlugin.newBuilder().setVersion("2.0.0").setDigest(NEW)));

    assertEquals(OLD, new PluginChoice(view, NAME + "@1.0.0").find(NODES).getDigest());
    assertEquals(NEW, new PluginChoice(view, NAME + "@bbbbbbbbbbbb").find(NODES).getDigest());
    assertEquals(NEW, new PluginChoice(view, NAME).find(NODES).getDigest());
  }

  @Test
  void pin_refusesWhatNobodyHas_withWhatThereIs() {
    PluginSetView view =
        view(
            List.of(),
            report("n1", ReportedPlugin.newBuilder().setVersion("1.0.0").setDigest(OLD)));

    assertTrue(refused(view, "org.example.bakcup").contains("did you mean \"" + NAME + "\"?"));
    String version = refused(view, NAME + "@3.0.0");
    assertTrue(version.contains("no node has " + NAME + "@3.0.0 any more, push it"), version);
    assertTrue(version.contains(NAME + "@1.0.0 (digest " + OLD + ")"), version);
  }

  private static String refused(PluginSetView view, String name) {
    CtlException refusal =
        assertThrows(CtlException.class, () -> new PluginChoice(view, name).find(NODES));
    assertEquals(ExitCode.NOT_FOUND, refusal.exitCode());
    return refusal.getMessage();
  }
}
