package dev.polis.faults.it;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * Acts as a client that writes HTTP/2 frames by hand, so that they can be wrong, and returns their
 * effects. One thread writes; another one reads.
 */
final class Http2Peer implements Closeable {

  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int PRIORITY = 2;
  static final int RST_STREAM = 3;
  static final int SETTINGS = 4;
  static final int PUSH_PROMISE = 5;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;

  static final int NO_FLAGS = 0;
  static final int ACK = 1;
  static final int END_STREAM = 1;
  static final int END_HEADERS = 4;
  static final int PADDED = 8;

  static final byte[] NOTHING = {};
  static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private static final int CONNECT_MILLISECONDS = 60_000;

  private final Socket socket;
  private final OutputStream out;
  private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
  private final Map<Integer, Http2End> streams = new HashMap<>(); // guarded by this
  private final Set<Integer> begun = new HashSet<>(); // guarded by this
  private Http2End connection = Http2End.OPEN; // guarded by this
  private final Map<Integer, Http2Headers> heads = new HashMap<>(); // the reading thread's
  private volatile boolean greeted;
  private int lastStream = -1;

  private Http2Peer(Socket socket) throws IOException {
    this.socket = socket;
    this.out = socket.getOutputStream();
    Thread.ofVirtual().name("http2-peer").start(this::read);
  }

  /** Connects, without a byte of HTTP/2. */
  static Http2Peer silent(FaultNode node, int port, FuzzCredential credential) throws Exception {
    return silent(
        new InetSocketAddress(0),
        new InetSocketAddress(node.address(), port),
        credential == FuzzCredential.PLAINTEXT
            ? Optional.empty()
            : Optional.of(node.tls(credential)));
  }

  /**
   * Connects in the same way from a given address.
   *
   * @param tls the TLS of the connection; empty for plain text
   */
  static Http2Peer silent(InetSocketAddress from, InetSocketAddress to, Optional<SSLContext> tls)
      throws IOException {
    Socket plain = new Socket();
    try {
      plain.bind(from);
      plain.connect(to, CONNECT_MILLISECONDS);
      plain.setTcpNoDelay(true);
      return new Http2Peer(tls.isEmpty() ? plain : secured(plain, tls.get()));
    } catch (IOException failed) {
      plain.close();
      throw failed;
    }
  }

  private static Socket secured(Socket plain, SSLContext tls) throws IOException {
    SSLSocket secured =
        (SSLSocket)
            tls.getSocketFactory()
                .createSocket(
                    plain, plain.getInetAddress().getHostAddress(), plain.getPort(), true);
    SSLParameters parameters = secured.getSSLParameters();
    parameters.setApplicationProtocols(new String[] {"h2"});
    parameters.setProtocols(new String[] {"TLSv1.3"});
    secured.setSSLParameters(parameters);
    secured.setSoTimeout(CONNECT_MILLISECONDS);
    secured.startHandshake();
    secured.setSoTimeout(0);
    return secured;
  }

  /** Connects and begins as a client should. */
  static Http2Peer connect(FaultNode node, int port, FuzzCredential credential) throws Exception {
    Http2Peer peer = silent(node, port, credential);
    peer.send(PREFACE, frame(SETTINGS, NO_FLAGS, 0, NOTHING));
    return peer;
  }

  // ---- sending

  static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return frame(payload.length, type, flags, stream, payload);
  }

  /** Returns a frame with a wrong length. */
  static byte[] frame(int length, int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(9 + payload.length)
        .put((byte) (length >> 16))
        .putShort((short) length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
  }

  static byte[] integer(int value) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
  }

  /** Returns a gRPC message with any length and flag in its prefix. */
  static byte[] message(int flag, int length, byte[] content) {
    return ByteBuffer.allocate(5 + content.length)
        .put((byte) flag)
        .putInt(length)
        .put(content)
        .array();
  }

  /** Returns a header block without compression. */
  static byte[] block(List<Map.Entry<String, String>> headers) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    for (Map.Entry<String, String> header : headers) {
      block.write(0);
      text(block, header.getKey());
      text(block, header.getValue());
    }
    return block.toByteArray();
  }

  private static void text(ByteArrayOutputStream block, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int rest = bytes.length;
    block.write(Math.min(rest, 127));
    if (rest >= 127) {
      for (rest -= 127; rest >= 128; rest >>= 7) {
        block.write(rest & 127 | 128);
      }
      block.write(rest);
    }
    block.writeBytes(bytes);
  }

  /** Returns the id of a new stream. */
  int nextStream() {
    lastStream += 2;
    return lastStream;
  }

  /** Sends several byte arrays together. */
  void send(byte[]... parts) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    out.write(all.toByteArray());
    out.flush();
  }

  // ---- receiving

  private void read() {
    try (DataInputStream in = new DataInputStream(socket.getInputStream())) {
      while (true) {
        int head = in.readInt();
        int flags = in.readUnsignedByte();
        int stream = in.readInt();
        greeted = true;
        arrived(head & 0xff, flags, stream, in.readNBytes(head >>> 8));
      }
    } catch (IOException | Http2Exception over) {
      ended(0, Http2End.CLOSED);
    }
  }

  private void arrived(int type, int flags, int stream, byte[] payload)
      throws IOException, Http2Exception {
    switch (type) {
      case HEADERS -> {
        Http2Headers headers = decoder.decodeHeaders(stream, Unpooled.wrappedBuffer(payload));
        heads.putIfAbsent(stream, headers);
        if ((flags & END_STREAM) != 0) {
          ended(stream, Http2End.of(headers));
        } else {
          began(stream);
        }
      }
      case DATA -> {
        // Only refusals of HTTP end with a body.
        if ((flags & END_STREAM) != 0) {
          ended(stream, Http2End.of(heads.get(stream)));
        }
      }
      case RST_STREAM -> ended(stream, Http2End.reset(ByteBuffer.wrap(payload).getInt()));
      case GOAWAY -> {
        String words = new String(payload, 8, payload.length - 8, StandardCharsets.UTF_8);
        ended(0, Http2End.goAway(ByteBuffer.wrap(payload).getInt(4), words));
      }
      default -> {
        // This client never answers settings and pings; this fault, too, may last for a while.
      }
    }
  }

  private synchronized void began(int stream) {
    begun.add(stream);
  }

  private synchronized void ended(int stream, Http2End how) {
    begun.remove(stream);
    if (stream != 0) {
      streams.putIfAbsent(stream, how);
    } else if (connection.isOpen() || how.kind() == Http2End.Kind.GOAWAY) {
      connection = how;
    }
    notifyAll();
  }

  /** Returns the end of a stream, or of its connection; open if neither ended in time. */
  synchronized Http2End awaitEnd(int stream, Duration within) throws InterruptedException {
    long deadline = System.nanoTime() + within.toNanos();
    while (!streams.containsKey(stream) && connection.isOpen()) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return Http2End.OPEN;
      }
      wait(left);
    }
    return streams.getOrDefault(stream, connection);
  }

  /**
   * Returns whether a frame has arrived: after the handshake a server sends its settings by itself.
   */
  boolean greeted() {
    return greeted;
  }

  /** Counts the streams of an open connection whose answer has begun and not ended. */
  synchronized int unread() {
    return connection.isOpen() ? begun.size() : 0;
  }

  /** Returns the end of the connection; open if it has not ended. */
  synchronized Http2End end() {
    return connection;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
