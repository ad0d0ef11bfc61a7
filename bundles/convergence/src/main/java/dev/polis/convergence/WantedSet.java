package dev.polis.convergence;

import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.List;

/**
 * Holds the last message of the curator.
 *
 * @param plugins the wanted plugins of all nodes
 * @param holders the nodes that can give files
 */
record WantedSet(List<WantedPlugin> plugins, List<PluginHolder> holders) {
  WantedSet {
    plugins = List.copyOf(plugins);
    holders = List.copyOf(holders);
  }

  /** Returns the holders of a file. */
  List<PluginHolder> holders(String digest) {
    return holders.stream().filter(holder -> holder.getFilesList().contains(digest)).toList();
  }
}
