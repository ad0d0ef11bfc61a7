package dev.polis.ctl.plugin;

import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SwapScreen;
import dev.polis.wire.plugins.AdoptRequest;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Runs plugins in the versions that came with the node's distribution. */
@Command(
    name = "adopt",
    description = {
      "Runs plugins in the versions that came with the node's distribution.",
      "Swapped plugins stay when a node is started from another distribution; this takes the"
          + " distribution's instead. Exit code 1 if that is refused or reverted."
    },
    mixinStandardHelpOptions = true)
final class PluginAdoptCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @ArgGroup(multiplicity = "1")
  Which which;

  @Option(
      names = "--dry-run",
      description = "only print the effects on the node, with their reasons")
  boolean dryRun;

  @Option(
      names = "--force",
      description =
          "even if the node was not well with them before, or the cluster wants other versions")
  boolean force;

  /** The plugins to take from the distribution. */
  static final class Which {
    @Parameters(arity = "1..*", paramLabel = "NAME", description = "the plugin's symbolic name")
    List<String> names = List.of();

    @Option(names = "--all", description = "all that the distribution has in another version")
    boolean all;
  }

  @Override
  public Integer call() throws InterruptedException {
    AdoptRequest request =
        AdoptRequest.newBuilder()
            .addAllSymbolicNames(which.names)
            .setAll(which.all)
            .setDryRun(dryRun)
            .setForce(force)
            .build();
    try (Session session = Session.open(plugin.ctl.options)) {
      return new SwapScreen(plugin.ctl.options.output, spec.commandLine().getOut())
          .follow(session, () -> session.swaps().adopt(request))
          .code();
    }
  }
}
