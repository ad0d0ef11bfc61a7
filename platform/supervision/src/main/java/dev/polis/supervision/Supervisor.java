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
   * <p>While a subtree of this name is open, as for a moment during a replacement, another one gets
   * the name {@code root.<name>~2}, or the next free number, and the log reports this. Both log to
   * the journals of {@code root.<name>}. A name is free again when its subtree is closed.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}
   * @return the subtree, which knows its distinguished name; its opener closes it
   * @throws SupervisionException if the name is malformed, the tree is closed, or too many are open
   */
  Subtree organ(String name);

  /**
   * Returns all runnables and subtrees at this moment, parents before children. Each get and peek
   * makes the list anew.
   *
   * @return a value that follows the tree; never empty
   */
  Value<List<RunnableStatus>> runnables();

  /**
   * Returns the present stack of a runnable's thread.
   *
   * @param dn its distinguished name
   * @return innermost first; empty if no runnable has this name, or it does not run
   */
  List<StackTraceElement> stack(String dn);

  /**
   * Calls a listener for each later change of state.
   *
   * @param listener receives the changes
   * @return the registration, whose close ends the calls, without waiting for a call that runs
   * @throws SupervisionException if the tree is closed
   */
  Registration listen(TransitionListener listener);

  /** Ends the calls of a listener; the close cannot fail. */
  @ProviderType
  interface Registration extends AutoCloseable {
    @Override
    void close();
  }
}
