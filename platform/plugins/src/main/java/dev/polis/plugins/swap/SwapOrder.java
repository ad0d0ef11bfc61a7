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

/** Names the plugins that the node should run. */
public sealed interface SwapOrder {

  /**
   * Returns the order as a text for people.
   *
   * @return such as {@code swap of plugin.jar}
   */
  String words();

  /**
   * Returns the plugins that the order names.
   *
   * @return symbolic names; empty if only the node knows them
   */
  default Set<String> plugins() {
    return Set.of();
  }

  /**
   * Runs another version of a bundle, or one more bundle.
   *
   * @param file the bundle
   * @param manifest its manifest with the signature
   */
  record Replace(Path file, byte[] manifest) implements SwapOrder {
    /** Copies the manifest. */
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
   * Runs one bundle less.
   *
   * @param symbolicName of the bundle
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
   * Changes keys of configurations.
   *
   * @param values {@code PID.key} with the value as a person types it; empty takes the key back
   */
  record Configure(Map<String, Optional<String>> values) implements SwapOrder {
    /** Copies the values. */
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
   * Runs plugins in the versions that came with the node's distribution.
   *
   * @param symbolicNames of the plugins; empty for all that the distribution has in another version
   */
  record Adopt(Set<String> symbolicNames) implements SwapOrder {
    /** Copies the names. */
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

  /** Runs the generation before the current one. */
  record Rollback() implements SwapOrder {
    @Override
    public String words() {
      return "rollback";
    }
  }
}
