package dev.polis.kubernetes.worker;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.health.RestoredNotice;
import dev.polis.logtree.Log;
import dev.polis.process.Commands;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Restarts the service proxy when its rules have disappeared from the kernel, since the proxy
 * itself checks them only once an hour.
 */
final class ServiceRules implements Task {

  private static final String GONE = "service-rules-gone";
  private static final String RESTORED = "service-rules-restored";

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
  private final RestoredNotice restored;

  /** True after this task has ended a proxy, until it sees the table of the next one. */
  private boolean ended;

  /** The process whose table a check saw last. A new process writes its table a moment later. */
  private OptionalLong written = OptionalLong.empty();

  /** The process whose table the last check missed. */
  private OptionalLong missed = OptionalLong.empty();

  ServiceRules(Tables tables, ProcessManager processes, HealthScope health, InstantSource clock) {
    this.tables = tables;
    this.processes = processes;
    this.health = health;
    this.restored = new RestoredNotice(text -> HealthCondition.up(RESTORED, text), health, clock);
  }

  @Override
  public void run(Context context) throws InterruptedException, IOException {
    context.healthy();
    try {
      Duration pause = LOOK_EVERY;
      while (true) {
        Thread.sleep(pause);
        pause = look(context.log());
      }
    } finally {
      health.clear(GONE);
      restored.close();
    }
  }

  /** Checks once, and returns the time until the next check. */
  Duration look(Log log) throws InterruptedException, IOException {
    restored.look();
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
      if (ended) {
        ended = false;
        restored.tell(
            "the rules of kube-proxy were removed from this node's nftables by something else, and kube-proxy has written them again",
            log);
      }
    } else if (missed.equals(process)) {
      missed = OptionalLong.empty();
      health.set(
          HealthCondition.degraded(
              GONE,
              "the rules of kube-proxy were removed from this node's nftables, so its Pods reach no Service",
              "nothing: kube-proxy was ended, and writes them when it is started again"));
      log.warning(
          "The rules of kube-proxy were removed from this node's nftables; the node ends kube-proxy, which writes them when it starts.");
      ended = true;
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
