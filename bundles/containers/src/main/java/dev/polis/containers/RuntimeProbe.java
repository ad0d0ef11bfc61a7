package dev.polis.containers;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Checks whether containerd answers: it opens an HTTP/2 connection, as gRPC does, and waits for the
 * server's settings. A stopped process still gets connections, since the kernel accepts them for
 * it, but it sends nothing.
 */
final class RuntimeProbe {

  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /** The bytes of an empty frame: three of length, the type, flags, and the stream. */
  private static final int FRAME = 9;

  private static final int TYPE = 3;
  private static final byte SETTINGS = 4;

  private RuntimeProbe() {}

  /** Returns whether containerd answers at its socket in time. */
  static boolean answers(Path socket, Duration within) {
    try (Selector selector = Selector.open();
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      channel.write(greeting());
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_READ);
      return readsSettings(selector, channel, System.nanoTime() + within.toNanos());
    } catch (IOException nobodyThere) {
      return false;
    }
  }

  private static ByteBuffer greeting() {
    byte[] settings = new byte[FRAME];
    settings[TYPE] = SETTINGS;
    return ByteBuffer.allocate(PREFACE.length + FRAME).put(PREFACE).put(settings).flip();
  }

  private static boolean readsSettings(Selector selector, SocketChannel channel, long deadline)
      throws IOException {
    ByteBuffer frame = ByteBuffer.allocate(FRAME);
    while (frame.hasRemaining()) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0 || Thread.currentThread().isInterrupted()) {
        return false;
      }
      selector.select(left);
      selector.selectedKeys().clear();
      if (channel.read(frame) < 0) {
        return false;
      }
    }
    return frame.get(TYPE) == SETTINGS;
  }
}
