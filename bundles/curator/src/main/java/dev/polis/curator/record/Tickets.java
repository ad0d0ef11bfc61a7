package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.TicketTerm;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Instant;

/** Makes and checks the record of the ticket with which nodes register. */
public final class Tickets {

  private Tickets() {}

  static RegisterTicket create(SecureRandom random, Instant now) {
    return RegisterTicket.newBuilder()
        .setOpaque(ByteString.copyFrom(TicketTerm.create(random, now)))
        .build();
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
    boolean same = MessageDigest.isEqual(ticket.getOpaque().toByteArray(), shown.toByteArray());
    if (!same || ticket.getOpaque().isEmpty()) {
      throw Refusal.denied(
          "registerticket invalid: this cluster did not issue it, or has issued another one since;"
              + " make new node parameters (polisctl params make --register) and start the node"
              + " with those");
    }
    if (!isValid(ticket, now)) {
      throw Refusal.denied(
          "registerticket invalid: it has ended; make new node parameters (polisctl params make"
              + " --register) and start the node with those");
    }
  }
}
