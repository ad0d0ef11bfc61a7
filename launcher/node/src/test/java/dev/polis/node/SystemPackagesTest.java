package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.plugins.plan.Offer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Assembles a distribution of a library, a part of the platform, an organ and a bundle of the
 * framework, and checks the system packages.
 */
class SystemPackagesTest {
  @TempDir Path distribution;

  @BeforeEach
  void build() throws IOException {
    Files.createDirectories(distribution.resolve("bundles"));
    Files.createDirectories(distribution.resolve("lib"));
    bundle(
        "library-1.2.0.jar",
        "org.library",
        Map.of("Export-Package", "org.library;version=1.2.0;uses:=\"a,b\",org.library.more"));
    bundle(
        "platform-0.1.0.jar",
        "dev.polis.platform",
        Map.of(
            "Export-Package",
            "dev.polis.platform;version=\"1.0.0\"",
            "Service-Component",
            "OSGI-INF/a.xml"));
    bundle("organ-0.1.0.jar", "dev.polis.organ", Map.of("Service-Component", "OSGI-INF/a.xml"));
    bundle(
        "scr-2.0.jar",
        "org.scr",
        Map.of("Export-Package", "org.scr", "Bundle-Activator", "org.scr.Activator"));
  }

  @Test
  @DisplayName(
      "Packages of the platform and its libraries are system packages; those of organs and of bundles with an activator are not")
  void exportsThePlatform() throws IOException {
    SystemPackages.assemble(distribution);

    SystemPackages packages = SystemPackages.read(distribution);
    assertEquals(
        List.of(
            "dev.polis.platform;version=\"1.0.0\"",
            "org.library.more;version=\"0.0.0\"",
            "org.library;version=\"1.2.0\""),
        packages.packages().stream()
            .filter(name -> name.startsWith("dev.polis.platform") || name.startsWith("org.library"))
            .toList());
    assertEquals(Set.of("org.library"), packages.libraries());
    assertTrue(Files.exists(distribution.resolve("lib/library.jar")));
    assertTrue(Files.exists(distribution.resolve("lib/platform.jar")));
    assertFalse(Files.exists(distribution.resolve("lib/organ.jar")));
    assertFalse(Files.exists(distribution.resolve("lib/scr.jar")));
  }

  @Test
  @DisplayName("The framework gets all bundles but the libraries")
  void librariesAreNoBundles() throws IOException {
    SystemPackages.assemble(distribution);

    assertEquals(3, new Distribution(distribution).seal());

    String list = Files.readString(distribution.resolve("bundles.list"));
    assertFalse(list.contains("org.library"), list);
    assertTrue(list.contains("dev.polis.platform 1.0 "), list);
  }

  @Test
  @DisplayName("A signature is left out with its digests; the rest stays the same")
  void signatureStaysBehind() throws IOException {
    SystemPackages.assemble(distribution);

    try (JarFile jar = new JarFile(distribution.resolve("lib/library.jar").toFile())) {
      assertEquals(
          List.of("META-INF/MANIFEST.MF", "a.txt"), jar.stream().map(JarEntry::getName).toList());
      assertEquals(Map.of(), jar.getManifest().getEntries());
      assertEquals(
          "org.library;singleton:=true",
          jar.getManifest().getMainAttributes().getValue("Bundle-SymbolicName"));
      assertEquals(
          "content",
          new String(
              jar.getInputStream(jar.getEntry("a.txt")).readAllBytes(), StandardCharsets.UTF_8));
    }
    assertEquals(
        Files.getLastModifiedTime(distribution.resolve("bundles/library-1.2.0.jar")),
        Files.getLastModifiedTime(distribution.resolve("lib/library.jar")),
        "another time would make another AOT cache necessary");
  }

  @Test
  @DisplayName(
      "The system bundle provides a library's capabilities of Polis' own; the others are left out")
  void capabilitiesOfLibraries() throws IOException {
    String followed = "polis.followed;objectClass=\"org.contract.Kettle,of a kind\"";
    bundle(
        "contract-1.0.jar",
        "org.contract",
        Map.of(
            "Export-Package",
            "org.contract",
            "Provide-Capability",
            "osgi.serviceloader;osgi.serviceloader=org.contract.X, " + followed));

    SystemPackages.assemble(distribution);

    SystemPackages packages = SystemPackages.read(distribution);
    assertEquals(List.of(followed), packages.capabilities());
    assertEquals(
        List.of(Offer.parse(followed).getFirst(), Offer.service("dev.polis.base.boot.BootReport")),
        packages.given());
  }

  @Test
  @DisplayName(
      "The launcher's own packages are there with the versions of its libraries, also without an assembled distribution")
  void packagesOfTheLauncher() throws IOException {
    for (SystemPackages packages :
        List.of(SystemPackages.read(distribution), SystemPackages.assemble(distribution))) {
      for (String name :
          List.of(
              "dev.polis.base.boot",
              "org.osgi.service.cm",
              "org.osgi.service.component",
              "org.osgi.service.component.runtime.dto",
              "org.osgi.util.promise",
              "org.osgi.util.function")) {
        assertTrue(
            packages.packages().stream()
                .anyMatch(each -> each.matches(name + ";version=\"[1-9].*\"")),
            () -> name + " is missing: " + packages.packages());
      }
    }
  }

  /** Makes a jar that looks signed by its file names. */
  private void bundle(String file, String name, Map<String, String> headers) throws IOException {
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.putValue("Bundle-SymbolicName", name + ";singleton:=true");
    main.putValue("Bundle-Version", "1.0");
    headers.forEach(main::putValue);
    Attributes digest = new Attributes();
    digest.putValue("SHA-256-Digest", "AAAA");
    manifest.getEntries().put("a.txt", digest);
    try (OutputStream out = Files.newOutputStream(distribution.resolve("bundles").resolve(file));
        JarOutputStream jar = new JarOutputStream(out, manifest)) {
      for (String entry : List.of("META-INF/SIGNER.SF", "META-INF/SIGNER.RSA", "a.txt")) {
        jar.putNextEntry(new JarEntry(entry));
        jar.write("content".getBytes(StandardCharsets.UTF_8));
      }
    }
  }
}
