package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import com.google.protobuf.Timestamp;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.cluster.DescribeTicketRequest;
import dev.polis.wire.cluster.DescribeTicketResponse;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.ReplaceTicketResponse;
import dev.polis.wire.cluster.RevokeTicketRequest;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Groups the commands for the ticket with which new nodes register. */
@Command(
    name = "ticket",
    description = "Shows, replaces and revokes the ticket with which new nodes register.")
@Subcommands({
  ClusterTicketCommand.Show.class,
  ClusterTicketCommand.Replace.class,
  ClusterTicketCommand.Revoke.class
})
final class ClusterTicketCommand {

  private static final String NONE = "no ticket is valid: no node can register";

  private static JsonObject validUntil(String end) {
    JsonObject result = new JsonObject();
    result.addProperty("validUntil", end);
    return result;
  }

  private static String nodes(int most) {
    return most == 0 ? "any number of nodes" : most == 1 ? "one node" : most + " nodes";
  }

  private static String text(Timestamp end) {
    return Instant.ofEpochSecond(end.getSeconds()).toString();
  }

  /** Shows when the ticket ends. */
  @Command(
      name = "show",
      description =
          "Shows the end of the present ticket and its nodes, without its secret; makes none.")
  static final class Show extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      DescribeTicketRequest request = DescribeTicketRequest.getDefaultInstance();
      DescribeTicketResponse ticket =
          session.call(() -> session.registerTickets().describeTicket(request));
      if (!ticket.hasValidUntil()) {
        return print(NONE, validUntil(""));
      }
      String end = text(ticket.getValidUntil());
      JsonObject result = validUntil(end);
      result.addProperty("mostNodes", ticket.getMostNodes());
      result.addProperty("registeredNodes", ticket.getRegisteredNodes());
      return print(
          "a ticket is valid until %s, for %s; %d registered"
              .formatted(end, nodes(ticket.getMostNodes()), ticket.getRegisteredNodes()),
          result);
    }
  }

  /** Makes another ticket. */
  @Command(
      name = "replace",
      description = {
        "Makes another ticket: no node registers with the former one. Nodes that have registered",
        "stay; make new node parameters for the others."
      })
  static final class Replace extends SessionCommand {
    @Option(
        names = "--nodes",
        paramLabel = "COUNT",
        description = "the number of nodes that it registers (default: no limit)")
    int nodes;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      CtlOptions.requireAtLeast(0, nodes, "--nodes");
      ReplaceTicketRequest request = ReplaceTicketRequest.newBuilder().setMostNodes(nodes).build();
      ReplaceTicketResponse ticket =
          session.call(() -> session.registerTickets().replaceTicket(request));
      String end = text(ticket.getValidUntil());
      String made =
          "the former ticket registers no node; another one is valid until %s, for %s"
              .formatted(end, ClusterTicketCommand.nodes(ticket.getMostNodes()));
      if (ticket.getMostNodes() != nodes) {
        throw new CtlException(
            "%s, and not for %s: the leader's version of Polis does not limit tickets; revoke it (%s), or upgrade the leader and repeat this"
                .formatted(
                    made,
                    ClusterTicketCommand.nodes(nodes),
                    options().command("cluster ticket revoke")));
      }
      return print(made, validUntil(end));
    }
  }

  /** Deletes the ticket. */
  @Command(
      name = "revoke",
      description = {
        "Deletes the ticket: no node registers until \"params make --register\" makes another one."
      })
  static final class Revoke extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      RevokeTicketRequest request = RevokeTicketRequest.getDefaultInstance();
      boolean was =
          session.call(() -> session.registerTickets().revokeTicket(request)).getWasValid();
      return print(was ? "the ticket is revoked: no node can register" : NONE, validUntil(""));
    }
  }
}
