package dev.polis.cluster.it;

import com.google.protobuf.ByteString;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.audit.AuditGrpc;
import dev.polis.wire.audit.KubernetesAuditGrpc;
import dev.polis.wire.audit.ReadAuditRequest;
import dev.polis.wire.audit.ReadKubernetesAuditRequest;
import dev.polis.wire.audit.VerifyAuditRequest;
import dev.polis.wire.audit.VerifyAuditResponse;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.WantPluginRequest;
import dev.polis.wire.cluster.WantPluginResponse;
import dev.polis.wire.common.LogFilter;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.logtree.LeveledLogSeverity;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Makes calls of a cluster's owner, and of its node, over channels that stay open. */
final class OwnerApi implements AutoCloseable {

  private static final int CURATOR_PORT = 7835;

  private static final int NODE_PORT = 7839;

  private static final int DEBUG_PORT = 7837;

  private static final long PATIENCE = TestNode.PATIENCE.toSeconds();

  private final ManagedChannel channel;
  private final ManagedChannel nodeChannel;
  private final ManagedChannel asNode;
  private final ManagedChannel developers;
  private final List<LeaderResolver> resolvers;

  private OwnerApi(
      ManagedChannel channel,
      ManagedChannel nodeChannel,
      ManagedChannel asNode,
      ManagedChannel developers,
      List<LeaderResolver> resolvers) {
    this.developers = developers;
    this.resolvers = resolvers;
    this.channel = channel;
    this.nodeChannel = nodeChannel;
    this.asNode = asNode;
  }

  /** Makes one for the owner of a node whose ownership was taken. */
  static OwnerApi of(TestNode node) throws IOException {
    UserCredentials credentials = credentials(node);
    RpcTrust trust = RpcTrust.cluster(credentials.ca());
    RpcClients clients = RpcClients.authenticated(credentials.tls(), trust);
    InetSocketAddress curator = new InetSocketAddress(node.address(), CURATOR_PORT);
    return new OwnerApi(
        clients.dial(curator),
        clients.dial(new InetSocketAddress(node.address(), NODE_PORT)),
        RpcClients.authenticated(nodeCredentials(node).tls(), trust).dial(curator),
        RpcClients.plaintext(new InetSocketAddress(node.address(), DEBUG_PORT)),
        List.of());
  }

  /**
   * Makes one whose calls to the cluster go to its leader, as the curator of one node names it, and
   * whose other calls go to that node.
   *
   * @param founder the node whose ownership was taken
   */
  static OwnerApi through(TestNode founder, TestNode node) throws Exception {
    NodeCredentials own = nodeCredentials(node);
    RpcTrust trust = RpcTrust.cluster(credentials(founder).ca());
    List<NodeEndpoint> seeds =
        List.of(new NodeEndpoint(own.id(), new InetSocketAddress(node.address(), CURATOR_PORT)));
    RpcClients owner = clients(founder);
    Log log = LogTree.create().log("resolver");
    LeaderResolver ofOwner = LeaderResolver.fixed(seeds, owner, log);
    LeaderResolver ofNode =
        LeaderResolver.fixed(seeds, RpcClients.authenticated(own.tls(), trust), log);
    return new OwnerApi(
        ofOwner.channel(),
        owner.dial(new InetSocketAddress(node.address(), NODE_PORT)),
        ofNode.channel(),
        RpcClients.plaintext(new InetSocketAddress(node.address(), DEBUG_PORT)),
        List.of(ofOwner, ofNode));
  }

  static NodeCredentials nodeCredentials(TestNode node) throws IOException {
    Path own = node.state().resolve("data/node/credentials");
    return NodeCredentials.fromPem(
        Files.readString(own.resolve("cert-key.pem")),
        Files.readString(own.resolve("cert.pem")),
        Files.readString(own.resolve("ca.pem")));
  }

