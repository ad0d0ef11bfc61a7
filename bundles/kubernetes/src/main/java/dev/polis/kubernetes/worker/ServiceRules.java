package dev.polis.kubernetes.worker;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.process.Commands;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * Restarts the service proxy when its rules have disappeared from the kernel, since the proxy
 * itself checks them only once an hour.
 */
final class ServiceRules implements Task {

  private static final String GONE = "service-rules-gone";

  /** The line of the proxy's table in the list of all tables. */
  private static final String TABLE = "table ip kube-proxy";

  /** The interval of checks; each starts a program that takes 5 ms. */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(10);

  /** Lists the nftables tables that include the proxy's. */
  @FunctionalInterface
  interface Tables {
    Commands.Result list() throws IOException, InterruptedException;
  }

  private final Tables tables;
  private final ProcessManager processes;
  private final HealthScope health;

  /**
   * True after a check without the table; one check proves nothing, since a new proxy writes its
   * table a moment later.
   */
  private boolean missed;

  ServiceRules(Tables tables, ProcessManager processes, HealthScope health) {
    this.tables = tables;
    this.processes = processes;
    this.health = health;
  }

  @Override
  public void run(Context context) throws InterruptedException, IOException {
    context.healthy();
    try {
      while (true) {
        Thread.sleep(LOOK_EVERY);
        look();
      }
    } finally {
      health.clear(GONE);
    }
  }

  /** Checks once. */
  void look() throws InterruptedException, IOException {
    Optional<ManagedProcess> proxy = processes.find(ProxyFiles.NAME);
    if (proxy.isEmpty() || !gone()) {
      missed = false;
      health.clear(GONE);
    } else if (missed) {
      missed = false;
      health.set(
          HealthCondition.degraded(
              GONE,
              "the rules of kube-proxy were removed from this node's nftables, so its Pods reach no Service",
              "nothing: kube-proxy was ended, and writes them when it is started again"));
      proxy.get().stop();
    } else {
      missed = true;
    }
  }

  private boolean gone() throws InterruptedException, IOException {
    Commands.Result all = tables.list();
    // Without nft the proxy does not run either, and reports it.
    return all.ok() && all.output().lines().noneMatch(TABLE::equals);
  }
}
