package dev.polis.plugins.manifest;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.osgi.framework.Version;

/**
 * Says about a plugin what its bundle does not say itself. It is for bundles that were built
 * without capabilities; one that contradicts its bundle is refused.
 *
 * @param provides organs and roles; empty for those that the bundle names
 * @param platform the lowest version of the platform
 */
public record PackOptions(List<Provided> provides, LowestPlatform platform) {
  /** Takes everything from the bundle. */
  public static final PackOptions NONE = providing(List.of());

  /** Says what the lowest version of the platform is. */
  public sealed interface LowestPlatform {

    /** The one that the bundle names, or else that of this platform. */
    record OfBundle() implements LowestPlatform {}

    /**
     * A certain one.
     *
     * @param version it
     */
    record At(Version version) implements LowestPlatform {}
  }

  /** Copies its arguments. */
  public PackOptions {
    provides = List.copyOf(provides);
  }

  /** Says what the bundle provides, and takes everything else from it. */
  public static PackOptions providing(List<Provided> provides) {
    return new PackOptions(provides, new LowestPlatform.OfBundle());
  }

  /**
   * Reads options as a person types them.
   *
   * @param organs names of organs
   * @param roles names of roles
   * @param minimumPlatform a version, or an empty text
   * @throws PackException if one of them is malformed
   */
  public static PackOptions of(
      Collection<String> organs, Collection<String> roles, String minimumPlatform)
      throws PackException {
    try {
      List<Provided> provides = new ArrayList<>();
      organs.forEach(name -> provides.add(new Provided.Organ(name)));
      roles.forEach(name -> provides.add(new Provided.Role(name)));
      return new PackOptions(
          provides,
          minimumPlatform.isEmpty()
              ? new LowestPlatform.OfBundle()
              : new LowestPlatform.At(
                  PluginManifest.version("version of a platform", minimumPlatform)));
    } catch (IllegalArgumentException e) {
      throw new PackException(e.getMessage(), e);
    }
  }
}
