package dev.polis.plugins.manifest;

import java.util.Objects;
import org.osgi.framework.VersionRange;

/**
 * Holds an imported package of a plugin.
 *
 * @param name the name of the package
 * @param range the versions with which the plugin works
 * @param optional true if the plugin also works without the package
 */
public record PackageRequirement(String name, VersionRange range, boolean optional) {

  /**
   * @throws IllegalArgumentException if the name is malformed or the range holds no version
   */
  public PackageRequirement {
    Names.PACKAGE.require(name);
    Objects.requireNonNull(range, "range");
    if (range.isEmpty()) {
      throw new IllegalArgumentException(
          "no version of " + name + " is in the range \"" + range + "\"");
    }
  }

  @Override
  public String toString() {
    return name + " " + range + (optional ? " optional" : "");
  }
}
