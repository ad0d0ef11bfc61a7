package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.TicketTerm;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Collection;

/** Makes and checks the record of the ticket with which nodes register. */
public final class Tickets {

  /** Few tickets of a cluster live at the same time; these bytes tell more of them apart. */
  private static final int ID_BYTES = 8;

  private Tickets() {}

  /**
   * @param most the number of nodes that the ticket registers; 0 for no limit
   */
  static RegisterTicket create(SecureRandom random, Instant now, int most) {
    byte[] id = new byte[ID_BYTES];
    random.nextBytes(id);
    return RegisterTicket.newBuilder()
        .setOpaque(ByteString.copyFrom(TicketTerm.create(random, now)))
        .setId(ByteString.copyFrom(id))
        .setMostNodes(most)
        .build();
  }

  /** Returns the number of nodes that have registered with a ticket. */
  public static long registered(RegisterTicket ticket, Collection<Node> nodes) {
    return ticket.getId().isEmpty()
        ? 0
        : nodes.stream().filter(node -> node.getRegisterTicketId().equals(ticket.getId())).count();
  }

  /**
   * Requires that a ticket registers one more node.
   *
   * @throws dev.polis.rpc.RpcException FAILED_PRECONDITION if it has registered all of its nodes
   */
  static void requirePlace(RegisterTicket ticket, Collection<Node> nodes) {
    if (ticket.getMostNodes() > 0 && registered(ticket, nodes) >= ticket.getMostNodes()) {
      throw Refusal.precondition(
          "the ticket has registered the %d nodes that it is for; list them (polisctl node list),"
              + " delete those that are not yours (polisctl node delete), or make another ticket"
              + " (polisctl cluster ticket replace)",
          ticket.getMostNodes());
    }
  }

  public static boolean isValid(RegisterTicket ticket, Instant now) {
    return TicketTerm.isValid(ticket.getOpaque().toByteArray(), now);
  }

  /**
   * Requires that a node has shown the ticket of the cluster. The time of the comparison does not
   * depend on the shown bytes.
   *
   * @throws dev.polis.rpc.RpcException PERMISSION_DENIED if it has not
   */
  public static void require(RegisterTicket ticket, ByteString shown, Instant now) {
    requireSame(ticket, shown);
    if (!isValid(ticket, now)) {
      throw Refusal.denied(
          "registerticket invalid: it has ended; make new node parameters (polisctl params make"
              + " --register) and start the node with those");
    }
  }

  /** Requires the same of the record in a transaction, whether or not the ticket has ended. */
  static void requireSame(RecordState present, ByteString shown) {
    requireSame(
        present instanceof RecordState.Present(long revision, RegisterTicket ticket)
            ? ticket
            : RegisterTicket.getDefaultInstance(),
        shown);
  }

  private static void requireSame(RegisterTicket ticket, ByteString shown) {
    boolean same = MessageDigest.isEqual(ticket.getOpaque().toByteArray(), shown.toByteArray());
    if (!same || ticket.getOpaque().isEmpty()) {
      throw Refusal.denied(
          "registerticket invalid: this cluster did not issue it, or has issued another one since;"
              + " make new node parameters (polisctl params make --register) and start the node"
              + " with those");
    }
  }
}
