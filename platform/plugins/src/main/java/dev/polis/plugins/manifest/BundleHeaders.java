package dev.polis.plugins.manifest;

import dev.polis.plugins.plan.ManifestHeader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import org.osgi.framework.Version;

/**
 * Holds a bundle's identity from its MANIFEST.MF.
 *
 * @param symbolicName its symbolic name, which may be malformed
 * @param version its version
 * @param main its main attributes
 */
record BundleHeaders(String symbolicName, Version version, Attributes main) {

  /**
   * Reads the headers without loading a class.
   *
   * @throws IOException if the file is no bundle
   */
  static BundleHeaders read(Path bundle) throws IOException {
    // "false" skips the comparison of each entry with jar signatures, which the node does not use.
    try (JarFile jar = new JarFile(bundle.toFile(), false)) {
      Manifest manifest = jar.getManifest();
      if (manifest == null) {
        throw new IOException("it has no META-INF/MANIFEST.MF");
      }
      return of(manifest.getMainAttributes());
    } catch (IllegalArgumentException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private static BundleHeaders of(Attributes main) throws IOException {
    List<ManifestHeader.Clause> name = ManifestHeader.parse(main.getValue("Bundle-SymbolicName"));
    if (name.size() != 1) {
      throw new IOException("its MANIFEST.MF has no Bundle-SymbolicName");
    }
    String version = main.getValue("Bundle-Version");
    return new BundleHeaders(
        name.getFirst().name(),
        version == null ? Version.emptyVersion : Version.parseVersion(version),
        main);
  }
}
