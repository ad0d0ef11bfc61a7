package dev.polis.plugins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.PluginStatus;
import dev.polis.plugins.graph.FollowedContract;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.swap.SwapFixture;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.ServiceUse;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/** Reports on the plugins of a real framework, before and after swaps. */
class PluginReporterTest {
  @TempDir Path folder;
  private SwapFixture node;
  private List<FollowedContract> contracts = List.of();

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private PluginStatus explained(String name) throws Exception {
    return reporter(distribution()).plugins().stream()
        .filter(plugin -> plugin.symbolicName().equals(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " is not reported"));
  }

  private PluginReporter reporter(Set<Digest> distribution) {
    GraphCall graph = new GraphCall(node.context(), node.service(ServiceComponentRuntime.class));
    return new PluginReporter(
        node.context(),
        node.store,
        node.engine,
        new PluginVerifier(PlatformVersion.current(), distribution),
        () -> Optional.of(TrustRoots.NONE),
        () -> graph.all(),
        () -> contracts);
  }

  /** Lists all bundles of the fixture as the distribution's. */
  private Set<Digest> distribution() throws Exception {
    Set<Digest> digests =
        Arrays.stream(node.context().getBundles())
            .filter(bundle -> bundle.getLocation().startsWith("reference:"))
            .map(bundle -> Path.of(URI.create(bundle.getLocation().substring(10))))
            .map(ManifestEnvelope::beside)
            .filter(Files::exists)
            .map(PluginReporterTest::digest)
            .collect(Collectors.toSet());
    assertEquals(2, digests.size());
    return digests;
  }

  private static Digest digest(Path manifest) {
    try {
      return new DistributionManifest(
              ManifestEnvelope.decode(Files.readAllBytes(manifest)).manifest())
          .digest();
    } catch (Exception e) {
      throw new AssertionError(manifest.toString(), e);
    }
  }

  private static HealthCondition condition(PluginStatus plugin, String code) {
    return plugin.conditions().stream()
        .filter(each -> each.code().equals(code))
        .findFirst()
        .orElseThrow(() -> new AssertionError(code + " is not among " + plugin.conditions()));
  }

  @Test
  @DisplayName(
      "a plugin that was never swapped is reported as running, with its signer and its generation")
  void neverSwapped() throws Exception {
    PluginStatus base = explained("dev.polis.base");

    assertEquals("version 1.0.0 runs, vouched for by the distribution", base.standing());
    assertEquals(Set.of("base"), base.provided().organs());
    assertEquals(HealthLevel.UP, base.level());
    assertEquals("it belongs to generation 1", condition(base, "generation").reason());
  }

  @Test
  @DisplayName("a reverted swap is reported with its cause, and as remembered")
  void failedHealthGate() throws Exception {
    node.engine =
        node.engine(
            SwapFixture.settings(SwapFixture.GATE, Duration.ofMillis(1500), SwapFixture.LONG));
    node.run(SwapFixture.swap(node.base("2.0.0", "unhealthy")));

    PluginStatus base = explained("dev.polis.base");
    HealthCondition failed = condition(base, "swap-failed");

    assertEquals(HealthLevel.DEGRADED, base.level());
    assertTrue(base.standing().startsWith("version 1.0.0 runs"), base.standing());
    assertTrue(
        failed.reason().startsWith("swap of dev.polis.base 2.0.0, ordered by the test at "),
        failed.reason());
    assertTrue(failed.reason().contains("nothing answers on port 1"), failed.reason());
    assertTrue(failed.reason().endsWith("does not try the same again"), failed.reason());
    assertEquals(HealthLevel.UP, explained("dev.polis.above").level());
  }

  @Test
  @DisplayName("an applied swap ends the fault of the one before, which stays remembered")
  void appliedAfterAFailure() throws Exception {
    node.run(SwapFixture.swap(node.base("2.0.0", "throws")));
    node.run(SwapFixture.swap(node.base("2.1.0", "well")));

    PluginStatus base = explained("dev.polis.base");

    assertEquals(HealthLevel.UP, base.level());
    assertTrue(condition(base, "last-swap").reason().endsWith(": applied"), base::toString);
    assertTrue(
        condition(base, "generation-remembered").reason().contains("the ticket is too short"),
        base::toString);
  }

