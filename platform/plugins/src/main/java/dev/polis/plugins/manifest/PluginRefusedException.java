package dev.polis.plugins.manifest;

import java.util.Objects;

/** Reports the refusal of a plugin; the message names the plugin, the fault and the remedy. */
public final class PluginRefusedException extends Exception {
  private static final long serialVersionUID = 1;

  private final RefusalReason reason;
  private final String fault;
  private final String remedy;

  /** Creates it with a message for people. */
  public PluginRefusedException(RefusalReason reason, String message) {
    this(reason, message, null);
  }

  /** Creates it with a message for people and a cause. */
  public PluginRefusedException(RefusalReason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = Objects.requireNonNull(reason, "reason");
    this.fault = message;
    this.remedy = "";
  }

  /**
   * Refuses with a message that ends with what to do next.
   *
   * @param fault what is wrong
   * @param remedy what to do next
   */
  PluginRefusedException(RefusalReason reason, String fault, String remedy, Throwable cause) {
    super(fault + "; " + remedy, cause);
    this.reason = Objects.requireNonNull(reason, "reason");
    this.fault = fault;
    this.remedy = remedy;
  }

  /** Returns what is wrong: the message without what {@link #remedy} returns. */
  public String fault() {
    return fault;
  }

  /** Returns what to do next, if it is known apart from the message; else it is empty. */
  public String remedy() {
    return remedy;
  }

  public RefusalReason reason() {
    return reason;
  }
}
