package dev.polis.logtree.component;

import dev.polis.logtree.Dn;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;

/** Decides by subtree which severities the console prints; raw lines count as INFO. */
final class ConsoleFilter {
  private final TreeMap<String, Severity> minimums;

  private ConsoleFilter(TreeMap<String, Severity> minimums) {
    this.minimums = minimums;
  }

  /**
   * Reads rules of the form {@code name=SEVERITY}.
   *
   * @throws IllegalArgumentException if a rule has another form, quoting it
   */
  static ConsoleFilter parse(List<String> rules) {
    TreeMap<String, Severity> minimums = new TreeMap<>();
    for (String rule : rules) {
      int equals = rule.indexOf('=');
      if (equals < 0) {
        throw new IllegalArgumentException(
            "console rule \""
                + rule
                + "\" has no \"=\"; write name=SEVERITY, as root.storage=INFO");
      }
      minimums.put(Dn.check(rule.substring(0, equals)), severity(rule, rule.substring(equals + 1)));
    }
    return new ConsoleFilter(minimums);
  }

  boolean isEmpty() {
    return minimums.isEmpty();
  }

  boolean admits(LogEntry entry) {
    Severity severity =
        switch (entry.payload()) {
          case LogPayload.Leveled leveled -> leveled.severity();
          case LogPayload.Raw _ -> Severity.INFO;
        };
    // An ancestor sorts before its descendants, so the last match is the longest.
    return minimums.headMap(entry.dn(), true).descendingMap().entrySet().stream()
        .filter(rule -> Dn.isWithin(entry.dn(), rule.getKey()))
        .findFirst()
        .map(rule -> severity.atLeast(rule.getValue()))
        .orElse(false);
  }

  private static Severity severity(String rule, String name) {
    return Arrays.stream(Severity.values())
        .filter(severity -> severity.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "console rule \"%s\" has severity \"%s\"; write one of %s"
                        .formatted(rule, name, Arrays.toString(Severity.values()))));
  }
}
