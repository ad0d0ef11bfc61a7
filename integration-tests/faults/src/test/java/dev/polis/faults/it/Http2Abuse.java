package dev.polis.faults.it;

import static dev.polis.faults.it.Http2Peer.ACK;
import static dev.polis.faults.it.Http2Peer.END_HEADERS;
import static dev.polis.faults.it.Http2Peer.END_STREAM;
import static dev.polis.faults.it.Http2Peer.NOTHING;
import static dev.polis.faults.it.Http2Peer.NO_FLAGS;
import static dev.polis.faults.it.Http2Peer.PADDED;
import static dev.polis.faults.it.Http2Peer.frame;
import static dev.polis.faults.it.Http2Peer.integer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Attacks a connection as a whole.
 *
 * @param attack sends the bytes; a failure to send means that the node has closed the connection
 */
record Http2Abuse(Attack attack) {

  /** So many frames that memory kept for each would show, and that every limit is met. */
  private static final int FLOOD = 20_000;

  /** Twice as many streams as one connection may have at a time. */
  private static final int HALF_OPEN = 512;

  /** The frames that are sent together, so that a flood costs the client little. */
  private static final int TOGETHER = 100;

  /** Attacks a connection on which only the preface and settings were sent. */
  @FunctionalInterface
  interface Attack {
    void on(Http2Peer peer) throws IOException;
  }

  /** Returns all known attacks, by name. */
  static Map<String, Http2Abuse> all(Http2Call good, SplittableRandom random) {
    Map<String, Http2Abuse> all = new LinkedHashMap<>();
    frames().forEach((name, frames) -> all.put(name, new Http2Abuse(peer -> peer.send(frames))));
    byte[] block = Http2Peer.block(good.headers());
    all.putAll(streams(block));
    all.putAll(floods(block));
    all.put("random frames", new Http2Abuse(peer -> randomFrames(peer, random)));
    all.put("random bytes", new Http2Abuse(peer -> peer.send(random(random, 4096))));
    all.put("a call with flipped bits", new Http2Abuse(peer -> flipped(peer, block, random)));
    return all;
  }

  /** Returns single forbidden frames. */
  private static Map<String, byte[]> frames() {
    Map<String, byte[]> all = new LinkedHashMap<>();
    all.put("DATA on a stream that is not", frame(Http2Peer.DATA, END_STREAM, 1, new byte[5]));
    all.put("DATA on the connection", frame(Http2Peer.DATA, NO_FLAGS, 0, new byte[5]));
    all.put("padding beyond the frame", frame(Http2Peer.DATA, PADDED, 1, new byte[] {100, 0}));
    all.put("a window of nothing", frame(Http2Peer.WINDOW_UPDATE, NO_FLAGS, 0, integer(0)));
    all.put(
        "a window beyond 2^31",
        frame(Http2Peer.WINDOW_UPDATE, NO_FLAGS, 0, integer(Integer.MAX_VALUE)));
    all.put("half a window", frame(Http2Peer.WINDOW_UPDATE, NO_FLAGS, 0, new byte[2]));
    all.put("half a ping", frame(Http2Peer.PING, NO_FLAGS, 0, new byte[4]));
    all.put("a ping on a stream", frame(Http2Peer.PING, NO_FLAGS, 1, new byte[8]));
    all.put("half a setting", frame(Http2Peer.SETTINGS, NO_FLAGS, 0, new byte[3]));
    all.put("settings on a stream", frame(Http2Peer.SETTINGS, NO_FLAGS, 1, NOTHING));
    all.put("an acknowledgement with settings", frame(Http2Peer.SETTINGS, ACK, 0, new byte[6]));
    all.put("acknowledged settings that never were", frame(Http2Peer.SETTINGS, ACK, 0, NOTHING));
    all.put("a window of 2^31 for all", setting(4, Integer.MIN_VALUE));
    all.put("frames of no size", setting(5, 0));
    all.put("frames of 2^32", setting(5, -1));
    all.put("pushes twice allowed", setting(2, 2));
    all.put("a header table of 2^32", setting(1, -1));
    all.put("a setting of no name", setting(0xffff, 1));
    all.put("a frame of no type", frame(0xfa, NO_FLAGS, 0, new byte[16]));
    all.put("a frame beyond the size", frame(1 << 20, Http2Peer.DATA, NO_FLAGS, 1, new byte[64]));
    all.put("a pushed promise", frame(Http2Peer.PUSH_PROMISE, END_HEADERS, 1, integer(2)));
    all.put("a continuation of nothing", frame(Http2Peer.CONTINUATION, END_HEADERS, 1, NOTHING));
    all.put("a reset of nothing", frame(Http2Peer.RST_STREAM, NO_FLAGS, 1, integer(8)));
    all.put("a farewell", frame(Http2Peer.GOAWAY, NO_FLAGS, 0, new byte[8]));
    all.put("half a farewell", frame(Http2Peer.GOAWAY, NO_FLAGS, 0, new byte[4]));
    all.put("headers that are none", frame(Http2Peer.HEADERS, END_HEADERS, 1, full(64, 0xff)));
    all.put("no headers", frame(Http2Peer.HEADERS, END_HEADERS | END_STREAM, 1, NOTHING));
    all.put("headers on the connection", frame(Http2Peer.HEADERS, END_HEADERS, 0, NOTHING));
    all.put("half a frame", new byte[] {0, 1, 0, 0, 0});
    return all;
  }

