package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Restarts the process of a node while callers use it. */
@Tag("full")
@Tag("longer")
class RuntimeRestartIT {
  private static final String ADDRESS = "127.0.33.1";
  private static final String PROBE = "127.0.33.9";
  private static final int MANAGEMENT = 7839;

  /** The second restart is that of a process which a restart has started. */
  private static final int RESTARTS = Tier.isLong() ? 20 : 2;

  @TempDir Path directory;

  /** Connects to a port repeatedly, and keeps the longest time without a connection. */
  private static final class Refusals implements AutoCloseable {
    /**
     * Short in comparison with any restart. Two hundred connections a second would be a flood to a
     * node that starts on a busy machine, and refuses callers, too.
     */
    private static final Duration PAUSE = Duration.ofMillis(50);

    private final AtomicLong longest = new AtomicLong();
    private final Thread thread = Thread.ofVirtual().name("connects").start(this::run);

    private void run() {
      long open = System.nanoTime();
      while (!Thread.currentThread().isInterrupted()) {
        if (connects()) {
          long now = System.nanoTime();
          longest.accumulateAndGet(now - open, Math::max);
          open = now;
        }
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }

    private static boolean connects() {
      try (Socket socket = new Socket()) {
        // Uses another source address than the commands do, so that a refusal of so many
        // connections does not affect them.
        socket.bind(new InetSocketAddress(PROBE, 0));
        socket.connect(new InetSocketAddress(ADDRESS, MANAGEMENT), 1000);
        return true;
      } catch (IOException e) {
        return false;
      }
    }

    Duration longest() {
      return Duration.ofNanos(longest.get());
    }

    @Override
    public void close() {
      thread.interrupt();
    }
  }

  @Test
  @DisplayName(
      "a restart replaces the process: children keep running, and no command of a caller fails")
  void restart() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("n"), ADDRESS)) {
      node.up();
      // Its state was made at another address, and a command would use that until the node has
      // reported its new one.
      Await.until(
          TestNode.PATIENCE,
          "the record of the node to have the address " + ADDRESS,
          () -> node.ctl("node", "list").out().contains(ADDRESS));
      long etcd = node.etcd().pid();
      long process = node.jvmPid();
      try (SteadyCaller caller = SteadyCaller.ofLarge(() -> list(node))) {
        caller.awaitMore("before the restart");
        for (int i = 0; i < RESTARTS; i++) {
          try (Refusals refusals = new Refusals()) {
            Finished restart = node.ctl("node", "restart", "--runtime");
            assertEquals(0, restart.code(), () -> restart.all() + "\nnode: " + node.said());
            assertTrue(restart.out().contains("a new process answers after"), restart.all());
            caller.awaitMore("after restart " + i);
            System.out.printf(
                "restart %d: no connection for %d ms%n", i, refusals.longest().toMillis());
          }
        }
        caller.check("during the restarts");
      }
      assertEquals(etcd, node.etcd().pid(), "etcd is another process");
      assertEquals(process, node.jvmPid());
      assertEquals(RESTARTS, restarts(node), node.said());
    }
  }

  private static void list(TestNode node) {
    Finished finished = node.ctl("node", "list");
    if (finished.code() != 0) {
      throw new IllegalStateException("node list: " + finished.all());
    }
  }

  private static long restarts(TestNode node) {
    return node.said().lines().filter(line -> line.startsWith("restarting the process")).count();
  }
}
