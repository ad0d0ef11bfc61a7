package dev.polis.rpc;

import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names the leader to a caller that asked another curator, in a trailer of the refusal. The caller
 * trusts it only as far as the handshake goes: the named node must prove its certificate.
 */
public final class LeaderHint {

  /** Trailer with the id of the leader and the address of its curator: {@code ID HOST:PORT}. */
  static final Metadata.Key<String> TRAILER =
      Metadata.Key.of("polis-leader", Metadata.ASCII_STRING_MARSHALLER);

  private static final Pattern FORM =
      Pattern.compile("(?<id>\\S+) (\\[(?<v6>[^\\[\\]]+)]|(?<v4>[^:\\[\\]]+)):(?<port>\\d{1,5})");

  private static final int LAST_PORT = 0xffff;

  private LeaderHint() {}

  /** Returns the value of the trailer. */
  static String text(NodeEndpoint leader) {
    return leader.node().text() + " " + HostPort.of(leader.address());
  }

  /**
   * Returns the leader that a refusal names; empty if it names none, or is no refusal of a curator
   * that does not lead. The node that refused has chosen the text, so a text of another form counts
   * as none.
   */
  public static Optional<NodeEndpoint> of(StatusException refusal) {
    Metadata trailers = refusal.getTrailers();
    if (refusal.getStatus().getCode() != Status.Code.UNAVAILABLE || trailers == null) {
      return Optional.empty();
    }
    return Optional.ofNullable(trailers.get(TRAILER)).flatMap(LeaderHint::parse);
  }

  private static Optional<NodeEndpoint> parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches() || !NodeId.matches(matcher.group("id"))) {
      return Optional.empty();
    }
    int port = Integer.parseInt(matcher.group("port"));
    if (port == 0 || port > LAST_PORT) {
      return Optional.empty();
    }
    String host = Optional.ofNullable(matcher.group("v6")).orElseGet(() -> matcher.group("v4"));
    try {
      // A name would let the refusing node make this machine ask a name server.
      return Optional.of(
          new NodeEndpoint(
              NodeId.parse(matcher.group("id")),
              new InetSocketAddress(InetAddress.ofLiteral(host), port)));
    } catch (IllegalArgumentException notAnAddress) {
      return Optional.empty();
    }
  }
}
