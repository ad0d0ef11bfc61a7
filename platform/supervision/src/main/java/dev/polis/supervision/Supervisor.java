package dev.polis.supervision;

import dev.polis.base.values.Value;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/** Offers the supervision tree of a node as a service. Usable from any thread. */
@ProviderType
public interface Supervisor {

  /**
   * Opens a subtree directly under the root, {@code root.<name>}.
   *
   * <p>While one of this name is open, as for a moment during a replacement, another one gets the
   * name {@code root.<name>~2}, or the next number that is free; the log says so. Both log to the
   * journals of {@code root.<name>}, so who follows those reads both. A name is free again when its
   * subtree is closed.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}
   * @return the subtree, which knows its distinguished name; its opener closes it
   * @throws SupervisionException if the name is malformed, the tree is closed, or too many are open
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
   * Returns where the thread of a runnable is at this moment.
   *
   * @param dn its distinguished name
   * @return innermost first; empty if there is none of this name, or it does not run
   */
  List<StackTraceElement> stack(String dn);

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
