package dev.polis.ctl.plugin;

import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SwapScreen;
import dev.polis.wire.plugins.SwapRequest;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Sends a plugin to a node and swaps it in. */
@Command(
    name = "swap",
    description = {
      "Sends a plugin to a node and replaces the present version, stage by stage.",
      "The node reverts it by itself if its health gets worse. The swap continues when this command is interrupted;"
          + " \"plugin cancel\" ends it. Exit code 1 if it is refused or reverted."
    },
    mixinStandardHelpOptions = true)
final class PluginSwapCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @Parameters(
      paramLabel = "FILE",
      description = "the bundle; its signed manifest is beside it as FILE.plugin")
  Path file;

  @Option(
      names = "--dry-run",
      description = "only print the effects on the node, with their reasons")
  boolean dryRun;

  @Option(
      names = "--force",
      description = "even if the node was not well with it before, or the cluster wants another")
  boolean force;

  @Option(names = "--older", description = "even if it is older than the version that runs")
  boolean older;

  @Override
  public Integer call() throws InterruptedException {
    PluginUpload upload = PluginUpload.of(file);
    try (Session session = Session.open(plugin.ctl.options)) {
      upload.send(session);
      SwapRequest request =
          SwapRequest.newBuilder()
              .setDigest(upload.header().getDigest())
              .setDryRun(dryRun)
              .setForce(force)
              .setOlder(older)
              .build();
      return new SwapScreen(plugin.ctl.options.output, spec.commandLine().getOut())
          .follow(session, () -> session.swaps().swap(request))
          .code();
    }
  }
}
