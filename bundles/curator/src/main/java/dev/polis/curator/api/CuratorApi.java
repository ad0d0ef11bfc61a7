package dev.polis.curator.api;

import com.google.protobuf.Timestamp;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.roles.RoleName;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.leader.NodeSelection;
import dev.polis.curator.record.HeartbeatMonitor;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.NodeId;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.GetConsensusStatusResponse.EtcdMember;
import dev.polis.wire.curator.HeartbeatUpdateRequest;
import dev.polis.wire.curator.HeartbeatUpdateResponse;
import dev.polis.wire.curator.IssueCertificateRequest;
import dev.polis.wire.curator.IssueCertificateResponse;
import dev.polis.wire.curator.JoinNodeRequest;
import dev.polis.wire.curator.JoinNodeResponse;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import dev.polis.wire.curator.UpdateNodeClusterNetworkingRequest;
import dev.polis.wire.curator.UpdateNodeClusterNetworkingResponse;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.UpdateNodeStatusResponse;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.roles.Role;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.security.PublicKey;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;

/** Serves the Curator API, for nodes: enrolment, watches, status, heartbeats. */
public final class CuratorApi extends CuratorGrpc.CuratorImplBase {

  private final LeaderGate gate;
  private final CallStreams streams;
  private final Consensus consensus;
  private final WorkerCertificates certificates;
  private final InstantSource clock;
  private final NodeEnrolment enrolment;

  public CuratorApi(
      LeaderGate gate,
      CallStreams streams,
      Consensus consensus,
      WorkerCertificates certificates,
      MachineAttestation attestation,
      InstantSource clock) {
    this.gate = gate;
    this.streams = streams;
    this.consensus = consensus;
    this.certificates = certificates;
    this.clock = clock;
    this.enrolment = new NodeEnrolment(attestation, clock);
  }

  @Override
  public void watch(WatchRequest request, StreamObserver<WatchEvent> caller) {
    NodeSelection selection = selection(request);
    LeaderTerm term = ApiCalls.run(gate::require);
    ApiCalls.run(() -> streams.feed(caller, feed -> term.watch(selection, feed)));
  }

  private static NodeSelection selection(WatchRequest request) {
    return switch (request.getKindCase()) {
      case NODE_IN_CLUSTER ->
          new NodeSelection.One(NodeRecords.idOfText(request.getNodeInCluster().getNodeId()));
      case NODES_IN_CLUSTER -> new NodeSelection.All();
      case KIND_NOT_SET ->
          throw Refusal.invalid("the request has no kind; set node_in_cluster or nodes_in_cluster");
    };
  }

  @Override
  public void updateNodeStatus(
      UpdateNodeStatusRequest request, StreamObserver<UpdateNodeStatusResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    if (!request.getNodeId().equals(self.text())) {
      throw Refusal.denied(
          "node %s sent the status of %s; a node may update only its own",
          self, request.getNodeId());
    }
    NodeStatus status = checked(request);
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          term.records()
              .updateNode(self.text(), node -> node.toBuilder().setStatus(status).build());
          return UpdateNodeStatusResponse.getDefaultInstance();
        });
  }

  private NodeStatus checked(UpdateNodeStatusRequest request) {
    if (!request.hasStatus()) {
      throw Refusal.invalid("status must be set");
    }
    ReportedAddress.read(request.getStatus().getExternalAddress(), RpcPeer.currentAddress());
    request.getStatus().getRunningRoles().getRolesList().stream()
        .map(Role::getName)
        .forEach(CuratorApi::checkRole);
    Instant now = clock.instant();
    return request.getStatus().toBuilder()
        .setTimestamp(
            Timestamp.newBuilder().setSeconds(now.getEpochSecond()).setNanos(now.getNano()))
        .build();
  }

  private static void checkRole(String name) {
    RoleName.problemOf(name)
        .ifPresent(
            problem -> {
              throw Refusal.invalid("status.running_roles: \"%s\" %s", name, problem);
            });
  }

  @Override
  public StreamObserver<HeartbeatUpdateRequest> heartbeat(
      StreamObserver<HeartbeatUpdateResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    InetAddress from = RpcPeer.currentAddress();
    return new StreamObserver<>() {
      @Override
      public void onNext(HeartbeatUpdateRequest beat) {
        Optional<String> other =
            ApiCalls.run(gate::require)
                .heartbeats()
                .record(
                    self,
                    new HeartbeatMonitor.NodeProcess(
                        beat.getProcess(), ReportedAddress.shown(beat.getAddress(), from)));
        Instant now = clock.instant();
        caller.onNext(
            HeartbeatUpdateResponse.newBuilder()
                .setLeaderClock(
                    Timestamp.newBuilder().setSeconds(now.getEpochSecond()).setNanos(now.getNano()))
                .setOtherAddress(other.orElse(""))
                .build());
      }

      @Override
      public void onError(Throwable gone) {
        // The node disconnected; if it does not come back, its missing heartbeats show it.
      }

      @Override
      public void onCompleted() {
        caller.onCompleted();
      }
    };
  }

  @Override
  public void getConsensusStatus(
      GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          var response = GetConsensusStatusResponse.newBuilder();
          consensus.overview().members().forEach(member -> response.addEtcdMember(wire(member)));
          return response.build();
        });
  }

  private static EtcdMember wire(ConsensusMember member) {
    return EtcdMember.newBuilder()
        .setId(member.name())
        .setStatus(
            member.learner() ? EtcdMember.Status.STATUS_LEARNER : EtcdMember.Status.STATUS_FULL)
        .build();
  }

  @Override
  public void registerNode(
      RegisterNodeRequest request, StreamObserver<RegisterNodeResponse> caller) {
    PublicKey key = RpcPeer.current().requireKey();
    ApiCalls.unary(gate, caller, term -> enrolment.register(term, key, request));
  }

  @Override
  public void commitNode(CommitNodeRequest request, StreamObserver<CommitNodeResponse> caller) {
    PublicKey key = RpcPeer.current().requireKey();
    ApiCalls.unary(gate, caller, term -> enrolment.commit(term, key, request));
  }

  @Override
  public void joinNode(JoinNodeRequest request, StreamObserver<JoinNodeResponse> caller) {
    PublicKey key = RpcPeer.current().requireKey();
    ApiCalls.unary(gate, caller, term -> enrolment.join(term, key, request));
  }

  @Override
  public void issueCertificate(
      IssueCertificateRequest request, StreamObserver<IssueCertificateResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    if (!request.hasKubernetesWorker()) {
      throw Refusal.invalid(
          "the request names no role for the certificates; set kubernetes_worker");
    }
    ApiCalls.unary(
        gate,
        caller,
        term ->
            certificates.issue(
                term.records().requireNode(self.text()), request.getKubernetesWorker()));
  }

  @Override
  public void updateNodeClusterNetworking(
      UpdateNodeClusterNetworkingRequest request,
      StreamObserver<UpdateNodeClusterNetworkingResponse> caller) {
    RpcPeer.current().requireNode();
    throw Refusal.precondition("this version has no network between the Pods of different nodes");
  }
}
