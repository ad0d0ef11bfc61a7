package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;

/** Makes and checks the tickets with which nodes register. */
public final class Tickets {

  /** Long enough for a person to start some machines; a forgotten ticket is soon of no use. */
  static final Duration LIFETIME = Duration.ofHours(24);

  private static final int BYTES = 32;

  private Tickets() {}

  static RegisterTicket create(SecureRandom random, Instant now) {
    byte[] opaque = new byte[BYTES];
    random.nextBytes(opaque);
    return RegisterTicket.newBuilder()
        .setOpaque(ByteString.copyFrom(opaque))
        .setExpiresAt(Timestamp.newBuilder().setSeconds(now.plus(LIFETIME).getEpochSecond()))
        .build();
  }

  static boolean isValid(RegisterTicket ticket, Instant now) {
    return !ticket.getOpaque().isEmpty() && now.isBefore(end(ticket));
  }

  /** Returns the end of a ticket; one without an end is of an older version, and has ended. */
  public static Instant end(RegisterTicket ticket) {
    return Instant.ofEpochSecond(ticket.getExpiresAt().getSeconds());
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
          "registerticket invalid: it ended at %s; make new node parameters (polisctl params make"
              + " --register) and start the node with those",
          end(ticket));
    }
  }
}
