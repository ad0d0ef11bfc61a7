package dev.polis.plugins.manifest;

import java.io.IOException;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;

/**
 * Classifies an installed bundle by the plugin manifest beside its file. The bundle's name plays no
 * role.
 */
public sealed interface BundlePlugin {
  /**
   * Means that the bundle provides organs or roles.
   *
   * @param manifest its manifest
   */
  record Organ(PluginManifest manifest) implements BundlePlugin {}

  /** Means that the bundle provides neither and belongs to the platform. */
  record Library() implements BundlePlugin {}

  /**
   * Means that the bundle has no readable manifest, or that of another bundle.
   *
   * @param why the fault, as a text for people
   */
  record Undescribed(String why) implements BundlePlugin {}

  /** Reads the manifest of a bundle. The node verified it before it installed the bundle. */
  static BundlePlugin of(Bundle bundle) {
    if (bundle.getBundleId() == Constants.SYSTEM_BUNDLE_ID) {
      return new Library();
    }
    try {
      PluginManifest manifest = InstalledManifests.read(bundle).content();
      if (!manifest.symbolicName().equals(bundle.getSymbolicName())
          || !manifest.version().equals(bundle.getVersion())) {
        return new Undescribed("the manifest beside it is that of " + manifest.label());
      }
      return manifest.isOrganOrRole() ? new Organ(manifest) : new Library();
    } catch (PluginRefusedException | IOException e) {
      return new Undescribed(e.getMessage());
    }
  }

  /** Returns whether a bundle belongs to the distribution, and so has no signature. */
  static boolean isOfDistribution(Bundle bundle) {
    if (bundle.getBundleId() == Constants.SYSTEM_BUNDLE_ID) {
      return true;
    }
    try {
      return InstalledManifests.read(bundle) instanceof DistributionManifest;
    } catch (PluginRefusedException | IOException e) {
      // A bundle from outside always has a manifest.
      return true;
    }
  }
}
