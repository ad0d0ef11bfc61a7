package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.NodeLabels;
import dev.polis.curator.filter.NodeFilter;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.NodeId;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.ComputingThreads;
import dev.polis.rpc.NonBlockingMethods;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.ApproveNodeResponse;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.ConfigureClusterResponse;
import dev.polis.wire.api.DecommissionNodeRequest;
import dev.polis.wire.api.DecommissionNodeResponse;
import dev.polis.wire.api.DeleteNodeRequest;
import dev.polis.wire.api.DeleteNodeResponse;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.GetRegisterTicketResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.api.UpdateNodeLabelsResponse;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.api.UpdateNodeRolesResponse;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.ext.Permission;
import io.grpc.stub.StreamObserver;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** Serves the Management API, for operators: nodes, roles, labels, tickets, configuration. */
public final class ManagementApi extends ManagementGrpc.ManagementImplBase
    implements NonBlockingMethods {

  /**
   * The number of nodes in a cluster directory, enough to find the cluster after most nodes have
   * moved; existing clients expect no more.
   */
  private static final int DIRECTORY_NODES = 15;

  /**
   * The number of records that the reading thread lists in some tens of microseconds; a separate
   * thread lists more.
   */
  private static final int FEW_RECORDS = 64;

  private final LeaderGate gate;
  private final CallStreams streams;
  private final ComputingThreads computing;
  private final SecureRandom random;
  private final Supplier<ByteString> clusterCa;
  private final InstantSource clock;
  private final NodeRemoval removal;
  private final ConsensusMembers members;
  // One at a time, so that no two calls make two workers.
  private final ReentrantLock workers = new ReentrantLock();

  /**
   * @param self the node of this curator, which does not remove itself
   * @param clusterCa returns the CA that issues, DER
   */
  public ManagementApi(
      NodeId self,
      LeaderGate gate,
      CallStreams streams,
      ComputingThreads computing,
      SecureRandom random,
      Supplier<ByteString> clusterCa,
      InstantSource clock,
      ConsensusMembers members) {
    this.gate = gate;
    this.streams = streams;
    this.computing = computing;
    this.random = random;
    this.clusterCa = clusterCa;
    this.clock = clock;
    this.removal = new NodeRemoval(self);
    this.members = members;
  }

  @Override
  public void getRegisterTicket(
      GetRegisterTicketRequest request, StreamObserver<GetRegisterTicketResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term ->
            GetRegisterTicketResponse.newBuilder()
                .setTicket(term.records().validTicket(random, clock.instant()).getOpaque())
                .build());
  }

  @Override
  public void getClusterInfo(
      GetClusterInfoRequest request, StreamObserver<GetClusterInfoResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          RecordSnapshot records = term.records().read();
          return GetClusterInfoResponse.newBuilder()
              .setClusterDirectory(directory(records.nodes()))
              .setCaCertificate(clusterCa.get())
              .setClusterConfiguration(records.configuration())
              .build();
        });
  }

  /**
   * Lists the nodes with a reachable curator: UP, with an address, and with the role, which an
   * operator gives. The status alone does not count, since each node reports its own.
   */
  private static ClusterDirectory directory(List<Node> nodes) {
    var directory = ClusterDirectory.newBuilder();
    nodes.stream()
        .filter(NodeRecords::isUp)
        .filter(node -> node.getRoles().hasConsensusMember())
        .filter(node -> !node.getStatus().getExternalAddress().isEmpty())
        .filter(node -> node.getStatus().hasRunningCurator())
        .sorted(
            Comparator.comparing(
                Node::getPublicKey, ByteString.unsignedLexicographicalComparator()))
        .limit(DIRECTORY_NODES)
        .forEach(
            node ->
                directory.addNodes(
                    ClusterDirectory.Node.newBuilder()
                        .setId(node.getId())
                        .addAddresses(
                            ClusterDirectory.Node.Address.newBuilder()
                                .setHost(node.getStatus().getExternalAddress()))));
    return directory.build();
  }

  @Override
  public Set<String> nonBlockingMethods() {
    return Set.of(ManagementGrpc.getGetNodesMethod().getFullMethodName());
  }

  @Override
  public void getNodes(GetNodesRequest request, StreamObserver<dev.polis.wire.api.Node> caller) {
    Optional<List<dev.polis.wire.api.Node>> known =
        request.getFilter().isEmpty() ? gate.atOnce(ManagementApi::fewNodes) : Optional.empty();
    if (known.isPresent()) {
      known.get().forEach(caller::onNext);
      caller.onCompleted();
      return;
    }
    streams.serve("curator nodes", caller, sink -> sendNodes(request, sink));
  }

  /** Returns all nodes if memory has them and they are few enough for an answer without a wait. */
  private static Optional<List<dev.polis.wire.api.Node>> fewNodes(LeaderTerm term) {
    return term.records()
        .readAtOnce()
        .filter(records -> records.keys().size() <= FEW_RECORDS)
        .map(records -> withHealth(records.forOperators(), term));
  }

  private void sendNodes(GetNodesRequest request, CallStreams.Sink<dev.polis.wire.api.Node> sink)
      throws InterruptedException {
    for (dev.polis.wire.api.Node node : picked(request.getFilter())) {
      sink.send(node);
    }
  }

  private List<dev.polis.wire.api.Node> picked(String expression) throws InterruptedException {
    if (expression.isBlank()) {
      return nodes();
    }
    // This comes first, so that an operator gets the error of the filter even while no curator
    // leads.
    NodeFilter filter = computing.run(() -> NodeFilter.compile(expression));
    List<dev.polis.wire.api.Node> nodes = nodes();
    return computing.run(() -> filter.pick(nodes));
  }

  private List<dev.polis.wire.api.Node> nodes() throws InterruptedException {
    return ApiCalls.translating(
        () -> gate.during(term -> withHealth(term.records().read().forOperators(), term)));
  }

  private static List<dev.polis.wire.api.Node> withHealth(
      List<dev.polis.wire.api.Node> nodes, LeaderTerm term) {
    return nodes.stream().map(node -> NodeRecords.withHealth(node, term.heartbeats())).toList();
  }

  @Override
  public void approveNode(ApproveNodeRequest request, StreamObserver<ApproveNodeResponse> caller) {
    String id = NodeRecords.idOfKey(request.getPubkey());
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          AttestationPolicy policy = term.records().read().configuration().getAttestation();
          return term.records()
              .updateNode(
                  id,
                  node -> approved(node, policy),
                  _ -> ApproveNodeResponse.getDefaultInstance());
        });
  }

  private static Node approved(Node node, AttestationPolicy policy) {
    return switch (node.getFsmState()) {
      case NODE_STATE_NEW -> {
        AttestationRules.requireApprovable(node, policy);
        yield node.toBuilder().setFsmState(NodeState.NODE_STATE_STANDBY).build();
      }
      case NODE_STATE_STANDBY, NODE_STATE_UP -> node;
      default ->
          throw Refusal.precondition(
              "node %s is %s; only a NEW node can be approved", node.getId(), node.getFsmState());
    };
  }

  @Override
  public void updateNodeRoles(
      UpdateNodeRolesRequest request, StreamObserver<UpdateNodeRolesResponse> caller) {
    String id =
        NodeRecords.idOf(
            request.hasPubkey(), request.getPubkey(), request.hasId(), request.getId());
    RoleChanges changes = RoleChanges.of(request);
    if (changes.beginsConsensus()) {
      requireOwner(RpcPeer.current());
    }
    ApiCalls.unary(
        gate,
        caller,
        term ->
            changes.endsConsensus()
                ? members.oneAtATime(() -> endConsensus(term, id, changes))
                : change(term, id, changes));
  }

  /**
   * Refuses a caller that may not give access: a member of etcd has all secrets of the cluster, so
   * an operator would get them by a node of its own.
   */
  private static void requireOwner(RpcPeer caller) {
    if (!caller.permissions().contains(Permission.PERMISSION_MANAGE_ACCESS)) {
      throw Refusal.denied(
          "the role ConsensusMember needs PERMISSION_MANAGE_ACCESS, since its node gets all secrets"
              + " of the cluster, and %s does not have it; ask the owner to give the role",
          caller.identity());
    }
  }

  /**
   * Takes the role from a node. Its member leaves etcd afterwards, so that the record always says
   * what is wanted; one change at a time keeps the check valid until the record is written.
   */
  private UpdateNodeRolesResponse endConsensus(LeaderTerm term, String id, RoleChanges changes)
      throws InterruptedException {
    RecordSnapshot records = term.records().read();
    members.requireRemovable(records, id);
    return change(term, id, changes);
  }

  private UpdateNodeRolesResponse change(LeaderTerm term, String id, RoleChanges changes)
      throws InterruptedException {
    if (!changes.beginsWorker()) {
      return change(term, id, changes, Optional.empty());
    }
    workers.lockInterruptibly();
    try {
      return change(term, id, changes, NodeRecords.worker(term.records().nodes()));
    } finally {
      workers.unlock();
    }
  }

  private static UpdateNodeRolesResponse change(
      LeaderTerm term, String id, RoleChanges changes, Optional<String> worker)
      throws InterruptedException {
    return term.records()
        .updateNode(
            id,
            node -> changes.apply(node, worker),
            _ -> UpdateNodeRolesResponse.getDefaultInstance());
  }

  @Override
  public void decommissionNode(
      DecommissionNodeRequest request, StreamObserver<DecommissionNodeResponse> caller) {
    String id =
        NodeRecords.idOf(
            request.hasPubkey(), request.getPubkey(), request.hasId(), request.getId());
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          removal.decommission(term, id);
          return DecommissionNodeResponse.getDefaultInstance();
        });
  }

  @Override
  public void deleteNode(DeleteNodeRequest request, StreamObserver<DeleteNodeResponse> caller) {
    String id =
        NodeRecords.idOf(
            request.hasPubkey(), request.getPubkey(), request.hasId(), request.getId());
    NodeRemoval.Bypass bypass =
        new NodeRemoval.Bypass(
            request.hasSafetyBypassHasRoles(), request.hasSafetyBypassNotDecommissioned());
    ApiCalls.unary(
        gate,
        caller,
        term -> removal.delete(term, id, bypass, DeleteNodeResponse.getDefaultInstance()));
  }

  @Override
  public void updateNodeLabels(
      UpdateNodeLabelsRequest request, StreamObserver<UpdateNodeLabelsResponse> caller) {
    String id =
        NodeRecords.idOf(
            request.hasPubkey(), request.getPubkey(), request.hasId(), request.getId());
    check(request);
    ApiCalls.unary(
        gate,
        caller,
        term ->
            term.records()
                .updateNode(
                    id,
                    node -> withLabels(node, request),
                    _ -> UpdateNodeLabelsResponse.getDefaultInstance()));
  }

  private static void check(UpdateNodeLabelsRequest request) {
    Set<String> seen = new HashSet<>();
    for (var pair : request.getUpsertList()) {
      requireKey(pair.getKey(), seen);
      NodeLabels.problemOfValue(pair.getValue())
          .ifPresent(
              problem -> {
                throw Refusal.invalid(
                    "label %s: value \"%s\" %s", pair.getKey(), pair.getValue(), problem);
              });
    }
    request.getDeleteList().forEach(key -> requireKey(key, seen));
  }

  private static void requireKey(String key, Set<String> seen) {
    NodeLabels.problemOfKey(key)
        .ifPresent(
            problem -> {
              throw Refusal.invalid("label key \"%s\" %s", key, problem);
            });
    if (!seen.add(key)) {
      throw Refusal.invalid("the request has label key \"%s\" twice; give it once", key);
    }
  }

  private static Node withLabels(Node node, UpdateNodeLabelsRequest request) {
    Map<String, String> labels = NodeRecords.labels(node);
    request.getUpsertList().forEach(pair -> labels.put(pair.getKey(), pair.getValue()));
    request.getDeleteList().forEach(labels::remove);
    if (labels.size() > NodeLabels.MAX_COUNT) {
      throw Refusal.outOfRange(
          "node %s would have %d labels; at most %d are allowed",
          node.getId(), labels.size(), NodeLabels.MAX_COUNT);
    }
    return node.toBuilder().setLabels(NodeRecords.wire(NodeLabels.of(labels))).build();
  }

  @Override
  public void configureCluster(
      ConfigureClusterRequest request, StreamObserver<ConfigureClusterResponse> caller) {
    if (!request.hasNewConfig()) {
      throw Refusal.invalid("new_config must be set");
    }
    if (!request.hasUpdateMask()) {
      throw Refusal.invalid(
          "update_mask must be set; it names the fields to change, such as %s",
          ConfigurationRules.LABELS_TO_SYNCHRONIZE);
    }
    ApiCalls.unary(
        gate,
        caller,
        term ->
            term.records()
                .updateConfiguration(
                    existing -> merged(existing, request),
                    written ->
                        ConfigureClusterResponse.newBuilder().setResultingConfig(written).build()));
  }

  private static ClusterConfiguration merged(
      ClusterConfiguration existing, ConfigureClusterRequest request) {
    return ConfigurationRules.merge(
        existing,
        request.getBaseConfig(),
        request.hasBaseConfig(),
        request.getNewConfig(),
        request.getUpdateMask());
  }
}
