package dev.polis.plugins.manifest;

import java.util.Objects;
import org.osgi.framework.VersionRange;

/**
 * Holds a package that a plugin imports.
 *
 * @param name of the package
 * @param range the versions it works with
 * @param optional whether it works without the package too
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
