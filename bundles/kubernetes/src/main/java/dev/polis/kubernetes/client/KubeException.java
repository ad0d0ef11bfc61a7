package dev.polis.kubernetes.client;

import java.io.IOException;

/** Says what the API server refused, with its HTTP code and its reason. */
public final class KubeException extends IOException {

  private static final long serialVersionUID = 1L;

  private final int code;
  private final String reason;

  KubeException(int code, String reason, String message) {
    super(message);
    this.code = code;
    this.reason = reason;
  }

  /** Returns the HTTP code. */
  public int code() {
    return code;
  }

  /** Returns the machine-readable reason of the server's Status, such as {@code AlreadyExists}. */
  public String reason() {
    return reason;
  }
}