  /** Makes channels with the certificate of the owner of a node's cluster, to any of its nodes. */
  static RpcClients clients(TestNode node) throws IOException {
    UserCredentials credentials = credentials(node);
    return RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(credentials.ca()));
  }

  /** Returns the owner's credentials, which are beside the first node of a cluster. */
  static UserCredentials credentials(TestNode node) throws IOException {
    Path owner = node.state().resolve("owner");
    return UserCredentials.fromPem(
        Files.readString(owner.resolve("owner-key.pem")),
        Files.readString(owner.resolve("owner.pem")),
        Files.readString(owner.resolve("ca.pem")));
  }

  private ManagementGrpc.ManagementBlockingV2Stub management() {
    return ManagementGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  GetClusterInfoResponse clusterInfo() throws StatusException {
    return management().getClusterInfo(GetClusterInfoRequest.getDefaultInstance());
  }

  void label(String node, String key, String value) throws StatusException {
    management()
        .updateNodeLabels(
            UpdateNodeLabelsRequest.newBuilder()
                .setId(node)
                .addUpsert(UpdateNodeLabelsRequest.Pair.newBuilder().setKey(key).setValue(value))
                .build());
  }

  /** Returns one node, from a list of all. */
  Node node(String id) throws Exception {
    AtomicReference<Node> found = new AtomicReference<>();
    forEachNode(
        node -> {
          if (node.getId().equals(id)) {
            found.set(node);
          }
        });
    if (found.get() == null) {
      throw new AssertionError("the cluster lists no node " + id);
    }
    return found.get();
  }

  /** Watches the nodes of the cluster until the stream ends, as the node itself. */
  void watchNodes(Runnable onMessage) throws Exception {
    BlockingClientCall<?, WatchEvent> call =
        CuratorGrpc.newBlockingV2Stub(asNode)
            .watch(
                WatchRequest.newBuilder()
                    .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                    .build());
    for (WatchEvent event = call.read(); event != null; event = call.read()) {
      onMessage.run();
    }
  }

  /** Watches the records of the nodes until the stream ends, as the node itself. */
  void watchRecords(Consumer<WatchEvent> onEvent) throws Exception {
    BlockingClientCall<?, WatchEvent> call =
        CuratorGrpc.newBlockingV2Stub(asNode)
            .watch(
                WatchRequest.newBuilder()
                    .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                    .build());
    try {
      for (WatchEvent event = call.read(); event != null; event = call.read()) {
        onEvent.accept(event);
      }
    } finally {
      // An interrupted reader would leave the stream open, at the node, too.
      BlockingStreams.end(call, "the reader ended");
    }
  }

  /** Returns the number of nodes that a filter selects. */
  int filter(String expression) throws Exception {
    BlockingClientCall<?, Node> call =
        management().getNodes(GetNodesRequest.newBuilder().setFilter(expression).build());
    int picked = 0;
    while (call.read() != null) {
      picked++;
    }
    return picked;
  }

  /** Returns the health of the node's organs and roles, as the node itself knows it. */
  GetHealthResponse health() throws StatusException {
    return HealthGrpc.newBlockingV2Stub(nodeChannel)
        .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
        .getHealth(GetHealthRequest.getDefaultInstance());
  }

  /** Lets the node check its audit log. */
  VerifyAuditResponse verifyAudit() throws StatusException {
    return AuditGrpc.newBlockingV2Stub(nodeChannel)
        .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
        .verify(VerifyAuditRequest.getDefaultInstance());
  }

  /** Reads the records of the audit log behind one, until the stream ends. */
  void readAudit(long after) throws Exception {
    readAll(
        AuditGrpc.newBlockingV2Stub(nodeChannel)
            .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
            .read(ReadAuditRequest.newBuilder().setAfter(after).build()));
  }

  /** Reads the newest records of Kubernetes' audit log, until the stream ends. */
  void readKubernetesAudit(int last) throws Exception {
    readAll(
        KubernetesAuditGrpc.newBlockingV2Stub(nodeChannel)
            .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
            .read(ReadKubernetesAuditRequest.newBuilder().setLast(last).build()));
  }

  /** Reads all entries of the log that are fatal, of which there are none. */
  void fatalLines() throws Exception {
    readAll(
        NodeManagementGrpc.newBlockingV2Stub(nodeChannel)
            .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
            .logs(
                wholeLog()
                    .setBacklogMode(LogsRequest.BacklogMode.BACKLOG_MODE_ALL)
                    .addFilters(
                        LogFilter.newBuilder()
                            .setLeveledWithMinimumSeverity(
                                LogFilter.LeveledWithMinimumSeverity.newBuilder()
                                    .setMinimum(LeveledLogSeverity.LEVELED_LOG_SEVERITY_FATAL)))
                    .build()));
  }

  /** Wants a plugin whose manifest is none. */
  WantPluginResponse want(byte[] manifest) throws StatusException {
    return PluginSetGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
        .wantPlugin(
            WantPluginRequest.newBuilder()
                .setScope(
                    PluginScope.newBuilder()
                        .setEverywhere(PluginScope.Everywhere.getDefaultInstance()))
                .setManifest(ByteString.copyFrom(manifest))
                .build());
  }

  /** Returns all nodes of the cluster. */
  List<Node> nodes() throws Exception {
    List<Node> all = new ArrayList<>();
    forEachNode(all::add);
    return all;
  }

  private void forEachNode(Consumer<Node> action) throws Exception {
    BlockingClientCall<?, Node> call = management().getNodes(GetNodesRequest.getDefaultInstance());
    for (Node node = call.read(); node != null; node = call.read()) {
      action.accept(node);
    }
  }

  /** Follows the whole log of the node, from its newest line on, until the stream ends. */
  void followLog(Runnable onMessage) throws Exception {
    BlockingClientCall<?, LogsResponse> call =
        NodeManagementGrpc.newBlockingV2Stub(nodeChannel)
            .logs(
                newest().toBuilder()
                    .setStreamMode(LogsRequest.StreamMode.STREAM_MODE_UNBUFFERED)
                    .build());
    for (LogsResponse lines = call.read(); lines != null; lines = call.read()) {
      onMessage.run();
    }
  }

  /** Begins a request for the whole log, which is more than the entries below {@code root}. */
  static LogsRequest.Builder wholeLog() {
    return LogsRequest.newBuilder()
        .addFilters(
            LogFilter.newBuilder().setWithChildren(LogFilter.WithChildren.getDefaultInstance()));
  }

  /** Reads the log until the stream ends. */
  void followLog(LogsRequest request, Consumer<LogsResponse> onResponse) throws Exception {
    BlockingClientCall<?, LogsResponse> call =
        NodeManagementGrpc.newBlockingV2Stub(nodeChannel).logs(request);
    try {
      for (LogsResponse response = call.read(); response != null; response = call.read()) {
        onResponse.accept(response);
      }
    } finally {
      BlockingStreams.end(call, "the reader ended");
    }
  }

  private static LogsRequest newest() {
    return wholeLog()
        .setBacklogMode(LogsRequest.BacklogMode.BACKLOG_MODE_COUNT)
        .setBacklogCount(1)
        .build();
  }

  /** Requests the newest line of the log from the management service. */
  void newestLine() throws Exception {
    readAll(
        NodeManagementGrpc.newBlockingV2Stub(nodeChannel)
            .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
            .logs(newest()));
  }

  /** Requests the newest line of the log from the debug service. */
  void newestLineForDevelopers() throws Exception {
    readAll(
        NodeDebugServiceGrpc.newBlockingV2Stub(developers)
            .withDeadlineAfter(PATIENCE, TimeUnit.SECONDS)
            .logs(newest()));
  }

  private static void readAll(BlockingClientCall<?, ?> call) throws Exception {
    boolean more = true;
    while (more) {
      more = call.read() != null;
    }
  }

  /** Returns the calls that replace plugins. */
  PluginCalls plugins() {
    return new PluginCalls(nodeChannel);
  }

  /** Requests a power off from the node; returns after its answer. */
  void powerOff() throws StatusException {
    NodeManagementGrpc.newBlockingV2Stub(nodeChannel)
        .reboot(RebootRequest.newBuilder().setType(RebootRequest.Type.TYPE_POWER_OFF).build());
  }

  byte[] registerTicket() throws StatusException {
    return management()
        .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
        .getTicket()
        .toByteArray();
  }

  /** Lets the next calls connect at once, also after failed attempts. */
  void reconnect() {
    channel.resetConnectBackoff();
    nodeChannel.resetConnectBackoff();
    asNode.resetConnectBackoff();
    developers.resetConnectBackoff();
  }

  @Override
  public void close() {
    channel.shutdownNow();
    nodeChannel.shutdownNow();
    asNode.shutdownNow();
    developers.shutdownNow();
    resolvers.forEach(LeaderResolver::close);
  }
}
