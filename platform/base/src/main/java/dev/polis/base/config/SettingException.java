package dev.polis.base.config;

/** Reports an unusable configuration value, with its key and the reason. */
public final class SettingException extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  private final String pid;
  private final String key;

  SettingException(String pid, String key, Object value, String why) {
    this(pid, key, value, why, null);
  }

  /**
   * @param cause the cause, or null
   */
  SettingException(String pid, String key, Object value, String why, Throwable cause) {
    super("%s.%s is \"%s\", %s".formatted(pid, key, value, why), cause);
    this.pid = pid;
    this.key = key;
  }

  /** Returns the configuration that the value belongs to, such as {@code dev.polis.consensus}. */
  public String pid() {
    return pid;
  }

  /** Returns the key of the value, such as {@code peer.port}. */
  public String key() {
    return key;
  }
}
