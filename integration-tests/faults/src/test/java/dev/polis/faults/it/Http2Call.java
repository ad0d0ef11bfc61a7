package dev.polis.faults.it;

import static dev.polis.faults.it.Http2Peer.END_HEADERS;
import static dev.polis.faults.it.Http2Peer.END_STREAM;
import static dev.polis.faults.it.Http2Peer.NOTHING;
import static dev.polis.faults.it.Http2Peer.NO_FLAGS;
import static dev.polis.faults.it.Http2Peer.frame;
import static dev.polis.faults.it.Http2Peer.message;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;

/**
 * Holds a call in the form of HTTP/2, with one fault.
 *
 * @param name the fault @param headers the headers as sent @param body the content of the DATA
 *     frames; without content there are none @param besides the allowed end other than a refusal
 *     that blames the caller
 */
record Http2Call(
    String name, List<Map.Entry<String, String>> headers, byte[] body, Besides besides) {

  /** The allowed end of a call besides a refusal. */
  enum Besides {
    NOTHING,
    /** The fault may be ignored. */
    SERVED,
    /**
     * gRPC's own decoder of frames answers, below the node's code: its specification prescribes
     * INTERNAL for a message marked as compressed without an encoding, and its Java code sends it
     * for similar faults.
     */
    INTERNAL
  }

  /** The largest payload that a peer accepts by default. */
  private static final int FRAME = 16_384;

  private static final byte[] EMPTY_MESSAGE = message(0, 0, NOTHING);

  /** Returns a call without a fault, of a method that takes an empty message. */
  static Http2Call good(String path) {
    List<Map.Entry<String, String>> headers =
        List.of(
            Map.entry(":method", "POST"),
            Map.entry(":scheme", "https"),
            Map.entry(":path", path),
            Map.entry(":authority", "node"),
            Map.entry("content-type", "application/grpc"),
            Map.entry("te", "trailers"));
    return new Http2Call("no fault", headers, EMPTY_MESSAGE, Besides.SERVED);
  }

  /** Sends it as a stream of its own, and returns the stream's id. */
  int send(Http2Peer peer) throws IOException {
    int stream = peer.nextStream();
    byte[] block = Http2Peer.block(headers);
    ByteArrayOutputStream frames = new ByteArrayOutputStream();
    int end = body.length == 0 ? END_STREAM : NO_FLAGS;
    headers(frames, stream, block, end);
    for (int at = 0; at < body.length; at += FRAME) {
      int length = Math.min(FRAME, body.length - at);
      byte[] part = new byte[length];
      System.arraycopy(body, at, part, 0, length);
      int last = at + length == body.length ? END_STREAM : NO_FLAGS;
      frames.writeBytes(frame(Http2Peer.DATA, last, stream, part));
    }
    peer.send(frames.toByteArray());
    return stream;
  }

  private static void headers(ByteArrayOutputStream frames, int stream, byte[] block, int end) {
    for (int at = 0; at == 0 || at < block.length; at += FRAME) {
      int length = Math.min(FRAME, block.length - at);
      byte[] part = new byte[length];
      System.arraycopy(block, at, part, 0, length);
      int flags = at + length == block.length ? END_HEADERS : NO_FLAGS;
      frames.writeBytes(
          at == 0
              ? frame(Http2Peer.HEADERS, flags | end, stream, part)
              : frame(Http2Peer.CONTINUATION, flags, stream, part));
    }
  }

  // ---- faults

  private Http2Call named(String what) {
    return new Http2Call(what, headers, body, Besides.NOTHING);
  }

  private Http2Call overlooked() {
    return new Http2Call(name, headers, body, Besides.SERVED);
  }

  private Http2Call belowUs() {
    return new Http2Call(name, headers, body, Besides.INTERNAL);
  }

  private Http2Call body(byte[] other) {
    return new Http2Call(name, headers, other, besides);
  }

  private Http2Call without(String header) {
    List<Map.Entry<String, String>> fewer = new ArrayList<>(headers);
    fewer.removeIf(entry -> entry.getKey().equals(header));
    return new Http2Call(name, fewer, body, besides);
  }

  private Http2Call with(String header, String value) {
    List<Map.Entry<String, String>> more = new ArrayList<>(without(header).headers);
    // Pseudo-headers must come first.
    more.add(header.startsWith(":") ? 0 : more.size(), Map.entry(header, value));
    return new Http2Call(name, more, body, besides);
  }

  private Http2Call and(String header, String value) {
    List<Map.Entry<String, String>> more = new ArrayList<>(headers);
    more.add(Map.entry(header, value));
    return new Http2Call(name, more, body, besides);
  }

  /** Returns every fault, each in an otherwise valid call. */
  static List<Http2Call> faulty(String path) {
    List<Http2Call> all = new ArrayList<>();
    all.addAll(bodies(good(path)));
    all.addAll(encodings(good(path)));
    all.addAll(heads(good(path)));
    all.addAll(paths(good(path)));
    all.addAll(pseudoHeaders(good(path)));
    return all;
  }

  private static List<Http2Call> bodies(Http2Call good) {
    byte[] ten = new byte[10];
    return List.of(
        good.named("no message").body(NOTHING),
        good.named("half a prefix").body(new byte[] {0, 0, 0}).belowUs(),
        good.named("a length beyond the body").body(message(0, 100, ten)).belowUs(),
        good.named("a length short of the body").body(message(0, 3, ten)),
        good.named("a length of 2^31").body(message(0, Integer.MIN_VALUE, ten)),
        good.named("a length of 2^32 - 1").body(message(0, -1, ten)),
        good.named("a length of 2^31 - 1").body(message(0, Integer.MAX_VALUE, ten)),
        good.named("a length one above the limit").body(message(0, (4 << 20) + 1, ten)),
        good.named("compressed without an encoding").body(message(1, 10, ten)).belowUs(),
        good.named("reserved flags").body(message(0xfe, 0, NOTHING)).belowUs(),
        good.named("two messages where one is due")
            .body(concat(EMPTY_MESSAGE, EMPTY_MESSAGE))
            .overlooked());
  }

  private static List<Http2Call> encodings(Http2Call good) {
    Http2Call gzip = good.with("grpc-encoding", "gzip");
    return List.of(
        good.named("an unknown encoding").with("grpc-encoding", "zzz"),
        good.named("an encoding of 8 KiB").with("grpc-encoding", "z".repeat(8192)),
        gzip.named("garbage marked as gzip").body(message(1, 4, new byte[] {1, 2, 3, 4})),
        gzip.named("half of a gzip stream").body(compressed(1 << 10, 12)),
        gzip.named("a gzip bomb").body(compressed(64 << 20, Integer.MAX_VALUE)));
  }

  private static List<Http2Call> heads(Http2Call good) {
    return List.of(
        good.named("no content type").without("content-type"),
        good.named("a content type of text").with("content-type", "text/plain"),
        good.named("a content type that only begins well")
            .with("content-type", "application/grpcx"),
        good.named("another codec").with("content-type", "application/grpc+json").overlooked(),
        good.named("no te").without("te").overlooked(),
        good.named("another te").with("te", "gzip").overlooked(),
        good.named("a timeout that is no number").with("grpc-timeout", "abc"),
        good.named("an empty timeout").with("grpc-timeout", ""),
        good.named("a timeout without a unit").with("grpc-timeout", "100"),
        good.named("a timeout in no unit").with("grpc-timeout", "10x"),
        good.named("a negative timeout").with("grpc-timeout", "-1S"),
        good.named("no time at all").with("grpc-timeout", "0n"),
        good.named("a timeout of many digits").with("grpc-timeout", "99999999999999999999H"),
        good.named("two timeouts")
            .with("grpc-timeout", "10S")
            .and("grpc-timeout", "x")
            .overlooked(),
        good.named("a binary header that is no base64").with("x-bin", "!!!!").overlooked(),
        good.named("a binary header of half a character").with("x-bin", "A").overlooked(),
        good.named("a header of 20 KiB").with("x", "x".repeat(20 << 10)),
        good.named("a header of 200 KiB").with("x", "x".repeat(200 << 10)),
        many(good.named("2000 headers")),
        good.named("a header in capitals").with("X-Capital", "x"),
        good.named("a header with a line end").with("x", "a\r\nb: c").overlooked(),
        good.named("a header with NUL").with("x", "a\0b").overlooked(),
        good.named("a header of no name").and("", "x").overlooked(),
        good.named("a header of another connection").with("connection", "keep-alive"),
        good.named("a length of content that is not so").with("content-length", "1"),
        good.named("a length of content that is no number").with("content-length", "x"));
  }

  private static Http2Call many(Http2Call call) {
    List<Map.Entry<String, String>> more = new ArrayList<>(call.headers);
    for (int header = 0; header < 2000; header++) {
      more.add(Map.entry("x" + header, "x"));
    }
    return new Http2Call(call.name, more, call.body, Besides.NOTHING);
  }

  private static List<Http2Call> paths(Http2Call good) {
    List<Http2Call> all = new ArrayList<>();
    for (String path :
        List.of(
            "",
            "/",
            "//",
            "*",
            "/x",
            "/x/",
            "/x/y",
            "/../../etc/passwd",
            "/x/y/z",
            "no-slash",
            "/%00/%00",
            "/\u00fc/\u202e",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "/" + "x".repeat(8000) + "/y")) {
      String shown = path.length() < 80 ? path : path.substring(0, 10) + "… of " + path.length();
      Http2Call call = good.named("the path '" + shown + "'").with(":path", path);
      all.add(path.isEmpty() ? call.belowUs() : call);
    }
    all.add(good.named("no path").without(":path"));
    return all;
  }

  private static List<Http2Call> pseudoHeaders(Http2Call good) {
    return List.of(
        good.named("GET").with(":method", "GET"),
        good.named("CONNECT").with(":method", "CONNECT"),
        good.named("a method of no name").with(":method", ""),
        good.named("no method").without(":method"),
        good.named("no scheme").without(":scheme").overlooked(),
        good.named("an odd scheme").with(":scheme", "gopher").overlooked(),
        good.named("no authority").without(":authority").overlooked(),
        good.named("an odd authority").with(":authority", "@:/?#\u00fc").overlooked(),
        good.named("two authorities").and("host", "other").and("host", "another").overlooked(),
        good.named("two methods").and(":method", "POST"),
        good.named("a pseudo-header of answers").with(":status", "200"),
        good.named("a pseudo-header of none").with(":polis", "x"));
  }

  private static byte[] concat(byte[] first, byte[] second) {
    ByteArrayOutputStream both = new ByteArrayOutputStream();
    both.writeBytes(first);
    both.writeBytes(second);
    return both.toByteArray();
  }

  /** Returns a compressed message of zeros, cut after some bytes. */
  private static byte[] compressed(int zeros, int cut) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
      byte[] some = new byte[1 << 10];
      for (int written = 0; written < zeros; written += some.length) {
        gzip.write(some);
      }
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    byte[] content = Arrays.copyOf(bytes.toByteArray(), Math.min(cut, bytes.size()));
    return message(1, content.length, content);
  }

  @Override
  public String toString() {
    return name;
  }
}
