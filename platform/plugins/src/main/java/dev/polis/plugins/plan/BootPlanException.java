package dev.polis.plugins.plan;

import java.util.List;

/**
 * Reports that a set of bundles can not make a node. The message lists everything that is wrong,
 * each with who would have to change.
 */
public final class BootPlanException extends Exception {
  private static final long serialVersionUID = 1;

  private final transient List<String> problems;

  BootPlanException(List<String> problems) {
    super("the boot plan is refused:\n  - " + String.join("\n  - ", problems));
    this.problems = List.copyOf(problems);
  }

  /**
   * @return what is wrong, one sentence or two each
   */
  public List<String> problems() {
    return problems;
  }
}
