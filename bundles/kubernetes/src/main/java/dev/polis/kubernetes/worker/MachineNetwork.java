package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.process.Commands;
import dev.polis.process.Nft;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Gives the sandbox the address of its DNS server, and removes the rules of the worker's programs
 * from the network of the node's own machine. Elsewhere the rules disappear with the sandbox.
 */
final class MachineNetwork {

  /**
   * The time for one request to the kernel: a thousand times the usual, for a machine under load.
   */
  private static final Duration ANSWER = Duration.ofSeconds(10);

  /** The tables of the network plugins, which empty but do not delete them. */
  private static final List<String> PLUGIN_TABLES =
      List.of("inet cni_plugins_masquerade", "ip cni_hostport", "ip6 cni_hostport");

  private final WorkerPlan plan;
  private final Commands commands = new Commands();

  MachineNetwork(WorkerPlan plan) {
    this.plan = plan;
  }

  /** Adds the DNS server's address to the loopback device of the sandbox. */
  void addDnsAddress(Sandbox sandbox) throws IOException, InterruptedException {
    Commands.Result result =
        commands.run(
            ANSWER,
            sandbox.command(
                Commands.located(List.of("ip", "address", "replace", dnsAddress(), "dev", "lo"))));
    if (!result.ok()) {
      throw new IOException(
          "the sandbox did not get the address of its DNS server: " + result.words());
    }
  }

  private String dnsAddress() {
    return plan.dns().getHostAddress() + "/32";
  }

  /** Lists the nftables tables in the network of the service proxy, once the sandbox exists. */
  Commands.Result tables(Value<ContainersStatus> runtime) throws IOException, InterruptedException {
    List<String> list = Nft.command(plan.programs().folder(), "list", "tables");
    try (Watcher<ContainersStatus> watcher = runtime.watch()) {
      ContainersStatus.Running running =
          (ContainersStatus.Running) watcher.get(ContainersStatus.Running.class::isInstance);
      return commands.run(ANSWER, running.sandbox().command(Commands.located(list)));
    }
  }

  /**
   * Returns the commands that delete the plugins' tables; each adds a table first, since the
   * deletion of a missing one fails.
   */
  private static String withoutPluginTables() {
    return PLUGIN_TABLES.stream()
        .map(table -> "add table %1$s; delete table %1$s".formatted(table))
        .collect(Collectors.joining("; "));
  }

  /** Removes the bridge, rules and address after the programs have ended. */
  void clean(Log log) throws InterruptedException {
    if (plan.isolation() == Isolation.NAMESPACES) {
      return;
    }
    for (List<String> command :
        List.of(
            List.of(plan.programs().program(ProxyFiles.NAME).toString(), "--cleanup"),
            Nft.command(plan.programs().folder(), withoutPluginTables()),
            List.of("ip", "link", "delete", PodNetworkFiles.BRIDGE),
            List.of("ip", "address", "delete", dnsAddress(), "dev", "lo"))) {
      try {
        Commands.Result result = commands.run(ANSWER, command);
        if (!result.ok()) {
          log.info("The node has removed the rules of the Pods' network: %s.", result.words());
        }
      } catch (IOException e) {
        log.warning(
            "The node could not remove all rules of the Pods' network: %s.", e.getMessage());
      }
    }
  }
}
