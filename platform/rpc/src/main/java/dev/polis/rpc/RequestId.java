package dev.polis.rpc;

import io.grpc.Metadata;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Identifies a change that a client may send repeatedly and that the cluster applies once.
 *
 * @param client the client's random id, 32 hexadecimal digits; a client makes one change at a time
 * @param number the number of the change, at least 1; larger for each further change of the client
 */
public record RequestId(String client, long number) {

  /** The header of a call with its id. */
  public static final Metadata.Key<String> HEADER =
      Metadata.Key.of("polis-request-id", Metadata.ASCII_STRING_MARSHALLER);

  private static final int CLIENT_BYTES = 16;

  private static final Pattern FORM =
      Pattern.compile("(?<client>[0-9a-f]{32})-(?<number>[1-9]\\d{0,17})");

  /** Returns the id of the first change of a new client. */
  public static RequestId first(SecureRandom random) {
    byte[] client = new byte[CLIENT_BYTES];
    random.nextBytes(client);
    return new RequestId(HexFormat.of().formatHex(client), 1);
  }

  /** Returns the id of the client's next change. */
  public RequestId next() {
    return new RequestId(client, number + 1);
  }

  /** Returns the value of the header. */
  public String text() {
    return client + "-" + number;
  }

  /**
   * Returns the id of a call; empty if the call has none.
   *
   * @throws RpcException INVALID_ARGUMENT if the header has another form
   */
  public static Optional<RequestId> of(Metadata headers) {
    return Optional.ofNullable(headers.get(HEADER)).map(RequestId::parse);
  }

  private static RequestId parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw RpcException.invalid(
          "the header %s is no id of a change; send 32 hexadecimal digits in lower case, a hyphen, and a number from 1"
              .formatted(HEADER.name()));
    }
    return new RequestId(matcher.group("client"), Long.parseLong(matcher.group("number")));
  }
}