  private static byte[] setting(int id, int value) {
    byte[] setting = ByteBuffer.allocate(6).putShort((short) id).putInt(value).array();
    return frame(Http2Peer.SETTINGS, NO_FLAGS, 0, setting);
  }

  /** Returns forbidden begins of streams. */
  private static Map<String, Http2Abuse> streams(byte[] block) {
    Map<String, Http2Abuse> all = new LinkedHashMap<>();
    byte[] first = frame(Http2Peer.HEADERS, END_HEADERS, 1, block);
    all.put(
        "a stream of the other side's",
        new Http2Abuse(peer -> peer.send(frame(Http2Peer.HEADERS, END_HEADERS, 2, block))));
    all.put(
        "a stream with a smaller number",
        new Http2Abuse(
            peer ->
                peer.send(
                    frame(Http2Peer.HEADERS, END_HEADERS, 5, block),
                    frame(Http2Peer.HEADERS, END_HEADERS, 3, block))));
    all.put("headers twice", new Http2Abuse(peer -> peer.send(first, first)));
    all.put(
        "DATA after the end",
        new Http2Abuse(
            peer ->
                peer.send(
                    first,
                    frame(Http2Peer.DATA, END_STREAM, 1, new byte[5]),
                    frame(Http2Peer.DATA, END_STREAM, 1, new byte[5]))));
    all.put(
        "a window beyond 2^31 for a stream",
        new Http2Abuse(
            peer ->
                peer.send(
                    first,
                    frame(Http2Peer.WINDOW_UPDATE, NO_FLAGS, 1, integer(Integer.MAX_VALUE)))));
    all.put(
        "another frame amid headers",
        new Http2Abuse(
            peer ->
                peer.send(
                    frame(Http2Peer.HEADERS, NO_FLAGS, 1, block),
                    frame(Http2Peer.PING, NO_FLAGS, 0, new byte[8]))));
    all.put(
        "a stream that depends on itself",
        new Http2Abuse(peer -> peer.send(frame(Http2Peer.PRIORITY, NO_FLAGS, 1, priority(1)))));
    return all;
  }

  private static byte[] priority(int on) {
    return ByteBuffer.allocate(5).putInt(on).put((byte) 1).array();
  }

