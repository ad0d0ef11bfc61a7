package dev.polis.kubernetes.worker;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.logtree.Log;
import dev.polis.process.Commands;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Removes the bridge of the Pods when it has the address of a former range, as after the Node
 * object was deleted and came back with another one. The network plugin keeps such a bridge and
 * starts no Pod on it, and makes one that is missing.
 */
final class PodBridge {

  private static final String FORMER = "pod-bridge-of-former-range";

  /** Runs the program {@code ip} where the bridge is. */
  @FunctionalInterface
  interface Ip {
    Commands.Result run(List<String> arguments) throws IOException, InterruptedException;
  }

  private final Ip ip;
  private final HealthScope health;

  PodBridge(Ip ip, HealthScope health) {
    this.ip = ip;
    this.health = health;
  }

  /**
   * Lets Pods get addresses of a range, unless Pods still use the bridge with another one: then the
   * health names what to do.
   *
   * @return whether a Pod can start with an address of the range
   */
  boolean renew(String range, Log log) throws IOException, InterruptedException {
    Optional<String> former = former(range);
    if (former.isEmpty()) {
      health.clear(FORMER);
      return true;
    }
    Commands.Result ports =
        ip.run(List.of("-oneline", "link", "show", "master", PodNetworkFiles.BRIDGE));
    if (!ports.ok()) {
      throw new IOException("the node cannot list the Pods at its bridge: " + ports.words());
    }
    long pods = ports.output().lines().filter(line -> !line.isBlank()).count();
    if (pods > 0) {
      health.set(condition(former.get(), range, pods));
      return false;
    }
    Commands.Result removed = ip.run(List.of("link", "delete", PodNetworkFiles.BRIDGE));
    if (!removed.ok()) {
      throw new IOException(
          "the node cannot remove the bridge %s, which has the address %s of a former range: %s"
              .formatted(PodNetworkFiles.BRIDGE, former.get(), removed.words()));
    }
    log.warning(
        "The bridge %s had the address %s of a former range; it was removed, and the next Pod makes it anew for %s.",
        PodNetworkFiles.BRIDGE, former.get(), range);
    health.clear(FORMER);
    return true;
  }

  private static HealthCondition condition(String former, String range, long pods) {
    return HealthCondition.degraded(
        FORMER,
        "no Pod starts on this node: its bridge %s has the address %s, and its Pods get addresses of %s since its Node object came back; %d Pods still use the bridge"
            .formatted(PodNetworkFiles.BRIDGE, former, range, pods),
        "delete the Pods that run on this node (kubectl get pods -A -o wide shows them); the node removes the bridge when the last one has ended");
  }

  /** Returns the first address of the bridge that is not the one that a range gives it. */
  private Optional<String> former(String range) throws IOException, InterruptedException {
    Commands.Result shown =
        ip.run(List.of("-4", "-oneline", "address", "show", "dev", PodNetworkFiles.BRIDGE));
    AddressRange own = AddressRange.of(range);
    String due = own.at(1).getHostAddress() + "/" + own.prefix();
    // It fails where there is no bridge.
    return shown.ok()
        ? addresses(shown.output()).stream().filter(address -> !address.equals(due)).findFirst()
        : Optional.empty();
  }

  private static List<String> addresses(String shown) {
    return shown
        .lines()
        .map(line -> List.of(line.strip().split("\\s+")))
        .filter(words -> words.contains("inet") && words.indexOf("inet") + 1 < words.size())
        .map(words -> words.get(words.indexOf("inet") + 1))
        .toList();
  }

  /** Takes back what the health says. */
  void close() {
    health.clear(FORMER);
  }
}
