package dev.polis.node;

import dev.polis.base.boot.FailureText;

/**
 * Reports that a component could not be activated. Declarative Services give the failure as the
 * text of a stack trace; its root cause becomes the message.
 */
final class ComponentFailure extends Exception {
  private static final long serialVersionUID = 1;

  private final String organ;
  private final String trace;

  /**
   * @param organ the bundle's name without what all bundles share
   * @param failure the stack trace, as text
   */
  ComponentFailure(String organ, String component, String failure) {
    super(FailureText.rootCause(failure));
    this.organ = organ;
    this.trace = component + " could not be activated: " + failure;
    setStackTrace(new StackTraceElement[0]);
  }

  String organ() {
    return organ;
  }

  @Override
  public String toString() {
    return trace;
  }
}
