package dev.polis.kubernetes.proxy;

/** Lists the status codes that the proxy reads or sends. */
final class HttpCodes {

  static final int SWITCHING_PROTOCOLS = 101;
  static final int OK = 200;
  static final int NO_CONTENT = 204;
  static final int NOT_MODIFIED = 304;
  static final int BAD_REQUEST = 400;
  static final int UNAUTHORIZED = 401;
  static final int METHOD_NOT_ALLOWED = 405;
  static final int EXPECTATION_FAILED = 417;
  static final int HEAD_TOO_LARGE = 431;
  static final int NOT_IMPLEMENTED = 501;
  static final int BAD_GATEWAY = 502;
  static final int UNAVAILABLE = 503;
  static final int GATEWAY_TIMEOUT = 504;
  static final int VERSION_NOT_SUPPORTED = 505;

  private HttpCodes() {}
}
