package dev.polis.curator.api;

import dev.polis.plugins.manifest.KeyId;
import java.util.List;

/** Finds the running plugins that a key has signed. */
@FunctionalInterface
public interface SignedPlugins {

  /** Returns their names and versions. */
  List<String> by(KeyId key);
}
