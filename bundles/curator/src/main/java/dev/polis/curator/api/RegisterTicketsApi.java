package dev.polis.curator.api;

import com.google.protobuf.Timestamp;
import dev.polis.api.curator.TicketTerm;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.record.Refusal;
import dev.polis.curator.record.Tickets;
import dev.polis.wire.cluster.DescribeTicketRequest;
import dev.polis.wire.cluster.DescribeTicketResponse;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.ReplaceTicketResponse;
import dev.polis.wire.cluster.RevokeTicketRequest;
import dev.polis.wire.cluster.RevokeTicketResponse;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import io.grpc.stub.StreamObserver;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** Serves the RegisterTickets API, for operators: the ticket with which new nodes register. */
public final class RegisterTicketsApi extends RegisterTicketsGrpc.RegisterTicketsImplBase {

  /** More nodes than a person adds at once; a larger number is a mistake. */
  private static final int MOST_NODES = 1000;

  private final LeaderGate gate;
  private final SecureRandom random;
  private final InstantSource clock;

  public RegisterTicketsApi(LeaderGate gate, SecureRandom random, InstantSource clock) {
    this.gate = gate;
    this.random = random;
    this.clock = clock;
  }

  @Override
  public void describeTicket(
      DescribeTicketRequest request, StreamObserver<DescribeTicketResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          Optional<RegisterTicket> ticket = valid(term.records().registerTicket());
          return ticket.isEmpty()
              ? DescribeTicketResponse.getDefaultInstance()
              : described(ticket.get(), term.records().nodes());
        });
  }

  @Override
  public void replaceTicket(
      ReplaceTicketRequest request, StreamObserver<ReplaceTicketResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          int most = request.getMostNodes();
          if (most < 0 || most > MOST_NODES) {
            throw Refusal.invalid(
                "most_nodes is %s; give at most %d, or 0 for no limit",
                Integer.toUnsignedString(most), MOST_NODES);
          }
          return term.records()
              .replaceTicket(
                  random,
                  clock.instant(),
                  most,
                  created ->
                      ReplaceTicketResponse.newBuilder()
                          .setValidUntil(end(created))
                          .setMostNodes(created.getMostNodes())
                          .build());
        });
  }

  @Override
  public void revokeTicket(
      RevokeTicketRequest request, StreamObserver<RevokeTicketResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term ->
            term.records()
                .deleteTicket(
                    deleted ->
                        RevokeTicketResponse.newBuilder()
                            .setWasValid(valid(deleted).isPresent())
                            .build()));
  }

  private static DescribeTicketResponse described(RegisterTicket ticket, List<Node> nodes) {
    return DescribeTicketResponse.newBuilder()
        .setValidUntil(end(ticket))
        .setMostNodes(ticket.getMostNodes())
        .setRegisteredNodes((int) Tickets.registered(ticket, nodes))
        .build();
  }

  private Optional<RegisterTicket> valid(Optional<RegisterTicket> stored) {
    return stored.filter(ticket -> Tickets.isValid(ticket, clock.instant()));
  }

  private static Timestamp end(RegisterTicket ticket) {
    Instant end = TicketTerm.end(ticket.getOpaque().toByteArray());
    return Timestamp.newBuilder().setSeconds(end.getEpochSecond()).build();
  }
}