  @Test
  @DisplayName("a plugin that was refused and never ran is reported with the reason")
  void refusedNewcomer() throws Exception {
    Path stranger = node.organ("stranger", "1.0.0", "well", "", "", "org.example.none");
    node.run(SwapFixture.swap(stranger));

    PluginStatus plugin = explained("dev.polis.stranger");

    assertEquals("it is not installed on this node", plugin.standing());
    assertEquals(OptionalLong.empty(), plugin.bundle());
    String reason = condition(plugin, "swap-failed").reason();
    assertTrue(reason.contains("org.example.none"), reason);
    assertTrue(reason.contains("polisctl node restart --runtime"), reason);
  }

  @Test
  @DisplayName("a running plugin that would be refused now is reported with the refusal")
  void refusedToday() {
    List<PluginStatus> plugins =
        reporter(Set.of()).plugins().stream()
            .filter(plugin -> !plugin.provided().platform())
            .toList();

    assertEquals(2, plugins.size(), plugins::toString);
    for (PluginStatus plugin : plugins) {
      assertTrue(
          condition(plugin, "signature-refused").reason().contains("does not name it"),
          plugin::toString);
    }
  }

  @Test
  @DisplayName("a plugin whose manifest is lost, damaged or another's is reported with one remedy")
  void undescribed() throws Exception {
    Bundle base = bundle("dev.polis.base");
    Path manifest = manifest(base);
    byte[] other = Files.readAllBytes(manifest(bundle("dev.polis.above")));

    Files.delete(manifest);
    assertLost(manifest + " is missing in the plugin store", PluginStore.RESTORE);
    Files.write(manifest, new byte[] {1});
    assertLost(manifest + " is damaged in the plugin store", PluginStore.RESTORE);
    Files.write(
        manifest,
        new DistributionManifest(ByteString.copyFromUtf8("\u0001")).encode().toByteArray());
    assertLost(manifest + " is damaged in the plugin store", PluginStore.RESTORE);
    Files.write(manifest, other);
    assertLost(
        "the manifest beside it is that of dev.polis.above:1.0.0",
        "swap it in again from a packed file with its manifest beside it");
  }

  private void assertLost(String why, String remedy) {
    PluginStatus base =
        reporter(Set.of()).plugins().stream()
            .filter(plugin -> plugin.symbolicName().equals("dev.polis.base"))
            .findFirst()
            .orElseThrow(() -> new AssertionError("dev.polis.base is not reported"));
    HealthCondition lost = condition(base, "manifest-unreadable");
    assertEquals("its manifest says nothing: " + why, lost.reason());
    assertEquals(remedy, lost.remedy());
  }

  private static Path manifest(Bundle bundle) {
    return ManifestEnvelope.beside(Path.of(URI.create(bundle.getLocation().substring(10))));
  }

  private Bundle bundle(String name) {
    return Arrays.stream(node.context().getBundles())
        .filter(bundle -> name.equals(bundle.getSymbolicName()))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName("held calls are reported at the called plugin, and at the calling ones")
  void heldCalls() throws Exception {
    Bundle base = bundle("dev.polis.base");
    contracts =
        List.of(
            new FollowedContract(
                "java.util.function.Supplier",
                OptionalLong.of(base.getBundleId()),
                true,
                "calls wait while dev.polis.base 1.0.0 is replaced",
                Instant.EPOCH,
                3));

    assertTrue(
        condition(explained("dev.polis.base"), "calls-held").reason().endsWith("3 calls wait"));
    assertTrue(
        condition(explained("dev.polis.above"), "calls-held").reason().contains("which it uses"));
  }

  @Test
  @DisplayName("the graph names the users of a service, and those that wait for a missing one")
  void graph() throws Exception {
    GraphCall call = new GraphCall(node.context(), node.service(ServiceComponentRuntime.class));
    ServiceUse bound = use(call.all());
    assertEquals(ServiceUse.WhenReplaced.WHEN_REPLACED_STOPS, bound.getWhenReplaced());
    assertTrue(bound.getMandatory());
    assertEquals("", bound.getStanding());

    for (Bundle bundle : node.context().getBundles()) {
      if ("dev.polis.base".equals(bundle.getSymbolicName())) {
        bundle.stop();
      }
    }
    ServiceUse missing = use(call.all());

    assertTrue(!missing.hasProvider(), missing::toString);
    assertEquals("it has no provider: above waits for it", missing.getStanding());
  }

  private static ServiceUse use(GraphResponse graph) {
    return graph.getServicesList().stream()
        .filter(use -> use.getService().equals("java.util.function.Supplier"))
        .filter(use -> use.getComponent().equals("above"))
        .findFirst()
        .orElseThrow(() -> new AssertionError("above is not in " + graph));
  }
}
