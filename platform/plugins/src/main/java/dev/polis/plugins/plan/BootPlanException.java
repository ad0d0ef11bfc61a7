package dev.polis.plugins.plan;

import java.util.List;

/**
 * Reports that a set of bundles cannot form a node; the message lists each fault with the bundle
 * that has to change.
 */
public final class BootPlanException extends Exception {
  private static final long serialVersionUID = 1;

  private final transient List<String> problems;

  BootPlanException(List<String> problems) {
    super("the boot plan is refused:\n  - " + String.join("\n  - ", problems));
    this.problems = List.copyOf(problems);
  }

  /**
   * @return the faults, one or two sentences each
   */
  public List<String> problems() {
    return problems;
  }
}
