package dev.polis.curator.api;

import dev.polis.plugins.manifest.KeyId;
import java.util.List;

/** Finds the running plugins that a key has signed. */
@FunctionalInterface
public interface SignedPlugins {

  /** Returns the names and versions of the plugins. */
  List<String> by(KeyId key);
}
