package dev.polis.plugins.manifest;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;

/**
 * Reads the manifests of installed bundles, which lie beside their files. The node verified them
 * before it installed the bundles.
 */
public final class InstalledManifests {
  /** The prefix with which the launcher installs a file without a copy. */
  private static final String REFERENCE = "reference:";

  private InstalledManifests() {}

  /**
   * Reads the manifest of an installed bundle.
   *
   * @param bundle any bundle except the framework itself
   * @return its envelope
   * @throws PluginRefusedException if it has no readable one
   * @throws IOException if the file cannot be read
   */
  public static ManifestEnvelope read(Bundle bundle) throws PluginRefusedException, IOException {
    Path file = file(bundle);
    return ManifestEnvelope.read(file);
  }

  /**
   * Reads the manifest of an installed bundle without its envelope.
   *
   * @param bundle any bundle but the framework itself
   * @throws PluginRefusedException if it has none, or none that can be read
   * @throws IOException if the file cannot be read
   */
  static PluginManifest content(Bundle bundle) throws PluginRefusedException, IOException {
    return ManifestEnvelope.readContent(file(bundle));
  }

  /**
   * Finds the running plugins with a key's signature.
   *
   * @param context the context of any bundle
   * @param key the signer's key
   * @return their names and versions
   */
  public static List<String> signedBy(BundleContext context, KeyId key) {
    return Stream.of(context.getBundles())
        .filter(bundle -> isSignedBy(bundle, key))
        .map(bundle -> bundle.getSymbolicName() + ":" + bundle.getVersion())
        .toList();
  }

  private static boolean isSignedBy(Bundle bundle, KeyId key) {
    try {
      return read(bundle) instanceof SignedManifest signed && signed.keyId().equals(key);
    } catch (PluginRefusedException | IOException e) {
      // An unreadable signature is not this key's.
      return false;
    }
  }

  private static Path file(Bundle bundle) throws PluginRefusedException {
    String location = bundle.getLocation();
    try {
      return Path.of(
          URI.create(
              location.startsWith(REFERENCE) ? location.substring(REFERENCE.length()) : location));
    } catch (IllegalArgumentException | FileSystemNotFoundException e) {
      throw new PluginRefusedException(
          RefusalReason.UNSIGNED,
          "%s was not installed from a file but from %s, where no manifest can lie"
              .formatted(bundle.getSymbolicName(), location),
          e);
    }
  }
}
