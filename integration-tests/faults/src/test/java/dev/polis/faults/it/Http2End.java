package dev.polis.faults.it;

import io.netty.handler.codec.http2.Http2Headers;
import java.util.Set;

/**
 * Holds the end of a stream or a connection.
 *
 * @param kind the kind of end @param code the code of gRPC, of HTTP, or of HTTP/2, by the
 *     kind @param words the message
 */
record Http2End(Kind kind, int code, String words) {

  /** The kind of an end. */
  enum Kind {
    OPEN,
    CLOSED,
    GRPC,
    HTTP,
    RESET,
    GOAWAY
  }

  static final Http2End OPEN = new Http2End(Kind.OPEN, 0, "");
  static final Http2End CLOSED = new Http2End(Kind.CLOSED, 0, "");

  /** The codes UNKNOWN, INTERNAL and DATA_LOSS. */
  private static final Set<Integer> GRPC_DEFECTS = Set.of(2, 13, 15);

  private static final int HTTP2_INTERNAL_ERROR = 2;
  private static final int HTTP_SERVER_ERRORS = 500;

  static Http2End of(Http2Headers trailers) {
    CharSequence http = trailers.status();
    if (http != null && !"200".contentEquals(http)) {
      return new Http2End(Kind.HTTP, Integer.parseInt(http.toString()), trailers.toString());
    }
    CharSequence grpc = trailers.get("grpc-status");
    return grpc == null
        ? new Http2End(Kind.CLOSED, 0, "no status in " + trailers)
        : new Http2End(
            Kind.GRPC,
            Integer.parseInt(grpc.toString()),
            String.valueOf(trailers.get("grpc-message")));
  }

  static Http2End reset(int code) {
    return new Http2End(Kind.RESET, code, "");
  }

  static Http2End goAway(int code, String words) {
    return new Http2End(Kind.GOAWAY, code, words);
  }

  boolean isOpen() {
    return kind == Kind.OPEN;
  }

  boolean isOk() {
    return kind == Kind.GRPC && code == 0;
  }

  /** Returns whether it blames the node, although the fault was the caller's. */
  boolean isDefect() {
    return switch (kind) {
      case GRPC -> GRPC_DEFECTS.contains(code);
      case HTTP -> code >= HTTP_SERVER_ERRORS;
      case RESET, GOAWAY -> code == HTTP2_INTERNAL_ERROR;
      case OPEN, CLOSED -> false;
    };
  }

  @Override
  public String toString() {
    return kind + " " + code + (words.isEmpty() ? "" : " (" + words + ")");
  }
}
