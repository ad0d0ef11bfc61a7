package dev.polis.rpc.resolver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.RecordCopy;
import dev.polis.fixtures.TcpProxy;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcStatistics;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs three curators on three listeners of this process; a value chooses the leader. */
@Timeout(60)
class LeaderResolverTest {
  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster CA");
  private final LogTree logs = LogTree.create();
  private final MutableValue<Integer> leading = new MutableValue<>(0);
  private final List<Curator> curators = new ArrayList<>();

  /** The nodes without the role that say that they run a curator, and lead. */
  private final List<Curator> impostors = new ArrayList<>();

  private static final int IMPOSTOR = -1;

  /** Keeps the answer of a curator that is cut off until the others have answered. */
  private final CountDownLatch allowed = new CountDownLatch(1);

  /** The port of a curator that is listed after the impostors, and never answers. */
  private static final int LATER = 1;

  private static final NodeRoles RECORDS =
      NodeRoles.newBuilder()
          .setConsensusMember(NodeRoles.ConsensusMember.getDefaultInstance())
          .build();

  private final class Curator extends CuratorLocalGrpc.CuratorLocalImplBase {
    private final int number;
    private final String id;
    private final LocalRpcHost host;
    private volatile String hostNamed = ""; // in place of the leader's address
    private volatile int portNamed; // in place of the leader's port, unless 0
    private volatile boolean cutOff; // names itself, after the test has allowed it
    private final AtomicInteger asked = new AtomicInteger();

    Curator(int number) {
      this.number = number;
      NodeCredentials credentials = newNode();
      id = credentials.id().text();
      host =
          new LocalRpcHost(
              new RpcSettings(
                  List.of(
                      new RpcSettings.Listener(
                          RpcHost.CURATOR,
                          new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                          true)),
                  RecordCopy.with(RpcSettings.Limits.DEFAULT, "drainTime", Duration.ofMillis(100))),
              logs);
      host.identify(credentials);
      host.serve(RpcHost.CURATOR, this);
      host.serve(RpcHost.CURATOR, new Records());
    }

    InetSocketAddress address() {
      return host.address(RpcHost.CURATOR);
    }

    NodeEndpoint endpoint() {
      return new NodeEndpoint(NodeId.parse(id), address());
    }

    /** Counts the open connections of members. */
    int connections() {
      return host.statistics().ports().stream()
          .filter(port -> port.name().equals(RpcHost.CURATOR))
          .mapToInt(RpcStatistics.Port::members)
          .sum();
    }

    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> observer) {
      asked.incrementAndGet();
      if (number == IMPOSTOR) {
        // A leader without a host is at the address of the stream.
        observer.onNext(
            GetCurrentLeaderResponse.newBuilder().setLeaderNodeId(id).setThisNodeId(id).build());
        return;
      }
      try (Watcher<Integer> watcher = leading.watch()) {
        if (cutOff) {
          allowed.await();
        }
        while (true) {
          int next = watcher.get();
          Curator leader = cutOff ? this : curators.get(next);
          observer.onNext(
              GetCurrentLeaderResponse.newBuilder()
                  .setLeaderNodeId(leader.id)
                  .setLeaderHost(
                      hostNamed.isEmpty()
                          ? leader.address().getAddress().getHostAddress()
                          : hostNamed)
                  .setLeaderPort(portNamed == 0 ? leader.address().getPort() : portNamed)
                  .setThisNodeId(id)
                  .build());
        }
      } catch (InterruptedException callerGone) {
        Thread.currentThread().interrupt();
      }
    }

    private final class Records extends CuratorGrpc.CuratorImplBase {
      @Override
      public void getConsensusStatus(
          GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
        if (leading.peek().orElseThrow() != number) {
          observer.onError(Status.UNAVAILABLE.withDescription("not leading").asException());
          return;
        }
        observer.onNext(
            GetConsensusStatusResponse.newBuilder()
                .addEtcdMember(
                    GetConsensusStatusResponse.EtcdMember.newBuilder().setId(Curator.this.id))
                .build());
        observer.onCompleted();
      }

