package dev.polis.debug;

import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Compares the number of processes and threads in each cgroup around the node with its limit. At
 * the limit, neither the node nor a child starts a thread, and both end for it.
 */
final class ThreadCheck {
  private static final String SHORT = "threads-short";

  /** The number left that is reported; a start of etcd takes ten threads, and a call of it two. */
  private static final int LEAST = 20;

  private final Path proc;
  private final Path cgroups;

  /**
   * @param proc the folder of the kernel's processes
   * @param cgroups the mount point of cgroups
   */
  ThreadCheck(Path proc, Path cgroups) {
    this.proc = proc;
    this.cgroups = cgroups;
  }

  /** Reports a cgroup that admits few more threads. */
  Optional<HealthCondition> look() throws IOException {
    return CgroupFolder.around(proc, cgroups, "pids").stream()
        .flatMap(each -> condition(each).stream())
        .findFirst();
  }

  private static Optional<HealthCondition> condition(CgroupFolder each) {
    Optional<Long> most = each.number("pids.max");
    Optional<Long> now = each.number("pids.current");
    if (most.isEmpty() || now.isEmpty() || most.get() - now.get() >= LEAST) {
      return Optional.empty();
    }
    return Optional.of(
        HealthCondition.degraded(
            SHORT,
            "the cgroup %s, in which the node runs, has %d processes and threads of the %d that it may have: without any left, the node and its programs end"
                .formatted(each.group(), now.get(), most.get()),
            "raise the limit in %s, or with TasksMax= of the unit or the limit of the container"
                .formatted(each.folder().resolve("pids.max"))));
  }
}
