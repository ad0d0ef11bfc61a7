package dev.polis.plugins.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BootPlanTest {
  private static final String EXTENDER =
      "osgi.extender;filter:=\"(&(osgi.extender=osgi.component)(version>=1.5.0)(!(version>=2.0.0)))\"";
  private static final BundleManifest SCR =
      bundle(
          "org.apache.felix.scr",
          "osgi.extender;osgi.extender=\"osgi.component\";version:Version=\"1.5\"",
          "",
          "");
  private static final BundleManifest STORAGE = organ("storage", "", "Storage");
  private static final BundleManifest NETWORK = organ("network", "", "Network");
  private static final BundleManifest CONSENSUS =
      organ("consensus", "Storage,Network", "Consensus");
  private static final BundleManifest CURATOR = organ("curator", "Consensus", "Curator");

  @Test
  @DisplayName("Independent branches share a level, and a needed bundle is one level earlier")
  void levelsFollowNeeds() throws Exception {
    BootPlan plan =
        BootPlan.of(
            List.of(CURATOR, CONSENSUS, NETWORK, STORAGE, SCR), List.of(Offer.service("Report")));

    assertEquals(
        List.of(List.of(SCR), List.of(NETWORK, STORAGE), List.of(CONSENSUS), List.of(CURATOR)),
        plan.levels());
  }

  @Test
  @DisplayName(
      "The follower starts before all users of followed contracts, and provides nothing itself")
  void followerStartsBeforeUsers() throws Exception {
    BundleManifest following =
        bundle("dev.polis.handover", "osgi.extender;osgi.extender=polis.following", EXTENDER, "");
    BundleManifest outside =
        bundle("org.example.api", "polis.followed;objectClass=dev.polis.api.Network", "", "");
    List<Offer> given =
        List.of(
            Offer.service("Report"),
            Offer.parse("polis.followed;objectClass=dev.polis.api.Consensus").getFirst());

    BootPlan plan =
        BootPlan.of(List.of(CURATOR, CONSENSUS, NETWORK, STORAGE, following, outside, SCR), given);

    assertEquals(
        List.of(
            List.of(SCR, outside),
            List.of(following, NETWORK, STORAGE),
            List.of(CONSENSUS),
            List.of(CURATOR)),
        plan.levels());
    List<String> proxies =
        plan.text().lines().filter(line -> line.contains("proxy of")).map(String::strip).toList();
    assertEquals(
        List.of(
            "proxy of service dev.polis.api.Network  from dev.polis.handover",
            "proxy of service dev.polis.api.Consensus  from dev.polis.handover"),
        proxies);
    BootPlanException refusal =
        assertThrows(
            BootPlanException.class, () -> BootPlan.of(List.of(CURATOR, following, SCR), given));
    assertTrue(
        refusal.getMessage().contains("needs the service dev.polis.api.Consensus"),
        refusal.getMessage());
  }

  @Test
  @DisplayName("The text names each need and its provider")
  void textNamesNeeds() throws Exception {
    String text =
        BootPlan.of(List.of(CONSENSUS, NETWORK, STORAGE, SCR), List.of(Offer.service("Report")))
            .text();

    assertTrue(text.contains("service dev.polis.api.Storage  from dev.polis.storage"), text);
    assertTrue(text.contains("extender osgi.component  from org.apache.felix.scr"), text);
  }

  @Test
  @DisplayName("The drawing has an arrow from each bundle to the bundles that it needs")
  void dotDrawsNeeds() throws Exception {
    String graph =
        BootPlan.of(List.of(CONSENSUS, NETWORK, STORAGE, SCR), List.of(Offer.service("Report")))
            .dot();

    assertTrue(graph.startsWith("digraph plan {"), graph);
    assertTrue(
        graph.contains("\"dev.polis.consensus\" -> \"dev.polis.storage\" [label=\"Storage\"]"),
        graph);
  }

  @Test
  @DisplayName("A removed bundle is reported missing by name, with the service and its users")
  void removedBundleIsMissed() {
    BootPlanException refusal =
        assertThrows(
            BootPlanException.class,
            () ->
                BootPlan.of(
                    List.of(CURATOR, CONSENSUS, NETWORK, SCR), List.of(Offer.service("Report"))));

    assertEquals(1, refusal.problems().size());
    String problem = refusal.problems().getFirst();
    assertTrue(
        problem.startsWith(
            "dev.polis.consensus needs the service dev.polis.api.Storage, which no bundle provides"),
        problem);
    assertTrue(problem.contains("make the reference in dev.polis.consensus optional"), problem);
  }

  @Test
  @DisplayName("A cycle is refused with every bundle and service in it, and no others")
  void circleIsRefused() {
    BundleManifest first = organ("first", "Third", "First");
    BundleManifest second = organ("second", "First", "Second");
    BundleManifest third = organ("third", "Second", "Third");
    BundleManifest beside = organ("beside", "Third", "Beside");

    BootPlanException refusal =
        assertThrows(
            BootPlanException.class,
            () ->
                BootPlan.of(
                    List.of(beside, first, second, third, SCR), List.of(Offer.service("Report"))));

    String problem = refusal.getMessage();
    assertTrue(
        problem.contains(
            "dev.polis.first needs the service dev.polis.api.Third of dev.polis.third"),
        problem);
    assertTrue(
        problem.contains(
            "dev.polis.second needs the service dev.polis.api.First of dev.polis.first"),
        problem);
    assertTrue(
        problem.contains(
            "dev.polis.third needs the service dev.polis.api.Second of dev.polis.second"),
        problem);
    assertTrue(!problem.contains("dev.polis.beside"), problem);
  }

  @Test
  @DisplayName("All faults are reported at once")
  void allProblemsAreTold() {
    BootPlanException refusal =
        assertThrows(
            BootPlanException.class, () -> BootPlan.of(List.of(CONSENSUS, SCR), List.of()));

    // The three faults are of the boot report, storage and network.
    assertEquals(3, refusal.problems().size(), refusal.getMessage());
  }

  @Test
  @DisplayName(
      "An optional need has no effect on the order and may be missing; a bundle meets its own needs")
  void optionalAndOwnNeeds() throws Exception {
    BundleManifest lenient =
        bundle(
            "lenient",
            "",
            "osgi.service;filter:=\"(objectClass=Nobody)\";effective:=active;resolution:=optional;cardinality:=multiple",
            "");
    BundleManifest own =
        bundle(
            "own",
            "osgi.service;objectClass:List<String>=\"A,B\"",
            "osgi.service;filter:=\"(objectClass=B)\"",
            "");

    assertEquals(
        List.of(List.of(lenient, own)), BootPlan.of(List.of(lenient, own), List.of()).levels());
  }

  @Test
  @DisplayName("Fragments are not started")
  void fragmentsAreLeftOut() throws Exception {
    Manifest manifest = manifest("native.part", "", "", "");
    manifest.getMainAttributes().putValue("Fragment-Host", "host");

    assertEquals(List.of(), BootPlan.of(List.of(BundleManifest.of(manifest)), List.of()).order());
  }

  @Test
  @DisplayName("A filter on a property of the service counts, too, not only its interface")
  void propertiesCount() {
    BundleManifest tcp =
        bundle("tcp", "osgi.service;objectClass:List<String>=\"Dialer\";kind=tcp", "", "");
    BundleManifest user =
        bundle("user", "", "osgi.service;filter:=\"(&(objectClass=Dialer)(kind=udp))\"", "");

    assertThrows(BootPlanException.class, () -> BootPlan.of(List.of(tcp, user), List.of()));
  }

  private static BundleManifest organ(String name, String needs, String offer) {
    StringBuilder require = new StringBuilder(EXTENDER);
    for (String need : ("Report," + needs).split(",")) {
      String type = need.equals("Report") ? need : "dev.polis.api." + need;
      if (!need.isEmpty()) {
        require
            .append(",osgi.service;filter:=\"(objectClass=")
            .append(type)
            .append(")\";effective:=active");
      }
    }
    String provide =
        "osgi.service;objectClass:List<String>=\"dev.polis.api."
            + offer
            + "\";uses:=\"dev.polis.api\"";
    return bundle("dev.polis." + name, provide, require.toString(), "dev.polis.api");
  }

  private static BundleManifest bundle(
      String name, String provide, String require, String imports) {
    return BundleManifest.of(manifest(name, provide, require, imports));
  }

  private static Manifest manifest(String name, String provide, String require, String imports) {
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-SymbolicName", name + ";singleton:=true");
    headers.putValue("Bundle-Version", "1.0.0");
    headers.putValue("Provide-Capability", provide);
    headers.putValue("Require-Capability", require);
    headers.putValue("Import-Package", imports);
    return manifest;
  }
}
