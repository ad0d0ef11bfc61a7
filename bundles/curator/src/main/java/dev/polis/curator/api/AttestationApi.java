package dev.polis.curator.api;

import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.record.Tickets;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.cluster.AttestationGrpc;
import dev.polis.wire.cluster.GetAttestationChallengeRequest;
import dev.polis.wire.cluster.GetAttestationChallengeResponse;
import dev.polis.wire.curator.stored.RegisterTicket;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.time.InstantSource;

/** Serves the Attestation API, for machines that register. */
public final class AttestationApi extends AttestationGrpc.AttestationImplBase {

  private final LeaderGate gate;
  private final MachineAttestation attestation;
  private final InstantSource clock;

  public AttestationApi(LeaderGate gate, MachineAttestation attestation, InstantSource clock) {
    this.gate = gate;
    this.attestation = attestation;
    this.clock = clock;
  }

  @Override
  public void getAttestationChallenge(
      GetAttestationChallengeRequest request,
      StreamObserver<GetAttestationChallengeResponse> caller) {
    PublicKey node = RpcPeer.current().requireKey();
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          RegisterTicket ticket =
              term.records().registerTicket().orElseGet(RegisterTicket::getDefaultInstance);
          Tickets.require(ticket, request.getRegisterTicket(), clock.instant());
          return attestation.give(node, request.getKeys());
        });
  }
}
