package dev.polis.plugins.local;

import dev.polis.base.values.Value;
import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.plugins.swap.SwapStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/** Shows and replaces the plugins of the running node. Usable from any thread. */
@ProviderType
public interface LocalPlugins {

  /**
   * Returns the node's inventory of plugins. It changes when a swap has ended, a file has arrived,
   * or the cluster's wishes or trusted keys have changed.
   *
   * @return empty while the plugin store cannot be read
   */
  Value<LocalInventory> inventory();

  /**
   * Returns the newest swap of this node, whichever caller ordered it.
   *
   * @return empty before the first swap
   */
  Value<SwapStatus> newest();

  /**
   * Stores the cluster's wishes, which manual swaps and the collection of files heed, now and after
   * the next start.
   *
   * @param wants the new wishes, in place of the former
   * @throws IOException if the write fails; then the former wishes count
   */
  void want(ClusterWants wants) throws IOException;

  /**
   * Returns the store of files that arrive piece by piece.
   *
   * @return the store that also receives the operators' files
   */
  StagedFiles staged();

  /** Reads the inventory again, after a change of {@link #staged}. */
  void refresh();

  /**
   * Finds a complete file.
   *
   * @param digest the digest of the file
   * @return its path; empty if this node lacks it
   */
  Optional<Path> file(Digest digest);

  /**
   * Begins a swap. It continues whether or not its status is watched.
   *
   * @param order the order
   * @param options its options
   * @return its status, which ends with an outcome
   * @throws SwapRefusedException if another swap is running, or the node stops
   */
  Value<SwapStatus> begin(SwapOrder order, SwapOptions options) throws SwapRefusedException;
}
