package dev.polis.ctl.kube;

import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for Kubernetes. */
@Command(
    name = "kube",
    description = "Shows how Kubernetes stands; 'kubeconfig' sets kubectl up for all else.",
    mixinStandardHelpOptions = true)
@Subcommands(KubeCommand.StatusCommand.class)
public final class KubeCommand {

  @ParentCommand CtlRoot ctl;

  /** Controllers, workers and components. */
  @Command(
      name = "status",
      description = {
        "Shows the controllers and workers of the cluster, and their components, with versions.",
        "Shows a node's report of its roles together with Kubernetes' own report.",
        "Exit code 5 if one of them does not do its work."
      },
      mixinStandardHelpOptions = true)
  static final class StatusCommand implements Callable<Integer> {
    @ParentCommand KubeCommand kube;
    @Spec CommandSpec spec;

    @Option(
        names = "--port",
        paramLabel = "PORT",
        description = "port of the controllers for Kubernetes clients (default: ${DEFAULT-VALUE})")
    int port = KubeEndpoint.PORT;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(kube.ctl.options)) {
        KubeStatus status = KubeStatus.of(session, NodeRows.fetch(session, ""), port);
        if (status.isEmpty()) {
          throw KubeEndpoint.none(kube.ctl.options);
        }
        kube.ctl.options.output.print(status.document(), spec.commandLine().getOut());
        return (status.works() ? ExitCode.OK : ExitCode.NOT_MET).code();
      }
    }
  }
}
