package dev.polis.cluster.it;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds all rules by which the machine redirects or filters packets.
 *
 * @param nftables the ruleset, without the tables that guard an address which is on the machine now
 * @param routing the rules that select a table of routes
 */
record FirewallRules(String nftables, String routing) {

  /** Matches a table of {@code HostAddress}, from its head to its end. */
  private static final Pattern GUARD =
      Pattern.compile("table \\w+ polis_(\\d+_\\d+_\\d+_\\d+) \\{\n(?:[\t ].*\n)*\\}\n");

  /** Reads the rules of the test's network namespace. */
  static FirewallRules ofHost() throws Exception {
    Path programs = Path.of(System.getenv("POLIS_KUBERNETES"), "root", "usr");
    String rules =
        said(
            List.of(programs.resolve("sbin/nft").toString(), "list", "ruleset"),
            Map.of("LD_LIBRARY_PATH", libraries(programs.resolve("lib"))));
    String addresses = said(List.of("ip", "-o", "-4", "address", "show", "dev", "lo"), Map.of());
    return new FirewallRules(
        withoutNeighbours(rules, addresses), said(List.of("ip", "rule"), Map.of()));
  }

  /** Nodes of other tests start and stop meanwhile, each with an address and its tables. */
  private static String withoutNeighbours(String rules, String addresses) {
    return GUARD
        .matcher(rules)
        .replaceAll(
            table ->
                addresses.contains(" " + table.group(1).replace('_', '.') + "/")
                    ? ""
                    : Matcher.quoteReplacement(table.group()));
  }

  private static String libraries(Path folder) throws IOException {
    try (var found = Files.newDirectoryStream(folder, "*-linux-gnu")) {
      return found.iterator().next().toString();
    }
  }

  private static String said(List<String> command, Map<String, String> environment)
      throws Exception {
    Finished finished = Finished.of(command, environment, TestNode.PATIENCE);
    finished.requireSuccess(command.toString());
    return finished.out();
  }
}
