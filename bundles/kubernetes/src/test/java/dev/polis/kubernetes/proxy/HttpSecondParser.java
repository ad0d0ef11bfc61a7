package dev.polis.kubernetes.proxy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads requests with Netty, which shares no code with the proxy. */
final class HttpSecondParser {

  private static final int LARGE = 1 << 20;

  /**
   * The result of reading a connection.
   *
   * @param requests the whole requests
   * @param begun whether another request began and did not end
   * @param wrong the refusal, if it refused a request; it reads nothing behind that
   */
  record Reading(List<Read> requests, boolean begun, Optional<String> wrong) {}

  /**
   * A request that is whole.
   *
   * @param users the values of X-Remote-User
   * @param body the body without its framing
   */
  record Read(String method, String target, List<String> users, String body) {}

  private HttpSecondParser() {}

  static Reading read(byte[] bytes) {
    EmbeddedChannel channel =
        new EmbeddedChannel(
            new HttpRequestDecoder(
                new HttpDecoderConfig()
                    .setMaxInitialLineLength(LARGE)
                    .setMaxHeaderSize(LARGE)
                    .setStrictLineParsing(true)
                    .setValidateHeaders(true)));
    try {
      channel.writeInbound(Unpooled.wrappedBuffer(bytes));
      return reading(channel);
    } finally {
      channel.finishAndReleaseAll();
    }
  }

  private static Reading reading(EmbeddedChannel channel) {
    List<Read> requests = new ArrayList<>();
    Optional<HttpRequest> head = Optional.empty();
    StringBuilder body = new StringBuilder();
    for (HttpObject next = channel.readInbound(); next != null; next = channel.readInbound()) {
      if (next.decoderResult().isFailure()) {
        return new Reading(
            requests, head.isPresent(), Optional.of(next.decoderResult().cause().toString()));
      }
      if (next instanceof HttpRequest request) {
        head = Optional.of(request);
        body.setLength(0);
      }
      if (next instanceof HttpContent content) {
        ByteBuf part = content.content();
        body.append(part.toString(StandardCharsets.ISO_8859_1));
        part.release();
      }
      if (next instanceof LastHttpContent) {
        HttpRequest whole = head.orElseThrow();
        requests.add(
            new Read(
                whole.method().name(),
                whole.uri(),
                whole.headers().getAll("X-Remote-User"),
                body.toString()));
        head = Optional.empty();
      }
    }
    return new Reading(requests, head.isPresent(), Optional.empty());
  }
}
