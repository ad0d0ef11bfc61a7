package dev.polis.curator;

import dev.polis.plugins.manifest.KeyId;
import java.util.List;

/** Finds the running plugins that a key has signed. */
@FunctionalInterface
interface SignedPlugins {

  /** Returns their names and versions. */
  List<String> by(KeyId key);
}