      @Override
      public void watch(WatchRequest request, StreamObserver<WatchEvent> observer) {
        WatchEvent.Builder event =
            WatchEvent.newBuilder().setProgress(WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED);
        for (Curator each : curators) {
          event.addNodes(withCurator(each.id, each.address().getPort()).setRoles(RECORDS));
        }
        impostors.forEach(each -> event.addNodes(withCurator(each.id, each.address().getPort())));
        event.addNodes(
            Node.newBuilder()
                .setId("worker")
                .setStatus(NodeStatus.newBuilder().setExternalAddress("127.0.0.1")));
        observer.onNext(event.build());
        if (!impostors.isEmpty()) {
          observer.onNext(
              WatchEvent.newBuilder()
                  .addNodes(withCurator(newNode().id().text(), LATER).setRoles(RECORDS))
                  .build());
        }
      }
    }
  }

  private static Node.Builder withCurator(String id, int port) {
    return Node.newBuilder()
        .setId(id)
        .setStatus(
            NodeStatus.newBuilder()
                .setExternalAddress("127.0.0.1")
                .setRunningCurator(NodeStatus.RunningCurator.newBuilder().setPort(port)));
  }

  @BeforeEach
  void start() {
    for (int i = 0; i < 3; i++) {
      curators.add(new Curator(i));
    }
  }

  @AfterEach
  void stop() {
    curators.forEach(curator -> curator.host.close());
    impostors.forEach(impostor -> impostor.host.close());
  }

  private NodeCredentials newNode() {
    KeyPair pair = Ed25519.generate();
    return new NodeCredentials(pair.getPrivate(), ca.issueNode(pair.getPublic()), ca.certificate());
  }

  private RpcClients owner() {
    KeyPair pair = Ed25519.generate();
    return RpcClients.authenticated(
        TlsIdentity.of(pair.getPrivate(), ca.issueUser("owner", pair.getPublic())),
        RpcTrust.cluster(ca.certificate()));
  }

  private static String ask(Channel channel) {
    return ask(channel, Duration.ofSeconds(20));
  }

  private static String ask(Channel channel, Duration within) {
    return CuratorGrpc.newBlockingStub(channel)
        .withDeadlineAfter(within.toMillis(), TimeUnit.MILLISECONDS)
        .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance())
        .getEtcdMember(0)
        .getId();
  }

  @Test
  @DisplayName(
      "RES-01 seeded with one follower: the leader answers the first call, all three are known within 10 s, a move is followed within 3 attempts")
  void res01_followsTheLeader() throws Exception {
    RpcClients owner = owner();
    try (LeaderResolver resolver =
        LeaderResolver.open(List.of(curators.get(2).endpoint()), owner, logs.log("resolver"))) {
      ManagedChannel channel = resolver.channel();
      try {
        assertEquals(curators.get(0).id, ask(channel));

        try (Watcher<Set<String>> known = resolver.curators().watch()) {
          known.get(all -> all.size() == 3, Duration.ofSeconds(10));
        }

        curators.get(0).host.close();
        leading.set(1);
        assertEquals(curators.get(1).id, withinThreeAttempts(channel));
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  @DisplayName("a channel that failed at a lost leader connects to the next one without a pause")
  void connectsAtOnce() throws Exception {
    Curator lost = curators.get(1);
    Curator next = curators.get(0);
    try (TcpProxy way = wayTo(lost)) {
      AtomicInteger failures = refuse(way);
      MutableValue<NodeEndpoint> leader = new MutableValue<>(throughProxy(lost, way));
      ManagedChannel channel = LeaderNames.dial(owner(), leader, () -> {}, RetryLoop.LONGEST_PAUSE);
      try {
        channel.getState(true);
        Await.until("a third connection that fails", () -> failures.get() == 3);
        leader.set(next.endpoint());

        // gRPC's pause after the third failure takes 2.05 s at least.
        assertEquals(next.id, ask(channel, Duration.ofSeconds(2)));
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  @DisplayName("a channel to a leader that was cut off pauses no longer than its limit")
  void connectsToTheSameAgain() throws Exception {
    Curator cut = curators.get(0);
    try (TcpProxy way = wayTo(cut)) {
      AtomicInteger failures = refuse(way);
      MutableValue<NodeEndpoint> leader = new MutableValue<>(throughProxy(cut, way));
      ManagedChannel channel = LeaderNames.dial(owner(), leader, () -> {}, Duration.ofMillis(200));
      try {
        channel.getState(true);
        Await.until("a sixth connection that fails", () -> failures.get() >= 6);
        MachineSpeed speed = MachineSpeed.measure();
        way.heal();
        long healed = System.nanoTime();

        assertEquals(cut.id, ask(channel));

        // gRPC's pause after the sixth failure takes 8.4 s at least.
        speed.assertWithin(
            "the channel connected",
            Duration.ofSeconds(2),
            Duration.ofNanos(System.nanoTime() - healed));
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  @DisplayName("a curator that was cut off is asked again within the pauses of the search")
  void asksAgain() throws Exception {
    Curator cut = curators.get(0);
    try (TcpProxy way = wayTo(cut)) {
      AtomicInteger failures = refuse(way);
      try (LeaderResolver resolver =
          LeaderResolver.fixed(List.of(throughProxy(cut, way)), owner(), logs.log("resolver"))) {
        // By then gRPC's own pause takes 8.4 s at least, and that of the search 2.3 s at most.
        Await.until("a sixth connection that fails", () -> failures.get() >= 6);
        MachineSpeed speed = MachineSpeed.measure();
        way.heal();
        long healed = System.nanoTime();
        try (Watcher<NodeEndpoint> leader = resolver.leader().watch()) {
          leader.get(Duration.ofSeconds(20));
        }
        speed.assertWithin(
            "the leader was found",
            Duration.ofSeconds(4),
            Duration.ofNanos(System.nanoTime() - healed));
      }
    }
  }

  private static TcpProxy wayTo(Curator curator) throws IOException {
    return TcpProxy.to("127.0.0.1", curator.address().getPort());
  }

  private static NodeEndpoint throughProxy(Curator curator, TcpProxy way) {
    return new NodeEndpoint(
        NodeId.parse(curator.id),
        new InetSocketAddress(InetAddress.getLoopbackAddress(), way.port()));
  }

  /** Closes each connection as soon as it is there; returns their number, which grows. */
  private static AtomicInteger refuse(TcpProxy way) {
    AtomicInteger failures = new AtomicInteger();
    way.refuse(_ -> failures.incrementAndGet() > 0);
    return failures;
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a node without the role that reports a curator in its status is not asked for the leader")
  void impostor() throws Exception {
    Curator impostor = new Curator(IMPOSTOR);
    impostors.add(impostor);
    NodeCredentials node = newNode();
    RpcClients member = RpcClients.authenticated(node.tls(), RpcTrust.cluster(ca.certificate()));
    try (LeaderResolver resolver =
            LeaderResolver.open(List.of(curators.get(2).endpoint()), member, logs.log("resolver"));
        Watcher<Set<String>> known = resolver.curators().watch()) {
      Set<String> all =
          known.get(each -> each.contains("127.0.0.1:" + LATER), Duration.ofSeconds(30));

      assertFalse(all.contains("127.0.0.1:" + impostor.address().getPort()), all::toString);
      assertEquals(0, impostor.asked.get());
      assertEquals(curators.get(0).endpoint(), resolver.leader().peek().orElseThrow());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a node of the cluster that listens at the address of a curator or of the leader gets no call of a node")
  void takenAddress() throws Exception {
    Curator worker = new Curator(IMPOSTOR);
    impostors.add(worker);
    Curator leader = curators.get(0);
    Curator follower = curators.get(2);
    follower.portNamed = worker.address().getPort();
    NodeCredentials node = newNode();
    NodeEndpoint taken = new NodeEndpoint(NodeId.parse(curators.get(1).id), worker.address());
    try (LeaderConnection connection =
        new LeaderConnection(
            () -> node, Set.of(taken, follower.endpoint()), logs.log("resolver"))) {
      Await.until(
          "the log to name the curator that was expected, and the node that answered",
          () -> logged("the client expected " + curators.get(1).id + ", but " + worker.id));
      Await.until(
          "the log to name the leader that was expected, and the node that answered",
          () -> logged("the client expected " + leader.id + ", but " + worker.id));
      StatusRuntimeException refused =
          assertThrows(
              StatusRuntimeException.class,
              () ->
                  CuratorGrpc.newBlockingStub(connection.channel())
                      .withDeadlineAfter(1, TimeUnit.SECONDS)
                      .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance()));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, refused.getStatus().getCode());
      assertEquals(0, worker.asked.get());
      assertEquals(0, worker.connections());

      follower.portNamed = 0;
      leading.set(0);
      assertEquals(leader.id, ask(connection.channel()), "after the leader has its address back");
    }
  }

  @Test
  @DisplayName(
      "connections of a node share their channel to the leader, which ends with the last of them")
  void sharesTheChannel() throws Exception {
    NodeCredentials node = newNode();
    Curator leader = curators.getFirst();
    LeaderConnection first =
        new LeaderConnection(() -> node, Set.of(leader.endpoint()), logs.log("resolver"));
    assertEquals(leader.id, ask(first.channel()));
    // Of the search, of the list of curators, and of the calls.
    Await.until("three connections of the node", () -> leader.connections() == 3);
    LeaderConnection second =
        new LeaderConnection(() -> node, Set.of(leader.endpoint()), logs.log("resolver"));
    assertEquals(leader.id, ask(second.channel()));
    assertEquals(3, leader.connections());
    first.close();
    assertEquals(leader.id, ask(second.channel()));
    assertEquals(3, leader.connections());
    first.close();
    assertEquals(leader.id, ask(second.channel()), "after it was closed twice");
    second.close();
    Await.until("no connection of the node", () -> leader.connections() == 0);
  }

  private static String withinThreeAttempts(ManagedChannel channel) {
    StatusRuntimeException last = null;
    for (int attempt = 1; attempt <= 3; attempt++) {
      try {
        return ask(channel);
      } catch (StatusRuntimeException e) {
        last = e;
      }
    }
    throw new AssertionError("no answer in three attempts", last);
  }

  @Test
  @DisplayName(
      "a curator that does not name an IP address for the leader is skipped, and the others are called")
  void leavesOutWhatIsNoAddress() throws Exception {
    curators.get(2).hostNamed = curators.get(0).id;
    RpcClients owner = owner();
    try (LeaderResolver resolver =
        LeaderResolver.open(
            List.of(curators.get(2).endpoint(), curators.get(1).endpoint()),
            owner,
            logs.log("resolver"))) {
      ManagedChannel channel = resolver.channel();
      try {
        assertEquals(curators.get(0).id, ask(channel));
      } finally {
        channel.shutdownNow();
      }
      Await.until(
          "the answer without an address to be logged", () -> logged("which is not an IP address"));
    }
  }

  @Test
  @DisplayName(
      "a former leader that is cut off from the others and still names itself last misleads no client")
  void formerLeader() throws Exception {
    Curator former = curators.get(0);
    former.cutOff = true;
    leading.set(1);
    try (LeaderResolver resolver =
        LeaderResolver.fixed(
            curators.stream().map(Curator::endpoint).toList(), owner(), logs.log("resolver"))) {
      NodeEndpoint leader = curators.get(1).endpoint();
      Await.until(
          "a curator to name the leader",
          () -> resolver.leader().peek().filter(leader::equals).isPresent());
      allowed.countDown();
      Await.until(
          "the answer of the former leader",
          () -> {
            // All curators answer again, in any order.
            leading.set(1);
            return logged("names %s as the leader, but more".formatted(former.id));
          });
      assertEquals(leader, resolver.leader().peek().orElseThrow());
    }
  }

  private boolean logged(String words) {
    try (LogReader reader = logs.read(LogQuery.of("resolver").backlogAll())) {
      return reader.backlog().stream().anyMatch(entry -> entry.toString().contains(words));
    }
  }

  @Test
  @DisplayName("a resolver without a first address is refused with the reason")
  void needsASeed() {
    var refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> LeaderResolver.open(List.of(), owner(), logs.log("resolver")));
    assertTrue(refused.getMessage().contains("at least one"), refused.getMessage());
  }

  @Test
  @DisplayName("a client without a certificate finds the leader, too, and learns no other address")
  void strangersFindTheLeader() {
    RpcClients stranger =
        RpcClients.ephemeral(Ed25519.generate(), RpcTrust.cluster(ca.certificate()));
    try (LeaderResolver resolver =
        LeaderResolver.fixed(List.of(curators.get(1).endpoint()), stranger, logs.log("resolver"))) {
      ManagedChannel channel = resolver.channel();
      try {
        StatusRuntimeException refused =
            assertThrows(StatusRuntimeException.class, () -> ask(channel));
        assertEquals(Status.Code.UNAUTHENTICATED, refused.getStatus().getCode());
        assertEquals(curators.get(0).endpoint(), resolver.leader().peek().orElseThrow());
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  @DisplayName("addresses are host or host:port; other texts are refused with the reason")
  void addressesAreParsed() {
    assertEquals(7835, LeaderResolver.address("127.0.0.1").getPort());
    assertEquals(80, LeaderResolver.address("127.0.0.1:80").getPort());
    assertEquals(7835, LeaderResolver.address("::1").getPort());
    assertEquals(80, LeaderResolver.address("[::1]:80").getPort());
    var refused = assertThrows(IllegalArgumentException.class, () -> LeaderResolver.address("a b"));
    assertTrue(refused.getMessage().contains("\"a b\""), refused.getMessage());
  }
}
