package dev.polis.cluster.it;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Opens connections to one port from 16 addresses, as fast as the system can, and holds them. Every
 * second one sends only the beginning of a TLS handshake.
 */
final class ConnectionFlood implements AutoCloseable {
  static final int SOURCES = 16;

  /** A TLS handshake record that announces more bytes than follow. */
  private static final byte[] BEGINNING = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};

  private final Queue<SocketChannel> open = new ConcurrentLinkedQueue<>();
  private final AtomicInteger tried = new AtomicInteger();
  private final AtomicInteger opened = new AtomicInteger();
  private final AtomicReference<String> refusal = new AtomicReference<>("none was refused");
  private final ExecutorService threads = Executors.newFixedThreadPool(SOURCES);

  /**
   * Begins the connections.
   *
   * @param sources the prefix of the addresses, three numbers and a dot
   */
  static ConnectionFlood begin(InetSocketAddress target, String sources, int connections) {
    ConnectionFlood flood = new ConnectionFlood();
    for (int source = 1; source <= SOURCES; source++) {
      InetSocketAddress from = new InetSocketAddress(sources + source, 0);
      flood.threads.execute(() -> flood.connect(from, target, connections / SOURCES));
    }
    flood.threads.shutdown();
    return flood;
  }

  private void connect(InetSocketAddress from, InetSocketAddress to, int times) {
    for (int i = 0; i < times && !Thread.currentThread().isInterrupted(); i++) {
      tried.incrementAndGet();
      try {
        SocketChannel channel = SocketChannel.open();
        open.add(channel);
        channel.bind(from);
        channel.connect(to);
        opened.incrementAndGet();
        if (i % 2 == 0) {
          channel.write(ByteBuffer.wrap(BEGINNING));
        }
      } catch (IOException turnedAway) {
        refusal.set(turnedAway.toString());
      }
    }
  }

  boolean over() {
    return threads.isTerminated();
  }

  int tried() {
    return tried.get();
  }

  /** Returns the number of connections made; the other side may have ended some since. */
  int opened() {
    return opened.get();
  }

  /** Returns the failure of the latest failed attempt. */
  String refusal() {
    return refusal.get();
  }

  /** Counts the connections that the other side has not closed. */
  int held() throws IOException {
    int held = 0;
    for (SocketChannel each : open) {
      held += each.isConnected() && lasts(each) ? 1 : 0;
    }
    return held;
  }

  private static boolean lasts(SocketChannel channel) throws IOException {
    channel.configureBlocking(false);
    ByteBuffer ignored = ByteBuffer.allocate(1024);
    try {
      int read = channel.read(ignored);
      while (read > 0) {
        read = channel.read(ignored.clear());
      }
      return read == 0;
    } catch (IOException reset) {
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    threads.shutdownNow();
    threads.close();
    for (SocketChannel each : open) {
      each.close();
    }
  }
}
