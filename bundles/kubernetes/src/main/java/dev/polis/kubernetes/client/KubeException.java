package dev.polis.kubernetes.client;

import java.io.IOException;

/** Reports a refusal of the API server, with its HTTP code. */
public final class KubeException extends IOException {

  private static final long serialVersionUID = 1L;

  private final int code;

  KubeException(int code, String message) {
    super(message);
    this.code = code;
  }

  public int code() {
    return code;
  }
}
