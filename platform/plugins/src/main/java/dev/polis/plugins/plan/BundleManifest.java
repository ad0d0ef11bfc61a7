package dev.polis.plugins.plan;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * Holds the declarations of a bundle's manifest.
 *
 * @param symbolicName its symbolic name
 * @param version its version
 * @param fragment whether it is a fragment, which is never started
 * @param exports the exported packages
 * @param imports the imported packages, optional ones included
 * @param offers the provided services
 * @param needs the needed services
 */
public record BundleManifest(
    String symbolicName,
    String version,
    boolean fragment,
    List<String> exports,
    List<String> imports,
    List<Offer> offers,
    List<Need> needs) {

  /** Copies its arguments. */
  public BundleManifest {
    exports = List.copyOf(exports);
    imports = List.copyOf(imports);
    offers = List.copyOf(offers);
    needs = List.copyOf(needs);
  }

  /**
   * @param jar a bundle
   * @return its manifest
   * @throws IOException if it is no archive, or no bundle
   */
  public static BundleManifest read(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile(), false)) {
      Manifest manifest = file.getManifest();
      if (manifest == null
          || manifest.getMainAttributes().getValue("Bundle-SymbolicName") == null) {
        throw new IOException(jar + " is no bundle: its manifest has no Bundle-SymbolicName");
      }
      return of(manifest);
    }
  }

  /**
   * @param manifest the manifest of a bundle, with a symbolic name
   * @return the parts that this package understands
   */
  public static BundleManifest of(Manifest manifest) {
    Attributes headers = manifest.getMainAttributes();
    String version = headers.getValue("Bundle-Version");
    return new BundleManifest(
        ManifestHeader.parse(headers.getValue("Bundle-SymbolicName")).getFirst().name(),
        version == null ? "0.0.0" : version.strip(),
        headers.getValue("Fragment-Host") != null,
        packages(headers.getValue("Export-Package")),
        packages(headers.getValue("Import-Package")),
        Offer.parse(headers.getValue("Provide-Capability")),
        Need.parse(headers.getValue("Require-Capability")));
  }

  @Override
  public String toString() {
    return symbolicName;
  }

  private static List<String> packages(String header) {
    return ManifestHeader.parse(header).stream().map(ManifestHeader.Clause::name).toList();
  }
}
