package dev.polis.rpc;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import java.util.regex.Pattern;

/**
 * Checks the deadline header of a call before gRPC reads it. gRPC answers an unreadable header with
 * a broken stream, as if the node had failed, and logs a stack trace for each such call.
 */
final class CallTimeout extends ServerStreamTracer.Factory {
  private static final Metadata.Key<String> TIMEOUT = key("grpc-timeout");

  /**
   * The project's own header that carries an unreadable deadline to the start of the call; a caller
   * that sends it is refused as well.
   */
  private static final Metadata.Key<String> UNREADABLE = key("polis-unreadable-timeout");

  /** The format that gRPC reads, with one digit less; a negative time has passed already. */
  private static final Pattern READABLE = Pattern.compile("-?[0-9]{1,8}[HMSmun]");

  private static final ServerStreamTracer NOTHING = new ServerStreamTracer() {};

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /**
   * Moves a deadline that gRPC cannot read to the header {@code polis-unreadable-timeout}; called
   * first in each call.
   */
  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    Iterable<String> given = headers.getAll(TIMEOUT);
    if (given != null) {
      for (String each : given) {
        if (!READABLE.matcher(each).matches()) {
          headers.discardAll(TIMEOUT);
          headers.put(UNREADABLE, each);
          return NOTHING;
        }
      }
    }
    return NOTHING;
  }

  /**
   * Refuses a call whose deadline cannot be read.
   *
   * @throws RpcException INVALID_ARGUMENT, with the header's value
   */
  static void requireReadable(Metadata headers) {
    String unreadable = headers.get(UNREADABLE);
    if (unreadable != null) {
      throw RpcException.invalid(
          "grpc-timeout '%s' is no time; give up to 8 digits and one of H, M, S, m, u, n"
              .formatted(unreadable));
    }
  }
}
