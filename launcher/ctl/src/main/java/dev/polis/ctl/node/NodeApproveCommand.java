package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Approves a node that has registered. */
@Command(
    name = "approve",
    description = {
      "Approves a node that has registered, which then becomes a member.",
      "Compare its key with the one that the node itself shows.",
      "Prints what its machine has proved by its TPM; \"node describe\" shows that before."
    })
final class NodeApproveCommand extends SessionCommand {

  @Parameters(paramLabel = "NODE", description = "the node's id")
  String id;

  @Option(
      names = "--key",
      paramLabel = "SHA256:...",
      description = "approves the node only if its key has this fingerprint, which it shows itself")
  String key = "";

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    Node found = NodeCommand.chosen(session, List.of(id), "").getFirst();
    String fingerprint = NodeRows.fingerprint(found);
    if (!key.isEmpty() && !key.equals(fingerprint)) {
      throw new CtlException(
          ExitCode.FAILED,
          "node %s has the key %s and not %s, so it was not approved; it is another machine than the one that shows that key"
              .formatted(id, fingerprint, key));
    }
    AttestedLines.of(found, ClusterAttestationCommand.configuration(session).getAttestation())
        .forEach(out()::println);
    boolean before = found.getState() != NodeState.NODE_STATE_NEW;
    session.call(
        () ->
            session
                .management()
                .approveNode(ApproveNodeRequest.newBuilder().setPubkey(found.getPubkey()).build()));
    out()
        .printf(
            before
                ? "node %s was approved before; its key is %s%n"
                : "approved node %s with the key %s%n",
            id,
            fingerprint);
    return ExitCode.OK;
  }
}
