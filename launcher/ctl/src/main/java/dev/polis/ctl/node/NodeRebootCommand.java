package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.runtime.GetRuntimeRequest;
import dev.polis.wire.system.RebootSystemRequest;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Reboots the machine of a node. */
@Command(
    name = "reboot",
    description = {
      "Reboots a machine that an image of Polis has booted.",
      "It is refused if etcd would lose its quorum, while another node is silent, or if the node runs"
          + " Pods. A node on another system has no machine of its own: see \"node restart\"."
    })
final class NodeRebootCommand extends CtlCommand {

  @Option(names = "--stop-pods", description = "reboot also a node that runs Pods")
  boolean stopPods;

  @Option(names = "--force", description = "reboot without these checks")
  boolean force;

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      defaultValue = "600",
      description = "how long the machine may take to answer again (default: ${DEFAULT-VALUE})")
  int wait;

  @Parameters(
      arity = "0..1",
      paramLabel = "ID",
      description = "the node; optional if there is only one")
  List<String> ids = List.of();

  @Override
  protected ExitCode run() throws InterruptedException {
    CtlOptions.requireAtLeast(1, wait, "--wait");
    Place place;
    String before;
    try (Session session = Session.open(options())) {
      List<Node> nodes = NodeRows.fetch(session, "");
      Node node = NodeCommand.single(session, ids);
      place = NodeCommand.place(session, nodes, node);
      if (!force) {
        UpdatePreflight.require(session, node, nodes, stopPods).ifPresent(this::remark);
      }
      before =
          session
              .call(() -> session.runtime(place).getRuntime(GetRuntimeRequest.getDefaultInstance()))
              .getInstance();
      session.call(
          () -> session.system(place).rebootSystem(RebootSystemRequest.getDefaultInstance()));
    }
    out().printf("the machine of the node at %s reboots%n", place.host()).flush();
    NodeRestartCommand.awaitOther(options(), before, place, wait);
    out().printf("it answers again%n");
    return ExitCode.OK;
  }
}
