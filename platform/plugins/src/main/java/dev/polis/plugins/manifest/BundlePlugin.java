package dev.polis.plugins.manifest;

import java.io.IOException;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;

/**
 * Says what an installed bundle is, by the plugin manifest beside its file. A bundle's name says
 * nothing.
 */
public sealed interface BundlePlugin {
  /**
   * It provides organs or roles.
   *
   * @param manifest which
   */
  record Organ(PluginManifest manifest) implements BundlePlugin {}

  /** It provides neither: it belongs to the platform. */
  record Library() implements BundlePlugin {}

  /**
   * It has no manifest that can be read, or that of another bundle.
   *
   * @param why a text for people
   */
  record Undescribed(String why) implements BundlePlugin {}

  /** Reads the manifest of a bundle. It was verified before the bundle was installed. */
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

  /** Returns whether a bundle came with the distribution, and so without a signature. */
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
