package dev.polis.kubernetes.control;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.process.ChildOwner;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Publishes the programs that run as root although the node could give them an account. */
public final class RootPrograms {

  private static final String AS_ROOT = "kubernetes-programs-run-as-root";

  private RootPrograms() {}

  /**
   * Publishes and logs the programs.
   *
   * @param owners the owners of all programs of a role that have accounts, by name
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
      String remedy =
          owners.values().stream()
              .map(ChildOwner::remedy)
              .filter(each -> !each.isEmpty())
              .distinct()
              .sorted()
              .collect(Collectors.joining("; "));
      health.set(
          HealthCondition.up(AS_ROOT, remedy.isEmpty() ? text : text + "; to do: " + remedy));
    }
  }
}
