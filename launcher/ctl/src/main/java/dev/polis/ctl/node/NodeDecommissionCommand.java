package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.api.DecommissionNodeRequest;
import dev.polis.wire.api.Node;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Ends the membership of a node. */
@Command(
    name = "decommission",
    description = {
      "Ends the membership of a node without roles, for good.",
      "The cluster revokes its certificates, refuses its calls, and deletes the cluster's half of",
      "the key of its data volume: copy what you need from that volume before."
    })
final class NodeDecommissionCommand extends SessionCommand {

  @Parameters(paramLabel = "NODE", description = "the node's id")
  String id;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    Node found = NodeCommand.chosen(session, List.of(id), "").getFirst();
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
}
