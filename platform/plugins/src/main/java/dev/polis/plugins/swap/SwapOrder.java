package dev.polis.plugins.swap;

import dev.polis.plugins.plan.BundleManifest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Describes a change of the plugins that the node runs. */
public sealed interface SwapOrder {

  /**
   * Returns the order as a text for people.
   *
   * @return such as {@code swap of plugin.jar}
   */
  String words();

  /**
   * Returns the plugins in the order.
   *
   * @return their symbolic names; empty if only the node knows them
   */
  default Set<String> plugins() {
    return Set.of();
  }

  /**
   * Orders another version of a bundle, or an additional bundle.
   *
   * @param file the bundle
   * @param manifest its manifest with the signature
   */
  record Replace(Path file, byte[] manifest) implements SwapOrder {
    public Replace {
      manifest = manifest.clone();
    }

    @Override
    public byte[] manifest() {
      return manifest.clone();
    }

    @Override
    public String words() {
      try {
        BundleManifest bundle = BundleManifest.read(file);
        return "swap of " + bundle.symbolicName() + " " + bundle.version();
      } catch (IOException noBundle) {
        return "swap of " + file.getFileName() + ", which is no bundle";
      }
    }

    @Override
    public Set<String> plugins() {
      try {
        return Set.of(BundleManifest.read(file).symbolicName());
      } catch (IOException noBundle) {
        return Set.of();
      }
    }
  }

  /**
   * Orders the removal of a bundle.
   *
   * @param symbolicName the symbolic name of the bundle
   */
  record Remove(String symbolicName) implements SwapOrder {
    @Override
    public String words() {
      return "removal of " + symbolicName;
    }

    @Override
    public Set<String> plugins() {
      return Set.of(symbolicName);
    }
  }

  /**
   * Orders new values for keys of configurations.
   *
   * @param values {@code PID.key} with the value from a person's input; an empty one resets the key
   */
  record Configure(Map<String, Optional<String>> values) implements SwapOrder {
    public Configure {
      values = Map.copyOf(values);
    }

    @Override
    public String words() {
      return new TreeMap<>(values)
          .entrySet().stream()
              .map(
                  each ->
                      each.getValue()
                          .map(value -> "set " + each.getKey() + "=" + value)
                          .orElse("unset " + each.getKey()))
              .collect(Collectors.joining(", "));
    }
  }

  /**
   * Orders the distribution's versions of plugins.
   *
   * @param symbolicNames the symbolic names of the plugins; empty for all whose version differs
   *     from the distribution's
   */
  record Adopt(Set<String> symbolicNames) implements SwapOrder {
    public Adopt {
      symbolicNames = Set.copyOf(symbolicNames);
    }

    @Override
    public Set<String> plugins() {
      return symbolicNames;
    }

    @Override
    public String words() {
      return symbolicNames.isEmpty()
          ? "return to the distribution"
          : "return of %s to the distribution"
              .formatted(String.join(", ", new TreeSet<>(symbolicNames)));
    }
  }

  /** Orders the generation before the current one. */
  record Rollback() implements SwapOrder {
    @Override
    public String words() {
      return "rollback";
    }
  }
}
