package dev.polis.faults.it;

import static dev.polis.faults.it.Http2Peer.NO_FLAGS;
import static dev.polis.faults.it.Http2Peer.frame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Calls methods with answers on connections whose window of HTTP/2 is 0 and stays so, again and
 * again: the node may send no byte of an answer.
 */
@Tag("full")
class ClosedWindowTest {

  private static final int CONNECTIONS = 32;

  /** Nearly as many as a connection of a member allows. */
  private static final int CALLS_EACH = 250;

  private static final int SOURCES = 4;

  /** The promised time of each answer to others. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** How many answers others get during a flood; each caller pauses 50 ms after one. */
  private static final int ANSWERS = 100;

  private static final Duration PACE = Duration.ofMillis(100);

  /** SETTINGS_INITIAL_WINDOW_SIZE, with the value 0. */
  private static final byte[] NO_WINDOW = {0, 4, 0, 0, 0, 0};

  /** Limits the log, which a flood fills, so that its memory does not hide the flood's. */
  private static final String SMALL_LOG = "dev.polis.logtree.mebibytes=4";

  private static final String CERTIFICATE =
      "/metropolis.node.core.curator.proto.api.CuratorLocal/GetCACertificate";
  private static final String HEALTH = "/polis.node.debug.Debug/GetHealth";

  @TempDir static Path directory;

  private static FaultNode node;
  private static Footprint before;

  /** Names the attacker, and a method that answers it. */
  enum Attacker {
    STRANGER(FaultNode.CURATOR, FuzzCredential.NOBODY, CERTIFICATE),
    CALLER_OF_DEBUG(FaultNode.DEBUG, FuzzCredential.PLAINTEXT, HEALTH),
    MEMBER(FaultNode.CURATOR, FuzzCredential.OTHER_NODE, CERTIFICATE);

    private final int port;
    private final FuzzCredential credential;
    private final String path;

    Attacker(int port, FuzzCredential credential, String path) {
      this.port = port;
      this.credential = credential;
      this.path = path;
    }

    Optional<SSLContext> tls() {
      return credential == FuzzCredential.PLAINTEXT
          ? Optional.empty()
          : Optional.of(node.tls(credential));
    }
  }

  /** Holds the connections of an attacker, and opens each again that the node ends. */
  private static final class Windows implements AutoCloseable {
    private final Attacker attacker;
    private final Optional<SSLContext> tls;
    private final Http2Peer[] peers = new Http2Peer[CONNECTIONS];
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicLong unread = new AtomicLong();

    Windows(Attacker attacker) {
      this.attacker = attacker;
      this.tls = attacker.tls();
      thread.execute(this::attack);
      thread.shutdown();
    }

    private void attack() {
      while (!Thread.currentThread().isInterrupted()) {
        long now = 0;
        for (int number = 0; number < CONNECTIONS; number++) {
          tend(number);
          now += peers[number] == null ? 0 : peers[number].unread();
        }
        unread.accumulateAndGet(now, Math::max);
        LockSupport.parkNanos(PACE.toNanos());
      }
    }

    private void tend(int number) {
      try {
        if (peers[number] != null && peers[number].end().isOpen()) {
          return;
        }
        close(number);
        peers[number] =
            Http2Peer.silent(
                new InetSocketAddress("127.0.99." + (1 + number % SOURCES), 0),
                new InetSocketAddress(node.address(), attacker.port),
                tls);
        opened.incrementAndGet();
        peers[number].send(Http2Peer.PREFACE, frame(Http2Peer.SETTINGS, NO_FLAGS, 0, NO_WINDOW));
        for (int call = 0; call < CALLS_EACH; call++) {
          Http2Call.good(attacker.path).send(peers[number]);
        }
      } catch (IOException ended) {
        // The node has ended it, perhaps within the handshake: the next round opens another.
      }
    }

    private void close(int number) throws IOException {
      if (peers[number] != null) {
        peers[number].close();
      }
    }

    @Override
    public void close() throws IOException {
      thread.shutdownNow();
      thread.close();
      for (int number = 0; number < CONNECTIONS; number++) {
        close(number);
      }
    }
  }

  @BeforeAll
  static void up() throws Exception {
    node = FaultNode.home(directory.resolve("n"), "127.0.32.8", "--set", SMALL_LOG);
    node.awaitHealthy();
    before = node.footprint();
  }

  @AfterAll
  static void down() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource(Attacker.class)
  @Tag("attack")
  @DisplayName(
      "answers for which a caller opens no window take bounded memory, and others are answered within 2 s")
  void unansweredCalls(Attacker attacker) throws Exception {
    List<Long> resident = new ArrayList<>(List.of(before.residentKib()));
    MachineSpeed speed = MachineSpeed.measure();
    try (Bystanders others = Bystanders.of(node)) {
      try (Windows windows = new Windows(attacker)) {
        Await.until(
            FaultNode.PATIENCE,
            "%d answers to others while %s opens no window".formatted(ANSWERS, attacker),
            () -> {
              node.requireAlive();
              others.check(attacker.toString());
              resident.add(Footprint.residentKib(node.pid()));
              return others.answered() >= ANSWERS && windows.unread.get() > 0;
            },
            () -> others + ", " + windows.unread + " unread answers");
        System.out.printf(
            "%s: %d connections, %d unread answers at a time; others had %s; node %d KiB%n",
            attacker,
            windows.opened.get(),
            windows.unread.get(),
            others,
            resident.stream().mapToLong(kib -> kib).max().orElseThrow());
      }
      others.check(attacker.toString());
      speed.assertWithin("others were answered", PROMISED, others.longest());
    }
    long most = resident.stream().mapToLong(kib -> kib).max().orElseThrow();
    long limit = before.residentKib() + Footprint.OF_A_FRESH_NODE_KIB;
    assertTrue(most < limit, "the node took %d KiB of %d".formatted(most, limit));
    node.requireAlive();
    node.awaitNoMoreThan(before);
  }
}
