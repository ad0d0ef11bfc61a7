package dev.polis.node;

import dev.polis.node.exit.Exit;
import dev.polis.plugins.metatype.ConfigurationKey;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.plan.BootPlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Prints in which order the bundles start, and why. */
@Command(
    name = "plan",
    description = "Print the order in which bundles start, and the needs of each.")
final class PlanCommand implements Callable<Integer> {
  @Option(names = "--keys", description = "Print the keys that --set knows instead.")
  private boolean keys;

  @Option(names = "--dot", description = "Print the plan as a graph for Graphviz instead.")
  private boolean dot;

  @Override
  public Integer call() throws Exception {
    Distribution distribution = Distribution.own();
    if (keys) {
      System.out.print(keyTable(distribution));
      return Exit.OK;
    }
    BootPlan plan = NodeBundles.plan(distribution.manifests(), distribution.systemPackages());
    System.out.print(dot ? plan.dot() : plan.text());
    return Exit.OK;
  }

  private static String keyTable(Distribution distribution) throws IOException {
    ConfigurationKeys keys;
    try (Stream<Path> jars = Files.list(distribution.folder().resolve("bundles"))) {
      List<Path> sorted = jars.sorted().toList();
      keys = ConfigurationKeys.read(sorted);
    }
    StringBuilder text = new StringBuilder();
    for (String pid : keys.pids()) {
      for (ConfigurationKey key : keys.of(pid)) {
        text.append(
            String.format(
                "%-40s %-8s %s%n",
                pid + "." + key.id(), key.type() + (key.many() ? ",…" : ""), key.description()));
      }
    }
    return text.toString();
  }
}