  /** Returns floods of frames that are harmless once. */
  private static Map<String, Http2Abuse> floods(byte[] block) {
    Map<String, Http2Abuse> all = new LinkedHashMap<>();
    all.put(
        "a flood of settings",
        flood(FLOOD, stream -> frame(Http2Peer.SETTINGS, NO_FLAGS, 0, NOTHING)));
    all.put(
        "a flood of pings",
        flood(FLOOD, stream -> frame(Http2Peer.PING, NO_FLAGS, 0, new byte[8])));
    all.put(
        "a flood of priorities",
        flood(FLOOD, stream -> frame(Http2Peer.PRIORITY, NO_FLAGS, stream, priority(0))));
    all.put(
        "a flood of windows",
        flood(FLOOD, stream -> frame(Http2Peer.WINDOW_UPDATE, NO_FLAGS, 0, integer(1))));
    all.put(
        "a storm of resets",
        flood(
            FLOOD,
            opened(block, stream -> frame(Http2Peer.RST_STREAM, NO_FLAGS, stream, integer(8)))));
    all.put(
        "a storm of windows that reset",
        flood(
            FLOOD,
            opened(block, stream -> frame(Http2Peer.WINDOW_UPDATE, NO_FLAGS, stream, integer(0)))));
    all.put(
        "streams that are never ended",
        flood(HALF_OPEN, stream -> frame(Http2Peer.HEADERS, END_HEADERS, stream, block)));
    all.put(
        "messages that are never ended",
        flood(
            HALF_OPEN,
            opened(
                block,
                stream ->
                    frame(
                        Http2Peer.DATA,
                        NO_FLAGS,
                        stream,
                        Http2Peer.message(0, 4 << 20, new byte[1000])))));
    all.put("a flood of empty DATA", emptyData(block));
    all.put("a flood of continuations", continuations(block, 1));
    all.put("a flood of empty continuations", continuations(block, 0));
    return all;
  }

  /** Makes the frames for a stream. */
  @FunctionalInterface
  private interface Frames {
    byte[] of(int stream);
  }

  /** Begins each stream with the head of a call. */
  private static Frames opened(byte[] block, Frames then) {
    return stream -> both(frame(Http2Peer.HEADERS, END_HEADERS, stream, block), then.of(stream));
  }

  private static Http2Abuse flood(int count, Frames frames) {
    return new Http2Abuse(
        peer -> {
          for (int sent = 0; sent < count; sent += TOGETHER) {
            byte[][] together = new byte[TOGETHER][];
            for (int frame = 0; frame < TOGETHER; frame++) {
              together[frame] = frames.of(peer.nextStream());
            }
            peer.send(together);
          }
        });
  }

  private static Http2Abuse emptyData(byte[] block) {
    return new Http2Abuse(
        peer -> {
          int stream = peer.nextStream();
          peer.send(frame(Http2Peer.HEADERS, END_HEADERS, stream, block));
          flood(FLOOD, any -> frame(Http2Peer.DATA, NO_FLAGS, stream, NOTHING)).attack.on(peer);
        });
  }

  private static Http2Abuse continuations(byte[] block, int length) {
    return new Http2Abuse(
        peer -> {
          int stream = peer.nextStream();
          peer.send(frame(Http2Peer.HEADERS, NO_FLAGS, stream, block));
          byte[] more = new byte[length];
          flood(FLOOD, any -> frame(Http2Peer.CONTINUATION, NO_FLAGS, stream, more))
              .attack
              .on(peer);
        });
  }

  // ---- random bytes

  private static void randomFrames(Http2Peer peer, SplittableRandom random) throws IOException {
    for (int frame = 0; frame < 200; frame++) {
      byte[] payload = random(random, random.nextInt(64));
      // Mostly known types, on few streams, so that frames affect each other.
      peer.send(frame(random.nextInt(11), random.nextInt(64), random.nextInt(8), payload));
    }
  }

  private static void flipped(Http2Peer peer, byte[] block, SplittableRandom random)
      throws IOException {
    byte[] call =
        both(
            frame(Http2Peer.HEADERS, END_HEADERS, 1, block),
            frame(Http2Peer.DATA, END_STREAM, 1, new byte[5]));
    int flips = 1 + random.nextInt(4);
    for (int flip = 0; flip < flips; flip++) {
      call[random.nextInt(call.length)] ^= (byte) (1 << random.nextInt(8));
    }
    peer.send(call);
  }

  private static byte[] random(SplittableRandom random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private static byte[] full(int length, int value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private static byte[] both(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }
}
