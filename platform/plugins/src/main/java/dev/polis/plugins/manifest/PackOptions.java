package dev.polis.plugins.manifest;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.osgi.framework.Version;

/**
 * Adds the facts about a plugin that its bundle lacks. It serves bundles without capabilities; the
 * packer refuses options that contradict their bundle.
 *
 * @param provides the organs and roles; empty if the bundle names them
 * @param platform the lowest version of the platform
 */
public record PackOptions(List<Provided> provides, LowestPlatform platform) {
  /** The options that take everything from the bundle. */
  public static final PackOptions NONE = providing(List.of());

  /** Selects the lowest version of the platform. */
  public sealed interface LowestPlatform {

    /** Selects the version in the bundle, or else that of this platform. */
    record OfBundle() implements LowestPlatform {}

    /**
     * Selects a given version.
     *
     * @param version the version
     */
    record At(Version version) implements LowestPlatform {}
  }

  /** Copies its arguments. */
  public PackOptions {
    provides = List.copyOf(provides);
  }

  /** Returns options with organs and roles, which take everything else from the bundle. */
  public static PackOptions providing(List<Provided> provides) {
    return new PackOptions(provides, new LowestPlatform.OfBundle());
  }

  /**
   * Reads options from a person's input.
   *
   * @param organs the names of organs
   * @param roles the names of roles
   * @param minimumPlatform a version, or an empty text
   * @throws PackException if an option is malformed
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
