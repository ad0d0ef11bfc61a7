package dev.polis.node;

import dev.polis.base.boot.FailureText;

/**
 * Reports that a component could not be activated. Declarative Services give the failure as the
 * text of a stack trace; its root cause becomes the message.
 */
final class ComponentFailure extends Exception {
  private static final long serialVersionUID = 1;

  private final String trace;

  ComponentFailure(ComponentDiagnosis.Failed failed) {
    super(FailureText.rootCause(failed.failure()));
    this.trace = failed.component() + " could not be activated: " + failed.failure();
    setStackTrace(new StackTraceElement[0]);
  }

  @Override
  public String toString() {
    return trace;
  }
}
