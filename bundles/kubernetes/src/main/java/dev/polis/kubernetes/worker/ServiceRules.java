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
 * Ends the service proxy when its rules were removed from the kernel, so that it is started again
 * and writes them: it looks for them once an hour by itself.
 */
final class ServiceRules implements Task {

  private static final String GONE = "service-rules-gone";

  /** The line of the proxy's table in the list of all tables. */
  private static final String TABLE = "table ip kube-proxy";

  /** A look starts a program that takes 5 ms. */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(10);

  /** Lists the tables of nftables that the proxy's rules are among. */
  @FunctionalInterface
  interface Tables {
    Commands.Result list() throws IOException, InterruptedException;
  }

  private final Tables tables;
  private final ProcessManager processes;
  private final HealthScope health;

  /** A proxy that has just started writes its table a moment later, so one look proves nothing. */
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

  /** Looks once. */
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
    // Without nft the proxy does not run either, and says so.
    return all.ok() && all.output().lines().noneMatch(TABLE::equals);
  }
}
