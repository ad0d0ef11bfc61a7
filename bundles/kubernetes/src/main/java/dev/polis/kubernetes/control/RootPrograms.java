package dev.polis.kubernetes.control;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.process.ChildOwner;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Tells which programs run as root although each of them has an account on a node that is root. */
public final class RootPrograms {

  private static final String AS_ROOT = "kubernetes-programs-run-as-root";

  private RootPrograms() {}

  /**
   * Publishes them, and writes them into a log.
   *
   * @param owners of all programs of a role that have accounts, by their names
   */
  public static void tell(Map<String, ChildOwner> owners, HealthScope health, Log log) {
    String text =
        new TreeMap<>(owners)
            .entrySet().stream()
                .filter(each -> each.getValue().isHeldBack())
                .map(each -> each.getKey() + " runs as root: " + each.getValue().obstacle())
                .collect(Collectors.joining("; "));
    if (text.isEmpty()) {
      health.clear(AS_ROOT);
    } else {
      log.info("%s", text);
      health.set(HealthCondition.up(AS_ROOT, text));
    }
  }
}
