package dev.polis.plugins.manifest;

import java.util.Objects;

/**
 * Reports that a plugin is refused. The message names the plugin, what is wrong, and what to do
 * next.
 */
public final class PluginRefusedException extends Exception {
  private static final long serialVersionUID = 1;

  private final RefusalReason reason;

  /** Refuses with a message for people. */
  public PluginRefusedException(RefusalReason reason, String message) {
    this(reason, message, null);
  }

  /** Refuses with a message for people and a cause. */
  public PluginRefusedException(RefusalReason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = Objects.requireNonNull(reason, "reason");
  }

  /** Returns why. */
  public RefusalReason reason() {
    return reason;
  }
}
