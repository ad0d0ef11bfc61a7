package dev.polis.kubernetes.address;

import dev.polis.process.Commands;
import dev.polis.process.Nft;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Hides an address of the loopback device from the local network. The kernel answers at each
 * address of the machine on each device, so another machine with a route would reach it. Only
 * sandboxes and the machine itself may reach it.
 */
final class NeighbourFilter {

  /** Replaces the rules of an earlier start as one change. */
  private static final String RULES =
      """
      add table inet %1$s
      add table arp %1$s
      delete table inet %1$s
      delete table arp %1$s
      table inet %1$s {
        chain neighbours {
          type filter hook input priority raw;
          iifname != { "lo", "polis-*" } ip daddr %2$s drop
        }
      }
      table arp %1$s {
        chain neighbours {
          type filter hook input priority filter;
          iifname != "polis-*" arp daddr ip %2$s drop
        }
      }
      """;

  private static final String NO_RULES =
      """
      add table inet %1$s
      add table arp %1$s
      delete table inet %1$s
      delete table arp %1$s
      """;

  private final Path programs;
  private final InetAddress address;

  /**
   * Creates the filter without a change of the rules.
   *
   * @param programs the folder of Kubernetes' programs, whose nft is preferred
   */
  NeighbourFilter(Path programs, InetAddress address) {
    this.programs = programs;
    this.address = address;
  }

  /** Hides the address; returns the reason if that fails. */
  Optional<String> hide(Duration within) throws InterruptedException {
    return run(within, RULES);
  }

  /** Removes the rules; returns the reason if that fails. */
  Optional<String> remove(Duration within) throws InterruptedException {
    return run(within, NO_RULES);
  }

  private Optional<String> run(Duration within, String rules) throws InterruptedException {
    String text = address.getHostAddress();
    byte[] input =
        rules.formatted("polis_" + text.replace('.', '_'), text).getBytes(StandardCharsets.UTF_8);
    try {
      Commands.Result result = new Commands().run(within, Nft.command(programs, "-f", "-"), input);
      return result.ok()
          ? Optional.empty()
          : Optional.of(
              "machines of the local network would reach %s, because nft failed: %s"
                  .formatted(text, result.words()));
    } catch (IOException e) {
      return Optional.of(
          "machines of the local network would reach %s, because the node cannot run nft: %s"
              .formatted(text, e.getMessage()));
    }
  }
}
