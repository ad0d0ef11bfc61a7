package dev.polis.plugins.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

class PluginPackerTest {
  private static final String NAME = "org.example.backup";

  @TempDir Path folder;

  private static final Map<String, String> SAID =
      Map.of(
          "Provide-Capability",
          "polis.role;polis.role=NightlyBackup",
          "Require-Capability",
          "polis.platform;filter:=\"(version>=0.1.0)\"");

  private Path bundle(Map<String, String> headers) throws Exception {
    return PluginFixture.bundle(folder, NAME, "1.2.3", headers);
  }

  @Test
  @DisplayName("the manifest contains the bundle's capabilities and imports")
  void capabilities() throws Exception {
    Path bundle =
        bundle(
            Map.of(
                "Provide-Capability",
                    "polis.organ;polis.organ=backup,osgi.service;objectClass=a.B,"
                        + "polis.role;polis.role:List<String>=\"NightlyBackup,WeeklyBackup\"",
                "Require-Capability",
                    "polis.platform;filter:=\"(&(version>=0.1.0)(!(version>=2)))\"",
                "Import-Package",
                    "dev.polis.api.roles;version=\"[1.2,2)\",org.slf4j;version=\"2\";resolution:=optional,org.plain"));

    PluginManifest manifest = PluginPacker.describe(bundle, PackOptions.NONE);

    assertEquals("org.example.backup:1.2.3", manifest.label());
    assertEquals(Files.size(bundle), manifest.size());
    assertEquals(new Version("0.1.0"), manifest.minimumPlatform());
    assertEquals(
        List.of(
            new Provided.Organ("backup"),
            new Provided.Role("NightlyBackup"),
            new Provided.Role("WeeklyBackup")),
        manifest.provides());
    assertEquals(
        List.of(
            new PackageRequirement("dev.polis.api.roles", new VersionRange("[1.2,2)"), false),
            new PackageRequirement("org.slf4j", new VersionRange("2"), true),
            new PackageRequirement("org.plain", new VersionRange("0"), false)),
        manifest.packages());
  }

  @Test
  @DisplayName(
      "options add facts that a bundle does not declare, and the platform is this one by default")
  void options() throws Exception {
    PluginManifest manifest =
        PluginPacker.describe(bundle(Map.of()), PackOptions.of(List.of("backup"), List.of(), ""));

    assertEquals(List.of(new Provided.Organ("backup")), manifest.provides());
    assertEquals(PlatformVersion.current(), manifest.minimumPlatform());
    assertEquals(
        new PackOptions.LowestPlatform.At(new Version("2.0.0")),
        PackOptions.of(List.of(), List.of(), "2").platform());
  }

  @Test
  @DisplayName("an option that contradicts the bundle is refused, and one that agrees is accepted")
  void contradiction() throws Exception {
    Path bundle = bundle(SAID);

    PluginPacker.describe(bundle, PackOptions.of(List.of(), List.of("NightlyBackup"), "0.1.0"));
    for (PackOptions each :
        List.of(
            PackOptions.of(List.of("backup"), List.of(), ""),
            PackOptions.of(List.of(), List.of(), "0.2"))) {
      String message =
          assertThrows(PackException.class, () -> PluginPacker.describe(bundle, each)).getMessage();
      assertTrue(message.contains("it says itself that it"), message);
    }
  }

  @Test
  @DisplayName(
      "the headers of an earlier version are refused with the capability that replaces them")
  void headersOfBefore() throws Exception {
    for (Map.Entry<String, String> each :
        Map.of(
                "Polis-Organ", "Provide-Capability: polis.organ;polis.organ=",
                "Polis-Role", "Provide-Capability: polis.role;polis.role=",
                "Polis-Minimum-Platform", "Require-Capability: polis.platform;filter:=")
            .entrySet()) {
      Path bundle = bundle(Map.of(each.getKey(), "x"));
      String message =
          assertThrows(PackException.class, () -> PluginPacker.describe(bundle, PackOptions.NONE))
              .getMessage();
      assertTrue(message.contains(each.getKey() + ": x"), message);
      assertTrue(message.contains(each.getValue()), message);
    }
  }

  @Test
  @DisplayName("a packed plugin is accepted by a cluster that trusts the key")
  void packedIsAccepted() throws Exception {
    Path bundle = bundle(SAID);

    PluginManifest packed =
        PluginPacker.pack(bundle, PackOptions.NONE, PluginFixture.TRUSTED.getPrivate());

    assertEquals(
        packed,
        new PluginVerifier(PlatformVersion.current(), Set.of())
            .verify(bundle, ManifestEnvelope.beside(bundle), PluginFixture.ROOTS)
            .manifest());
  }

  @Test
  @DisplayName(
      "a bundle that does not declare its organ or roles is not packed, and the refusal shows the declaration")
  void nothingProvided() throws Exception {
    Path bundle = bundle(Map.of());

    PackException refusal =
        assertThrows(
            PackException.class,
            () -> PluginPacker.pack(bundle, PackOptions.NONE, PluginFixture.TRUSTED.getPrivate()));

    assertTrue(refusal.getMessage().contains("polis.organ;polis.organ=NAME"), refusal.getMessage());
    assertFalse(Files.exists(ManifestEnvelope.beside(bundle)));
  }

  @Test
  @DisplayName("a file that is no bundle, or has malformed declarations, is refused by name")
  void malformed() throws Exception {
    Path text = Files.writeString(folder.resolve("text.jar"), "text");
    Path missing = folder.resolve("missing.jar");
    for (Path each : List.of(text, missing)) {
      String message =
          assertThrows(PackException.class, () -> PluginPacker.describe(each, PackOptions.NONE))
              .getMessage();
      assertTrue(message.startsWith(each.toString()), message);
    }
    for (Map<String, String> headers :
        List.of(
            Map.of("Provide-Capability", "polis.organ;polis.organ=Backup"),
            Map.of("Provide-Capability", "polis.role;polis.role=nightly"),
            Map.of("Provide-Capability", "polis.role"),
            Map.of("Require-Capability", "polis.platform;filter:=\"(version>=new)\""),
            Map.of("Require-Capability", "polis.platform"),
            Map.of("Import-Package", "a.b;version=\"[2,1)\""))) {
      Path bundle = bundle(headers);
      assertThrows(
          PackException.class,
          () -> PluginPacker.describe(bundle, PackOptions.NONE),
          headers.toString());
    }
    assertThrows(PackException.class, () -> PackOptions.of(List.of(), List.of("nightly"), ""));
  }
}
