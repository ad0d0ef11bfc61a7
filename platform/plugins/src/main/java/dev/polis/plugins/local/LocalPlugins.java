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

/** Shows and replaces the plugins of the running node, as a service. Usable from any thread. */
@ProviderType
public interface LocalPlugins {

  /**
   * Returns what the node runs and has. It changes when a swap has ended, a file has come, the
   * cluster wants something else, or trusts other keys.
   *
   * @return empty while the plugin store cannot be read
   */
  Value<LocalInventory> inventory();

  /**
   * Returns the newest swap of this node, whichever caller ordered it.
   *
   * @return empty until there was one
   */
  Value<SwapStatus> newest();

  /**
   * Keeps what the cluster wants, so that swaps by hand and the collection of files heed it, now
   * and after the next start.
   *
   * @param wants what it wants, in place of what it wanted before
   * @throws IOException if it cannot be written; what was kept before counts
   */
  void want(ClusterWants wants) throws IOException;

  /**
   * Returns the files that come piece by piece.
   *
   * @return the same ones that operators send theirs to
   */
  StagedFiles staged();

  /** Reads the inventory again, after a change of {@link #staged}. */
  void refresh();

  /**
   * Finds a file that is here whole.
   *
   * @param digest of the file
   * @return where it is; empty if it is not here
   */
  Optional<Path> file(Digest digest);

  /**
   * Begins a swap. It continues whether or not its status is watched.
   *
   * @param order what is wanted
   * @param options how
   * @return its status, which ends with an outcome
   * @throws SwapRefusedException if another one is under way, or the node stops
   */
  Value<SwapStatus> begin(SwapOrder order, SwapOptions options) throws SwapRefusedException;
}
