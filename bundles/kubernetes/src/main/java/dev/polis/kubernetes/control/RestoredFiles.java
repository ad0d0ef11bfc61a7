package dev.polis.kubernetes.control;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import java.util.List;

/** Publishes which files of Kubernetes' programs were changed from outside. */
public final class RestoredFiles {

  private static final String RESTORED = "kubernetes-files-restored";

  private RestoredFiles() {}

  /** Publishes the files, if there are any. */
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
