package dev.polis.ctl.kube;

import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Groups the commands for Kubernetes. */
@Command(
    name = "kube",
    description = "Shows how Kubernetes stands; 'kubeconfig' sets kubectl up for all else.")
@Subcommands(KubeCommand.StatusCommand.class)
public final class KubeCommand {

  /** Controllers, workers and components. */
  @Command(
      name = "status",
      description = {
        "Shows the controllers and workers of the cluster, and their components, with versions.",
        "Shows a node's report of its roles together with Kubernetes' own report.",
        "Exit code 5 if one of them does not do its work."
      })
  static final class StatusCommand extends SessionCommand {
    @Option(
        names = "--port",
        paramLabel = "PORT",
        description = "port of the controllers for Kubernetes clients (default: ${DEFAULT-VALUE})")
    int port = KubeEndpoint.PORT;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      KubeStatus status = KubeStatus.of(session, NodeRows.fetch(session, ""), port);
      if (status.isEmpty()) {
        throw KubeEndpoint.none(options());
      }
      print(status.document());
      return status.works() ? ExitCode.OK : ExitCode.NOT_MET;
    }
  }
}
