package dev.polis.ctl.plugin;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.SwapCommand;
import dev.polis.wire.plugins.RemoveRequest;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Takes a plugin off one node. */
@Command(
    name = "remove",
    description = {
      "Removes a plugin from outside from a node. Plugins of the node's distribution stay.",
      "The node refuses to remove a plugin whose role it has: remove the role first, which ends its"
          + " work. Exit code 1 if it is refused or reverted."
    })
final class PluginRemoveCommand extends SwapCommand.Tried {

  @Parameters(paramLabel = "NAME", description = "the plugin's symbolic name")
  String name;

  @Option(names = "--force", description = "even if the node was not well without it before")
  boolean force;

  @Override
  protected ExitCode run() throws InterruptedException {
    RemoveRequest request =
        RemoveRequest.newBuilder().setSymbolicName(name).setDryRun(dryRun).setForce(force).build();
    return swap(swaps -> swaps.remove(request));
  }
}
