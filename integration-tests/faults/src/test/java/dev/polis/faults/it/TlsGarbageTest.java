package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Connects to the TLS ports of a node without a valid handshake.
 *
 * <p>Requires less of etcd's own ports: etcd sets no time limit for a handshake, so a connection
 * that its client keeps open stays open there.
 */
@Tag("full")
@Tag("longer")
class TlsGarbageTest {

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  /**
   * The number of connections for each kind of garbage and port; all are fewer than strangers may
   * have.
   */
  private static final int EACH = Tier.isLong() ? 10 : 5;

  /**
   * Lets one source have as many: a connection beyond its limit ends at once, whatever it sends.
   */
  private static final String[] ONE_SOURCE = {
    "--set", "dev.polis.rpc.source.connections=256",
    "--set", "dev.polis.rpc.source.connections.per.second=65536"
  };

  /** The node's limit for a handshake of 10 s, and as much for a busy machine. */
  private static final Duration CLOSED_WITHIN = Duration.ofSeconds(20);

  /** Half of the time of a handshake: the node does not wait for a message that it refuses. */
  private static final Duration REFUSED_WITHIN = Duration.ofSeconds(5);

  private static final String NOTHING = "nothing";
  private static final String LARGE = "the beginning of a hello of more than 8 KiB";

  /** The interval at which a slow client sends bytes, so that it is never silent for long. */
  private static final Duration PACE = Duration.ofMillis(200);

  @TempDir Path directory;

  private final Random random = new Random(SEED);

  /** Holds the bytes of a client, sent at once or slowly byte by byte. */
  private record Garbage(byte[] bytes, boolean slow) {}

