package dev.polis.ctl.plugin;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SwapCommand;
import dev.polis.wire.plugins.SwapRequest;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Sends a plugin to a node and swaps it in. */
@Command(
    name = "swap",
    description = {
      "Sends a plugin to a node and replaces the present version, stage by stage.",
      "The node reverts it by itself if its health gets worse. The swap continues when this command"
          + " is interrupted; \"plugin cancel\" ends it. Exit code 1 if it is refused or reverted."
    })
final class PluginSwapCommand extends SwapCommand.Tried {

  @Parameters(
      paramLabel = "FILE",
      description = "the bundle; its signed manifest is beside it as FILE.plugin")
  Path file;

  @Option(
      names = "--force",
      description = "even if the node was not well with it before, or the cluster wants another")
  boolean force;

  @Option(names = "--older", description = "even if it is older than the version that runs")
  boolean older;

  @Override
  protected ExitCode run() throws InterruptedException {
    PluginUpload upload = PluginUpload.of(file);
    try (Session session = Session.open(options())) {
      upload.send(session);
      SwapRequest request =
          SwapRequest.newBuilder()
              .setDigest(upload.header().getDigest())
              .setDryRun(dryRun)
              .setForce(force)
              .setOlder(older)
              .build();
      return swap(session, swaps -> swaps.swap(request));
    }
  }
}
