package dev.polis.node.init;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Becomes the parent of orphans, like process 1, and reaps three of them and no child of its own.
 */
public final class ReaperMain {
  /** From prctl.h. */
  private static final int PR_SET_CHILD_SUBREAPER = 36;

  private ReaperMain() {}

  /**
   * @param arguments none
   */
  @SuppressWarnings("restricted") // The test starts this with --enable-native-access.
  public static void main(String[] arguments) throws Throwable {
    Linker linker = Linker.nativeLinker();
    MethodHandle prctl =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("prctl"),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
    int result = (int) prctl.invokeExact(PR_SET_CHILD_SUBREAPER, 1L);
    ChildTable linux = ChildTable.ofKernel();
    AtomicInteger count = new AtomicInteger();
    ChildTable counting =
        new ChildTable() {
          @Override
          public List<Long> exited() throws IOException {
            return linux.exited();
          }

          @Override
          public boolean reap(long pid) throws IOException {
            boolean done = linux.reap(pid);
            if (done) {
              System.out.println("REAPED " + count.incrementAndGet() + " subreaper=" + result);
            }
            return done;
          }
        };
    try (Pid1Duties duties = new Pid1Duties(new ChildReaper(counting, System.out::println))) {
      Signals.on("CHLD", name -> duties.handle(name, System.out::println));
      duties.start();
      // The shell ends at once; its orphaned child ends a little later.
      int own =
          new ProcessBuilder("sh", "-c", "sleep 0.1 & sleep 0.1 & sleep 0.1 & exit 7")
              .inheritIO()
              .start()
              .waitFor();
      System.out.println("OWN " + own);
      System.in.read();
    }
  }
}
