package dev.polis.maven;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.apache.maven.plugin.MojoFailureException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PackMojoTest {
  @TempDir Path folder;
  private final KeyPair pair = Ed25519.generate();
  private Path bundle;
  private Path key;

  @BeforeEach
  void build() throws Exception {
    key = Files.writeString(folder.resolve("key.pem"), Pem.encode(pair.getPrivate()));
    bundle = folder.resolve("backup-1.0.0.jar");
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-SymbolicName", "org.example.backup");
    headers.putValue("Bundle-Version", "1.0.0");
    headers.putValue("Provide-Capability", "polis.role;polis.role=NightlyBackup");
    try (OutputStream out = Files.newOutputStream(bundle);
        JarOutputStream jar = new JarOutputStream(out, manifest)) {
      jar.finish();
    }
  }

  @Test
  @DisplayName("the goal writes a manifest that a cluster with the key accepts")
  void packs() throws Exception {
    PackMojo.pack(bundle, key, List.of(), List.of(), "");

    assertEquals(
        "org.example.backup:1.0.0",
        new PluginVerifier(PlatformVersion.current(), Set.of())
            .verify(
                bundle,
                ManifestEnvelope.beside(bundle),
                new TrustRoots(List.of(new TrustedKey("release", pair.getPublic()))))
            .manifest()
            .label());
  }

  @Test
  @DisplayName("a missing key and a malformed role fail the build with the remedy")
  void refuses() {
    String missing =
        assertThrows(
                MojoFailureException.class,
                () -> PackMojo.pack(bundle, folder.resolve("none"), List.of(), List.of(), ""))
            .getMessage();
    assertTrue(missing.contains("polisctl plugin key make"), missing);
    assertThrows(
        MojoFailureException.class,
        () -> PackMojo.pack(bundle, key, List.of(), List.of("nightly"), ""));
  }
}
