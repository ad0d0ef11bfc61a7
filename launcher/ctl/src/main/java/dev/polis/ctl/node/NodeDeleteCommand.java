package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.api.DeleteNodeRequest;
import dev.polis.wire.api.DeleteNodeRequest.SafetyBypassHasRoles;
import dev.polis.wire.api.DeleteNodeRequest.SafetyBypassNotDecommissioned;
import dev.polis.wire.api.Node;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Deletes the record of a node. */
@Command(
    name = "delete",
    description = {
      "Deletes the record of a node that was decommissioned, or that has never become a member.",
      "The two options are for a machine that is lost: its certificates are revoked as well."
    })
final class NodeDeleteCommand extends SessionCommand {

  @Parameters(paramLabel = "NODE", description = "the node's id")
  String id;

  @Option(
      names = "--bypass-not-decommissioned",
      description = "deletes a member that was not decommissioned; its disk may still hold keys")
  boolean notDecommissioned;

  @Option(
      names = "--bypass-has-roles",
      description = "deletes a member with roles, whose programs it may still run")
  boolean hasRoles;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    Node found = NodeCommand.chosen(session, List.of(id), "").getFirst();
    DeleteNodeRequest.Builder request = DeleteNodeRequest.newBuilder().setId(found.getId());
    if (notDecommissioned) {
      request.setSafetyBypassNotDecommissioned(SafetyBypassNotDecommissioned.getDefaultInstance());
    }
    if (hasRoles) {
      request.setSafetyBypassHasRoles(SafetyBypassHasRoles.getDefaultInstance());
    }
    session.call(() -> session.management().deleteNode(request.build()));
    session.revoked();
    String address = found.getStatus().getExternalAddress();
    JsonObject result = new JsonObject();
    result.addProperty("id", id);
    result.addProperty("deleted", true);
    return print(
        "deleted node %s (%s)".formatted(id, address.isEmpty() ? "no address" : address), result);
  }
}
