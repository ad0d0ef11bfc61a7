package dev.polis.container.it;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.api.roles.RoleName;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.osgi.framework.ServiceReference;

/**
 * Uses a node as its organs and its owner do, and records effects that a swap must not have: failed
 * calls, and statuses that a node without a swap would not show. The opener closes it.
 */
final class NodeLoad implements AutoCloseable {
  /**
   * The time that a caller spends on an answer, in nanoseconds. Callers that pause less than 1 ms
   * take the cores from the swap, which lasts longer then; the short form leaves them to the tests
   * that run beside it.
   */
  static final long PAUSE = Tier.isLong() ? 1_000_000 : 20_000_000;

  private final List<Thread> threads = new ArrayList<>();
  private final List<ServiceReference<?>> held = new ArrayList<>();
  private final OwnerSession session;
  private final Queue<String> troubles = new ConcurrentLinkedQueue<>();
  private final AtomicLong calls = new AtomicLong();
  private final AtomicLong slowest = new AtomicLong();
  private volatile boolean over;

  /** Makes one call of an organ. */
  private interface Question {
    void ask() throws Exception;
  }

  private NodeLoad(OwnerSession session) {
    this.session = session;
  }

  static NodeLoad open(ContainedNode node) throws Exception {
    NodeLoad load = new NodeLoad(node.session());
    Storage storage = load.hold(Storage.class);
    Network network = load.hold(Network.class);
    Consensus consensus = load.hold(Consensus.class);
    Curator curator = load.hold(Curator.class);
    ClusterManager cluster = load.hold(ClusterManager.class);
    load.call(
        "Storage.data",
        () -> require(storage.data().peek().orElseThrow() instanceof DataStatus.Mounted));
    load.call("Storage.sealedConfiguration", () -> storage.sealedConfiguration().read());
    load.call("Network.status", () -> network.status().peek().orElseThrow());
    load.call("Consensus.memberInfo", consensus::memberInfo);
    load.call("Consensus.access", () -> consensus.access("curator"));
    load.call("ClusterManager.awaitHome", cluster::awaitHome);
    for (int writer = 0; writer < 4; writer++) {
      RoleName role = new RoleName("Writer" + writer);
      boolean[] wanted = new boolean[1];
      load.call(
          "Management.UpdateNodeRoles",
          () -> load.session.changeRole(role, wanted[0] = !wanted[0]));
    }
    load.watch("Curator", curator.status(), now -> now instanceof CuratorStatus.Leading);
    load.watch("ClusterManager", cluster.status(), NodeLoad::isHome);
    load.watch("Storage", storage.data(), now -> now instanceof DataStatus.Mounted);
    return load;
  }

  private static boolean isHome(ClusterStatus status) {
    return status.state() == ClusterState.HOME;
  }

  private static void require(boolean holds) {
    if (!holds) {
      throw new AssertionError("not as it has to be");
    }
  }

  private <S> S hold(Class<S> type) {
    ServiceReference<S> reference = Bundles.context().getServiceReference(type);
    held.add(reference);
    return Bundles.context().getService(reference);
  }

  private void call(String name, Question question) {
    threads.add(
        Thread.ofVirtual()
            .name("load-" + name)
            .start(
                () -> {
                  while (!over) {
                    long start = System.nanoTime();
                    try {
                      question.ask();
                    } catch (Throwable e) {
                      troubles.add(name + ": " + e);
                    }
                    slowest.accumulateAndGet(System.nanoTime() - start, Math::max);
                    calls.incrementAndGet();
                    LockSupport.parkNanos(PAUSE);
                  }
                }));
  }

  private <T> void watch(String name, Value<T> value, Predicate<T> usual) {
    threads.add(
        Thread.ofVirtual()
            .name("load-watch-" + name)
            .start(
                () -> {
                  try (Watcher<T> watcher = value.watch()) {
                    while (true) {
                      T now = watcher.get();
                      if (!usual.test(now)) {
                        troubles.add(name + " said " + now);
                      }
                    }
                  } catch (InterruptedException e) {
                    // The end of the load.
                  } catch (RuntimeException e) {
                    troubles.add(name + ": " + e);
                  }
                }));
  }

  /** Returns the failures; the same one is listed ten times at most. */
  List<String> troubles() {
    return troubles.stream().limit(10).toList();
  }

  long calls() {
    return calls.get();
  }

  /** Returns the time of the slowest call since the last question, in milliseconds. */
  double slowest() {
    return slowest.getAndSet(0) / 1e6;
  }

  @Override
  public void close() {
    over = true;
    for (Thread thread : threads) {
      if (thread.getName().startsWith("load-watch")) {
        thread.interrupt();
      }
    }
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    session.close();
    held.forEach(reference -> Bundles.context().ungetService(reference));
  }
}
