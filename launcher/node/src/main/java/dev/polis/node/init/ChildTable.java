package dev.polis.node.init;

import dev.polis.base.posix.Children;
import dev.polis.base.posix.Errno;
import dev.polis.base.posix.PosixException;
import java.io.IOException;
import java.util.List;

/** Lists children of this process that have exited, and collects them. */
public interface ChildTable {
  /** Lists the process ids of children that have exited and were not yet collected. */
  List<Long> exited() throws IOException;

  /**
   * Collects a child.
   *
   * @return whether it was still there to be collected
   */
  boolean reap(long pid) throws IOException;

  /** Returns the kernel's table. */
  static ChildTable ofKernel() {
    return new ChildTable() {
      @Override
      public List<Long> exited() throws IOException {
        return Children.exited();
      }

      @Override
      public boolean reap(long pid) throws IOException {
        try {
          return Children.reap(pid);
        } catch (PosixException e) {
          if (e.errno() == Errno.ECHILD) {
            return false; // The JDK collected it meanwhile: it was a child of the JDK.
          }
          throw e;
        }
      }
    };
  }
}
