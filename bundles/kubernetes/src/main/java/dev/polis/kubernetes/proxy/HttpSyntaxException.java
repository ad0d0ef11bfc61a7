package dev.polis.kubernetes.proxy;

import java.io.IOException;

/** Reports the rule of HTTP that a message breaks. */
final class HttpSyntaxException extends IOException {

  private static final long serialVersionUID = 1L;

  private final int code;

  /**
   * Creates it.
   *
   * @param code the code with which a server answers such a request
   */
  HttpSyntaxException(int code, String message) {
    super(message);
    this.code = code;
  }

  static HttpSyntaxException bad(String message) {
    return new HttpSyntaxException(HttpCodes.BAD_REQUEST, message);
  }

  int code() {
    return code;
  }
}
