package dev.polis.cluster.it;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Names everything by which the machine itself sends packets elsewhere than usual.
 *
 * @param nftables the whole ruleset
 * @param routing the rules that select a table of routes
 */
record FirewallRules(String nftables, String routing) {

  /** Reads those of the network namespace that the test runs in. */
  static FirewallRules ofHost() throws Exception {
    Path programs = Path.of(System.getenv("POLIS_KUBERNETES"), "root", "usr");
    return new FirewallRules(
        said(
            List.of(programs.resolve("sbin/nft").toString(), "list", "ruleset"),
            Map.of("LD_LIBRARY_PATH", libraries(programs.resolve("lib")))),
        said(List.of("ip", "rule"), Map.of()));
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
