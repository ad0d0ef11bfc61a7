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
import java.util.OptionalLong;

/**
 * Restarts the service proxy when its rules have disappeared from the kernel, since the proxy
 * itself checks them only once an hour.
 */
final class ServiceRules implements Task {

  private static final String GONE = "service-rules-gone";

  /** The line of the proxy's table in the list of all tables. */
  private static final String TABLE = "table ip kube-proxy";

  /**
   * The interval of checks; each starts two programs. With one more check after a miss, removed
   * rules are there again within the 20 s that are promised.
   */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(15);

  /** The proxy replaces its table as one change, so a table that is missing twice was removed. */
  private static final Duration LOOK_AGAIN = Duration.ofSeconds(2);

  /** Lists the nftables tables that include the proxy's. */
  @FunctionalInterface
  interface Tables {
    Commands.Result list() throws IOException, InterruptedException;
  }

  private final Tables tables;
  private final ProcessManager processes;
  private final HealthScope health;

  /** The process whose table the last successful check saw; a new one writes its a moment later. */
  private OptionalLong written = OptionalLong.empty();

  /** The process whose table the last check missed. */
  private OptionalLong missed = OptionalLong.empty();

  ServiceRules(Tables tables, ProcessManager processes, HealthScope health) {
    this.tables = tables;
    this.processes = processes;
    this.health = health;
  }

  @Override
  public void run(Context context) throws InterruptedException, IOException {
    context.healthy();
    try {
      Duration pause = LOOK_EVERY;
      while (true) {
        Thread.sleep(pause);
        pause = look();
      }
    } finally {
      health.clear(GONE);
    }
  }

  /** Checks once, and returns the time until the next check. */
  Duration look() throws InterruptedException, IOException {
    Optional<ManagedProcess> proxy = processes.find(ProxyFiles.NAME);
    if (proxy.isEmpty()) {
      missed = OptionalLong.empty();
      health.clear(GONE);
      return LOOK_EVERY;
    }
    OptionalLong process = OptionalLong.of(proxy.get().pid());
    if (!gone()) {
      written = process;
      missed = OptionalLong.empty();
      health.clear(GONE);
    } else if (missed.equals(process)) {
      missed = OptionalLong.empty();
      health.set(
          HealthCondition.degraded(
              GONE,
              "the rules of kube-proxy were removed from this node's nftables, so its Pods reach no Service",
              "nothing: kube-proxy was ended, and writes them when it is started again"));
      proxy.get().stop();
    } else {
      missed = process;
      return written.equals(process) ? LOOK_AGAIN : LOOK_EVERY;
    }
    return LOOK_EVERY;
  }

  private boolean gone() throws InterruptedException, IOException {
    Commands.Result all = tables.list();
    // Without nft the proxy does not run either, and reports it.
    return all.ok() && all.output().lines().noneMatch(TABLE::equals);
  }
}
