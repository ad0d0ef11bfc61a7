package dev.polis.handover.following;

import org.osgi.framework.Bundle;

/**
 * Names the bundle that provides a service.
 *
 * @param bundle its symbolic name
 * @param version its version
 * @param bundleId its number in the framework, which tells two builds of one version apart
 */
public record ServiceProvider(String bundle, String version, long bundleId) {

  static ServiceProvider of(Bundle bundle) {
    return new ServiceProvider(
        String.valueOf(bundle.getSymbolicName()),
        bundle.getVersion().toString(),
        bundle.getBundleId());
  }

  @Override
  public String toString() {
    return bundle + " " + version;
  }
}
