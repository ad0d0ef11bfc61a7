package dev.polis.supervision;

import dev.polis.event.Value;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/** Offers the supervision tree of a node as a service. Usable from any thread. */
@ProviderType
public interface Supervisor {

  /**
   * Opens a subtree directly under the root, {@code root.<name>}.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}
   * @return the subtree; its opener closes it
   * @throws SupervisionException if the name is malformed or in use: then the former owner has not
   *     closed it
   */
  Subtree organ(String name);

  /**
   * Returns all runnables and subtrees at this moment, parents before children. The list is made
   * afresh for each get and peek; its size is that of the tree.
   *
   * @return follows the tree; never empty
   */
  Value<List<RunnableStatus>> runnables();

  /**
   * Calls a listener for each change of state from now on.
   *
   * @param listener what to call
   * @return closing it ends the calls
   */
  Registration listen(TransitionListener listener);

  /** An end that cannot fail. */
  @ProviderType
  interface Registration extends AutoCloseable {
    @Override
    void close();
  }
}
