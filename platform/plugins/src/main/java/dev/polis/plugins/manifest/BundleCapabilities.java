package dev.polis.plugins.manifest;

import dev.polis.plugins.plan.ManifestHeader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.jar.Attributes;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.osgi.framework.Version;

/**
 * Holds a bundle's own capabilities, which the framework's resolver also reads:
 *
 * <pre>
 *   Provide-Capability: polis.organ;polis.organ=metrics, polis.role;polis.role=NightlyBackup
 *   Require-Capability: polis.platform;filter:="(version&gt;=0.2.0)"
 * </pre>
 *
 * @param provides the organs and roles; empty if the bundle names none
 * @param platform the lowest version of the platform; 0.0.0 if the bundle names none
 */
public record BundleCapabilities(List<Provided> provides, Version platform) {
  /** The name space of organs, and the name of its attribute. */
  public static final String ORGAN = "polis.organ";

  /** The name space of roles, and the name of its attribute. */
  public static final String ROLE = "polis.role";

  /** The name space of the platform, which has an attribute {@code version}. */
  public static final String PLATFORM = "polis.platform";

  private static final Pattern LEAST = Pattern.compile("\\(version>=([^)]*)\\)");

  /** Copies its arguments. */
  public BundleCapabilities {
    provides = List.copyOf(provides);
  }

  /**
   * Reads the manifest of a bundle.
   *
   * @param main its main attributes
   * @throws IllegalArgumentException if a name or a version is malformed
   */
  static BundleCapabilities of(Attributes main) {
    List<ManifestHeader.Clause> provided =
        ManifestHeader.parse(main.getValue("Provide-Capability"));
    List<Provided> provides = new ArrayList<>(named(provided, ORGAN, Provided.Organ::new));
    provides.addAll(named(provided, ROLE, Provided.Role::new));
    Version platform =
        ManifestHeader.parse(main.getValue("Require-Capability")).stream()
            .filter(clause -> clause.name().equals(PLATFORM))
            .map(BundleCapabilities::least)
            .reduce(Version.emptyVersion, (one, other) -> one.compareTo(other) < 0 ? other : one);
    return new BundleCapabilities(provides, platform);
  }

  /** Returns the lowest version of the platform; empty if the bundle names none. */
  Optional<Version> lowestPlatform() {
    return Optional.of(platform).filter(each -> !each.equals(Version.emptyVersion));
  }

  private static List<Provided> named(
      List<ManifestHeader.Clause> clauses, String namespace, Function<String, Provided> kind) {
    return clauses.stream()
        .filter(clause -> clause.name().equals(namespace))
        .flatMap(clause -> names(clause.attributes().get(namespace)).stream())
        .map(kind)
        .toList();
  }

  private static List<String> names(Object attribute) {
    return switch (attribute) {
      case null -> List.of("");
      case Collection<?> several -> several.stream().map(String::valueOf).toList();
      default -> List.of(attribute.toString());
    };
  }

  private static Version least(ManifestHeader.Clause clause) {
    Matcher least = LEAST.matcher(clause.directives().getOrDefault("filter", ""));
    if (!least.find()) {
      throw new IllegalArgumentException(
          "the requirement %s names no lowest version, as filter:=\"(version>=1.2.3)\" does"
              .formatted(PLATFORM));
    }
    return PluginManifest.version("version of a platform", least.group(1).strip());
  }
}