  @Test
  @Tag("attack")
  @DisplayName(
      "garbage on the node's TLS ports ends its connection in time, disturbs no caller and leaves nothing")
  void theNodesOwnPorts() throws Exception {
    System.out.printf("garbage with -Dpolis.seed=%d%n", SEED);
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.3", ONE_SOURCE)) {
      node.awaitHealthy();
      throwAtAll(node);
      Footprint before = node.footprint();
      try (Bystanders others = Bystanders.of(node)) {
        throwAtAll(node);
        others.check("garbage");
      }
      node.awaitNoMoreThan(before);
      node.requireAlive();
      node.awaitHealthy();
    }
  }

  @Test
  @DisplayName(
      "garbage on etcd's ports leaves the same etcd running, and no descriptors once its connections are closed")
  void theEtcdPorts() throws Exception {
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.4")) {
      node.awaitHealthy();
      long etcd = node.etcd().getFirst().pid();
      long before = Footprint.descriptors(etcd);
      for (int port : new int[] {FaultNode.ETCD_CLIENTS, FaultNode.ETCD_PEERS}) {
        for (Garbage garbage : kinds(node).values()) {
          List<Socket> open = connect(node, port, garbage);
          for (Socket each : open) {
            each.close();
          }
        }
      }
      Await.until(
          FaultNode.PATIENCE,
          "etcd to hold no more than " + before + " descriptors and a few",
          () -> Footprint.descriptors(etcd) <= before + EACH);
      assertEquals(etcd, node.etcd().getFirst().pid(), "etcd was started again");
      node.awaitHealthy();
    }
  }

  private List<Socket> connect(FaultNode node, int port, Garbage garbage) throws IOException {
    List<Socket> open = new ArrayList<>();
    for (int count = 0; count < EACH; count++) {
      Socket socket = new Socket();
      socket.connect(new InetSocketAddress(node.address(), port));
      socket.getOutputStream().write(garbage.bytes());
      open.add(socket);
    }
    return open;
  }

  private Map<String, Garbage> kinds(FaultNode node) throws Exception {
    byte[] hello = clientHello(node);
    byte[] noise = new byte[4096];
    random.nextBytes(noise);
    byte[] http = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    byte[] http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    Map<String, Garbage> kinds = new LinkedHashMap<>();
    kinds.put(NOTHING, new Garbage(new byte[0], false));
    kinds.put("random bytes", new Garbage(noise, false));
    kinds.put("plaintext HTTP", new Garbage(http, false));
    kinds.put("plaintext HTTP/2", new Garbage(http2, false));
    kinds.put("half a hello", new Garbage(Arrays.copyOf(hello, hello.length / 2), false));
    kinds.put("a hello and no more", new Garbage(hello, false));
    kinds.put("a slow hello", new Garbage(hello, true));
    // A record of TLS 1.2 with the four bytes that say the kind and the size of a message.
    byte[] large = HexFormat.of().parseHex("16030300040100" + "2001");
    kinds.put(LARGE, new Garbage(large, false));
    return kinds;
  }

  /** Returns the first messages of a real handshake. */
  private static byte[] clientHello(FaultNode node) throws Exception {
    SSLEngine engine = SSLContext.getDefault().createSSLEngine(node.address(), FaultNode.CURATOR);
    engine.setUseClientMode(true);
    ByteBuffer out = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
    engine.wrap(ByteBuffer.allocate(0), out);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(out.array(), 0, out.position());
    return bytes.toByteArray();
  }

  /**
   * Sends all garbage to each port at once, since the node waits for most of it until the time
   * limit.
   */
  private void throwAtAll(FaultNode node) throws Exception {
    Map<Integer, Future<Map<String, Long>>> ports = new LinkedHashMap<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int port : new int[] {FaultNode.CURATOR, FaultNode.MANAGEMENT, FaultNode.METRICS}) {
        ports.put(port, threads.submit(() -> throwAt(node, port)));
      }
    }
    for (Map.Entry<Integer, Future<Map<String, Long>>> port : ports.entrySet()) {
      System.out.printf("port %d closed %s%n", port.getKey(), describe(port.getValue().get()));
    }
  }

  /**
   * Sends all garbage to a port at once, and returns the longest time until a connection was
   * closed.
   */
  private Map<String, Long> throwAt(FaultNode node, int port) throws Exception {
    Map<String, List<Future<Long>>> thrown = new LinkedHashMap<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (Map.Entry<String, Garbage> kind : kinds(node).entrySet()) {
        List<Future<Long>> same = new ArrayList<>();
        for (int count = 0; count < EACH; count++) {
          same.add(threads.submit(() -> closedAfter(node, port, kind.getKey(), kind.getValue())));
        }
        thrown.put(kind.getKey(), same);
      }
      Map<String, Long> longest = new LinkedHashMap<>();
      for (Map.Entry<String, List<Future<Long>>> kind : thrown.entrySet()) {
        long most = 0;
        for (Future<Long> each : kind.getValue()) {
          most = Math.max(most, each.get());
        }
        longest.put(kind.getKey(), most);
      }
      assertTrue(
          longest.get(LARGE) < REFUSED_WITHIN.toMillis(),
          () -> "port %d took %d ms for %s".formatted(port, longest.get(LARGE), LARGE));
      assertTrue(
          longest.get(NOTHING) > REFUSED_WITHIN.toMillis(),
          () -> "port %d did not wait for a hello: %s".formatted(port, describe(longest)));
      return longest;
    }
  }

  private static String describe(Map<String, Long> milliseconds) {
    List<String> words = new ArrayList<>();
    milliseconds.forEach((kind, time) -> words.add(kind + " within " + time + " ms"));
    return String.join(", ", words);
  }

  /** Returns the milliseconds from the connection to its end by the other side. */
  private static long closedAfter(FaultNode node, int port, String kind, Garbage garbage)
      throws IOException {
    long started = System.nanoTime();
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(node.address(), port));
      socket.setSoTimeout((int) PACE.toMillis());
      int sent = 0;
      while (true) {
        if (isClosed(socket, garbage, sent)) {
          return Duration.ofNanos(System.nanoTime() - started).toMillis();
        }
        sent++;
        if (System.nanoTime() - started > CLOSED_WITHIN.toNanos()) {
          throw new AssertionError(
              "port %d still holds a connection with %s after %s"
                  .formatted(port, kind, CLOSED_WITHIN));
        }
      }
    }
  }

  /** Sends the due bytes and reads for a moment. */
  private static boolean isClosed(Socket socket, Garbage garbage, int sent) throws IOException {
    try {
      if (!garbage.slow() && sent == 0) {
        socket.getOutputStream().write(garbage.bytes());
      } else if (garbage.slow() && sent < garbage.bytes().length) {
        socket.getOutputStream().write(garbage.bytes()[sent]);
      }
      return hasEnded(socket.getInputStream());
    } catch (SocketTimeoutException stillOpen) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  /** Reads an alert or a part of a handshake, up to the end or a time-out. */
  private static boolean hasEnded(InputStream in) throws IOException {
    in.transferTo(OutputStream.nullOutputStream());
    return true;
  }
}
