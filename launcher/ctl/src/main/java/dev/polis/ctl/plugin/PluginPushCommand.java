package dev.polis.ctl.plugin;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.cluster.WantPluginRequest;
import java.nio.file.Path;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Sends a plugin to the cluster, whose nodes then run it. */
@Command(
    name = "push",
    description = {
      "Sends a plugin to the cluster and makes its nodes run it: each fetches it, verifies it"
          + " and swaps it in, and reverts it if it makes the node unhealthy.",
      "Without an option it applies to each node. A version wanted on a node overrides that for"
          + " its role, and that overrides the version wanted everywhere. Exit code 5 if a node does not run it in the end."
    })
final class PluginPushCommand extends PluginWanting {

  @Parameters(
      paramLabel = "FILE",
      description = "the bundle; its signed manifest is beside it as FILE.plugin")
  Path file;

  @ArgGroup PluginScopeOptions scope = new PluginScopeOptions();

  @Option(
      names = "--older",
      description = "even if it is older than the wanted or the running version")
  boolean older;

  @Override
  protected ExitCode run() throws InterruptedException {
    PluginUpload upload = PluginUpload.of(file);
    upload.requireWhole();
    try (Session session = Session.open(options())) {
      upload.send(session);
      WantPluginRequest request =
          WantPluginRequest.newBuilder()
              .setScope(scope.scope())
              .setManifest(upload.header().getManifest())
              .setOlder(older)
              .build();
      return want(session, request);
    }
  }
}
