package dev.polis.ctl.plugin;

import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SwapScreen;
import dev.polis.wire.plugins.RemoveRequest;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Takes a plugin off one node. */
@Command(
    name = "remove",
    description = {
      "Removes a plugin from outside from a node. Plugins of the node's distribution stay.",
      "The node refuses to remove a plugin whose role it has: remove the role first, which ends its work. Exit code 1 if it is"
          + " refused or reverted."
    },
    mixinStandardHelpOptions = true)
final class PluginRemoveCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @Parameters(paramLabel = "NAME", description = "the plugin's symbolic name")
  String name;

  @Option(
      names = "--dry-run",
      description = "only print the effects on the node, with their reasons")
  boolean dryRun;

  @Option(names = "--force", description = "even if the node was not well without it before")
  boolean force;

  @Override
  public Integer call() throws InterruptedException {
    RemoveRequest request =
        RemoveRequest.newBuilder().setSymbolicName(name).setDryRun(dryRun).setForce(force).build();
    try (Session session = Session.open(plugin.ctl.options)) {
      return new SwapScreen(plugin.ctl.options.output, spec.commandLine().getOut())
          .follow(session, () -> session.swaps().remove(request))
          .code();
    }
  }
}
