package dev.polis.kubernetes.control;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import java.util.List;

/** Says which files of Kubernetes' programs were not as the node had written them. */
public final class RestoredFiles {

  private static final String RESTORED = "kubernetes-files-restored";

  private RestoredFiles() {}

  /** Publishes them; says nothing if there are none. */
  public static void tell(List<String> files, HealthScope health, Log log) {
    if (!files.isEmpty()) {
      String what =
          "changed or removed by something else, and written again before the start of a program: "
              + String.join(", ", files);
      log.warning("%s", what);
      health.set(HealthCondition.up(RESTORED, what));
    }
  }
}
