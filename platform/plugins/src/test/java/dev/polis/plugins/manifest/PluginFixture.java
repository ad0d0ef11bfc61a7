package dev.polis.plugins.manifest;

import com.google.protobuf.ByteString;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.store.Digest;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

/** Builds bundles, keys and manifests. */
final class PluginFixture {
  static final Version PLATFORM = new Version("1.4.0");
  static final KeyPair TRUSTED = Ed25519.generate();
  static final KeyPair STRANGER = Ed25519.generate();
  static final TrustRoots ROOTS =
      new TrustRoots(List.of(new TrustedKey("release", TRUSTED.getPublic())));

  private PluginFixture() {}

  static Path bundle(Path folder, String name, String version) throws IOException {
    return bundle(folder, name, version, Map.of());
  }

  static Path bundle(Path folder, String name, String version, Map<String, String> headers)
      throws IOException {
    Path jar = folder.resolve(name + "-" + version + ".jar");
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.putValue("Bundle-ManifestVersion", "2");
    main.putValue("Bundle-SymbolicName", name + ";singleton:=true");
    main.putValue("Bundle-Version", version);
    headers.forEach(main::putValue);
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream archive = new JarOutputStream(out, manifest)) {
      archive.putNextEntry(new JarEntry("example/Broken.class"));
      archive.write("no class file".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
    }
    return jar;
  }

  static PluginManifest manifest(Path bundle, String name, String version) throws IOException {
    return manifest(bundle, name, version, "1.0.0");
  }

  static PluginManifest manifest(Path bundle, String name, String version, String platform)
      throws IOException {
    return new PluginManifest(
        name,
        new Version(version),
        Digest.of(bundle),
        Files.size(bundle),
        List.of(new Provided.Organ("backup"), new Provided.Role("NightlyBackup")),
        List.of(new PackageRequirement("dev.polis.api", new VersionRange("[1.2,2)"), false)),
        new Version(platform));
  }

  static byte[] signed(PluginManifest manifest) {
    return SignedManifest.sign(manifest, TRUSTED.getPrivate()).encode().toByteArray();
  }

  static byte[] signed(byte[] manifest) {
    return SignedManifest.sign(ByteString.copyFrom(manifest), TRUSTED.getPrivate())
        .encode()
        .toByteArray();
  }
}
