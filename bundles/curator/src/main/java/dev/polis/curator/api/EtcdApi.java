package dev.polis.curator.api;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.CredentialHint;
import dev.polis.wire.cluster.Endpoint;
import dev.polis.wire.cluster.EtcdGrpc;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.MembersResponse;
import dev.polis.wire.cluster.StatusRequest;
import dev.polis.wire.cluster.StatusResponse;
import io.grpc.stub.StreamObserver;
import java.time.Duration;

/** Serves the Etcd API, for operators. Each node answers for its own member, leader or not. */
public final class EtcdApi extends EtcdGrpc.EtcdImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Consensus consensus;

  public EtcdApi(Consensus consensus) {
    this.consensus = consensus;
  }

  @Override
  public void members(MembersRequest request, StreamObserver<MembersResponse> caller) {
    MembersResponse.Builder response = MembersResponse.newBuilder();
    overview().members().forEach(member -> response.addMembers(wire(member)));
    caller.onNext(response.build());
    caller.onCompleted();
  }

  private static Member wire(ConsensusMember member) {
    return Member.newBuilder()
        .setId(Long.parseUnsignedLong(member.id(), 16))
        .setName(member.name())
        .addAllPeerUrls(member.peerUrls())
        .addAllClientUrls(member.clientUrls())
        .setLearner(member.learner())
        .build();
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusResponse> caller) {
    ConsensusOverview overview = overview();
    caller.onNext(
        StatusResponse.newBuilder()
            .addEndpoints(endpoint(overview))
            .addCredentials(credentials(overview))
            .build());
    caller.onCompleted();
  }

  private static Endpoint endpoint(ConsensusOverview overview) {
    ConsensusMember local = overview.members().getFirst();
    return Endpoint.newBuilder()
        .setUrl(String.join(",", local.clientUrls()))
        .setName(local.name())
        .setVersion(overview.version())
        .setDbSize(overview.databaseBytes())
        .setDbSizeInUse(overview.databaseBytesInUse())
        .setLeader(Long.parseUnsignedLong(overview.leaderId(), 16))
        .setRevision(overview.revision())
        .setRaftTerm(overview.raftTerm())
        .setRaftIndex(overview.raftIndex())
        .setLearner(local.learner())
        .setError(String.join("; ", overview.alarms()))
        .build();
  }

  private static CredentialHint credentials(ConsensusOverview overview) {
    return CredentialHint.newBuilder()
        .setUser("root")
        .setCaPath(overview.operator().ca())
        .setCertificatePath(overview.operator().certificate())
        .setKeyPath(overview.operator().key())
        .build();
  }

  private ConsensusOverview overview() {
    try {
      return ApiCalls.run(consensus::overview);
    } catch (ConsensusException e) {
      throw RpcException.unavailable(e.getMessage(), RETRY);
    }
  }
}
