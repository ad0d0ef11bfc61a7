package dev.polis.ctl.plugin;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.SwapCommand;
import dev.polis.wire.plugins.AdoptRequest;
import java.util.List;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs plugins in the versions that came with the node's distribution. */
@Command(
    name = "adopt",
    description = {
      "Runs plugins in the versions that came with the node's distribution.",
      "Swapped plugins stay when a node is started from another distribution; this takes the"
          + " distribution's instead. Exit code 1 if that is refused or reverted."
    })
final class PluginAdoptCommand extends SwapCommand.Tried {

  @ArgGroup(multiplicity = "1")
  Which which;

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
  protected ExitCode run() throws InterruptedException {
    AdoptRequest request =
        AdoptRequest.newBuilder()
            .addAllSymbolicNames(which.names)
            .setAll(which.all)
            .setDryRun(dryRun)
            .setForce(force)
            .build();
    return swap(swaps -> swaps.adopt(request));
  }
}
