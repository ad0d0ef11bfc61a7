package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.api.DecommissionNodeRequest;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.common.NodeState;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Takes the roles of a node, waits until it has ended them, and ends its membership. */
@Command(
    name = "decommission",
    description = {
      "Ends the membership of a node, for good.",
      "The cluster first takes all roles from the node, unless it could not work without them, and",
      "the command waits until the node has ended them. Then the cluster revokes the certificates",
      "of the node, refuses its calls, and deletes the cluster's half of the key of its data volume:",
      "copy what you need from that volume before."
    })
final class NodeDecommissionCommand extends SessionCommand {
  private static final Duration ASK_AGAIN = Duration.ofSeconds(1);

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      defaultValue = "600",
      description = "how long the node may take to end its roles (default: ${DEFAULT-VALUE})")
  int wait;

  @Parameters(paramLabel = "NODE", description = "the node's id")
  String id;

  @Override
  protected void check() {
    CtlOptions.requireAtLeast(1, wait, "--wait");
  }

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    Node found = find(session);
    if (found.getState() == NodeState.NODE_STATE_UP) {
      takeRoles(session, RoleRecord.names(found.getRoles()));
      awaitEndOfRoles(session);
    }
    DecommissionNodeRequest request =
        DecommissionNodeRequest.newBuilder().setPubkey(found.getPubkey()).build();
    session.call(() -> session.management().decommissionNode(request));
    JsonObject result = new JsonObject();
    result.addProperty("id", id);
    result.addProperty("state", "DECOMMISSIONED");
    return print(
        "decommissioned node %s: its certificates are revoked; to delete its record: %s"
            .formatted(id, options().command("node delete " + id)),
        result);
  }

  private Node find(Session session) throws InterruptedException {
    return NodeCommand.chosen(session, List.of(id), "").getFirst();
  }

  /** Takes all roles in one change, so that a refusal for the quorum of etcd leaves all of them. */
  private void takeRoles(Session session, Collection<RoleName> roles) throws InterruptedException {
    if (roles.isEmpty()) {
      return;
    }
    UpdateNodeRolesRequest.Builder request = UpdateNodeRolesRequest.newBuilder().setId(id);
    roles.forEach(role -> NodeRoleCommand.change(request, role, false));
    session.call(() -> session.management().updateNodeRoles(request.build()));
    remark("the cluster has taken the roles of the node: " + text(roles));
  }

  /** Waits until the node reports no role, so that Pods move and etcd's member leaves in order. */
  private void awaitEndOfRoles(Session session) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(wait).toNanos();
    String told = "";
    while (true) {
      Node now = find(session);
      String running = text(RoleRecord.running(now.getStatus()).orElseGet(TreeSet::new));
      if (running.isEmpty()) {
        return;
      }
      if (now.getHealth() == Node.Health.HEALTH_HEARTBEAT_TIMEOUT) {
        remark("the node is silent, so the command does not wait for the end of: " + running);
        return;
      }
      if (System.nanoTime() > deadline) {
        throw new CtlException(
            ExitCode.UNREACHABLE,
            "node %s still runs %s after %d s, and stays a member without roles; look at its health (%s), and repeat the command"
                .formatted(id, running, wait, options().command("health " + id)));
      }
      if (!running.equals(told)) {
        remark("waiting until the node has ended: " + running);
        told = running;
      }
      Thread.sleep(ASK_AGAIN);
    }
  }

  private static String text(Collection<RoleName> roles) {
    return roles.stream().map(RoleName::text).collect(Collectors.joining(" "));
  }
}
