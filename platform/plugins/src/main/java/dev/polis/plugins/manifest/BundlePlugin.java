package dev.polis.plugins.manifest;

import java.io.IOException;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;

/**
 * Classifies an installed bundle by the plugin manifest beside its file. The bundle's name plays no
 * role.
 */
public sealed interface BundlePlugin {
  /** Names the act that gives a bundle its own manifest where the store cannot. */
  String SWAP_AGAIN = "swap it in again from a packed file with its manifest beside it";

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
   * @param remedy the act that makes the manifest readable again
   */
  record Undescribed(String why, String remedy) implements BundlePlugin {
    /** Describes one that the store cannot give its manifest back. */
    public Undescribed(String why) {
      this(why, SWAP_AGAIN);
    }
  }

  /** Reads the manifest of a bundle. The node verified it before it installed the bundle. */
  static BundlePlugin of(Bundle bundle) {
    if (bundle.getBundleId() == Constants.SYSTEM_BUNDLE_ID) {
      return new Library();
    }
    try {
      PluginManifest manifest = InstalledManifests.content(bundle);
      if (!manifest.symbolicName().equals(bundle.getSymbolicName())
          || !manifest.version().equals(bundle.getVersion())) {
        return new Undescribed("the manifest beside it is that of " + manifest.label());
      }
      return manifest.isOrganOrRole() ? new Organ(manifest) : new Library();
    } catch (PluginRefusedException e) {
      return new Undescribed(e.fault(), e.remedy().isEmpty() ? SWAP_AGAIN : e.remedy());
    } catch (IOException e) {
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
