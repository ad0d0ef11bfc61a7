package dev.polis.plugins.manifest;

import java.util.Objects;

/** Reports the refusal of a plugin; the message names the plugin, the fault and the remedy. */
public final class PluginRefusedException extends Exception {
  private static final long serialVersionUID = 1;

  private final RefusalReason reason;

  /** Creates it with a message for people. */
  public PluginRefusedException(RefusalReason reason, String message) {
    this(reason, message, null);
  }

  /** Creates it with a message for people and a cause. */
  public PluginRefusedException(RefusalReason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = Objects.requireNonNull(reason, "reason");
  }

  public RefusalReason reason() {
    return reason;
  }
}
