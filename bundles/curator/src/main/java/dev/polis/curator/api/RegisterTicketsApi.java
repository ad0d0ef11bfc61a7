package dev.polis.curator.api;

import com.google.protobuf.Timestamp;
import dev.polis.api.curator.TicketTerm;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.record.Tickets;
import dev.polis.wire.cluster.DescribeTicketRequest;
import dev.polis.wire.cluster.DescribeTicketResponse;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.ReplaceTicketResponse;
import dev.polis.wire.cluster.RevokeTicketRequest;
import dev.polis.wire.cluster.RevokeTicketResponse;
import dev.polis.wire.curator.stored.RegisterTicket;
import io.grpc.stub.StreamObserver;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;

/** Serves the RegisterTickets API, for operators: the ticket with which new nodes register. */
public final class RegisterTicketsApi extends RegisterTicketsGrpc.RegisterTicketsImplBase {

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
          DescribeTicketResponse.Builder answer = DescribeTicketResponse.newBuilder();
          valid(term.records().registerTicket())
              .ifPresent(ticket -> answer.setValidUntil(end(ticket)));
          return answer.build();
        });
  }

  @Override
  public void replaceTicket(
      ReplaceTicketRequest request, StreamObserver<ReplaceTicketResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term ->
            term.records()
                .replaceTicket(
                    random,
                    clock.instant(),
                    created ->
                        ReplaceTicketResponse.newBuilder().setValidUntil(end(created)).build()));
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

  private Optional<RegisterTicket> valid(Optional<RegisterTicket> stored) {
    return stored.filter(ticket -> Tickets.isValid(ticket, clock.instant()));
  }

  private static Timestamp end(RegisterTicket ticket) {
    Instant end = TicketTerm.end(ticket.getOpaque().toByteArray());
    return Timestamp.newBuilder().setSeconds(end.getEpochSecond()).build();
  }
}
