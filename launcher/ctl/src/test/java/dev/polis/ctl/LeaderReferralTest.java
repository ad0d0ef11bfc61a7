package dev.polis.ctl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Timestamp;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.fixtures.RecordCopy;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.ReplaceTicketResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Asks a node that does not lead, and names the leader or another node. */
@Timeout(60)
class LeaderReferralTest {

  /** Addresses of this test's own, derived from its process id: the ports of nodes are fixed. */
  private static final String ADDRESS =
      "127.%%d.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final String FOLLOWER = ADDRESS.formatted(85);
  private static final String LEADER = ADDRESS.formatted(86);

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");

  @TempDir Path state;
  private final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeEach
  void own() throws Exception {
    KeyPair pair = Ed25519.generate();
    Path owner = Files.createDirectories(state.resolve("owner"));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"), Pem.encode(CLUSTER.issueUser("owner", pair.getPublic())));
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(CLUSTER.certificate()));
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  /** Serves the calls of an operator, or refers them to another node. */
  private final class Curator {
    private final NodeCredentials credentials;
    private final String address;
    private final AtomicInteger served = new AtomicInteger();
    private final AtomicInteger referred = new AtomicInteger();
    private volatile Supplier<Optional<RpcException>> refusal = Optional::empty;

    Curator(String address, CertificateAuthority cluster) {
      this.address = address;
      KeyPair pair = Ed25519.generate();
      credentials =
          new NodeCredentials(
              pair.getPrivate(), cluster.issueNode(pair.getPublic()), cluster.certificate());
    }

    /** Starts to listen. */
    Curator open() {
      LocalRpcHost host =
          new LocalRpcHost(
              new RpcSettings(
                  List.of(new RpcSettings.Listener(RpcHost.CURATOR, endpoint().address(), true)),
                  // As long after a start, when all services are there.
                  RecordCopy.with(RpcSettings.Limits.DEFAULT, "holdTime", Duration.ZERO)),
              LogTree.create());
      opened.add(host);
      host.serve(
          RpcHost.CURATOR,
          new ManagementGrpc.ManagementImplBase() {
            @Override
            public void getNodes(GetNodesRequest request, StreamObserver<Node> caller) {
              count();
              caller.onNext(Node.newBuilder().setId(credentials.id().text()).build());
              caller.onCompleted();
            }
          });
      host.serve(
          RpcHost.CURATOR,
          new RegisterTicketsGrpc.RegisterTicketsImplBase() {
            @Override
            public void replaceTicket(
                ReplaceTicketRequest request, StreamObserver<ReplaceTicketResponse> caller) {
              count();
              caller.onNext(
                  ReplaceTicketResponse.newBuilder()
                      .setValidUntil(Timestamp.newBuilder().setSeconds(2_000_000_000))
                      .build());
              caller.onCompleted();
            }
          });
      host.serve(
          RpcHost.CURATOR,
          new Ownership(
              CLUSTER,
              any -> {
                count();
                return true;
              }));
      host.identify(credentials);
      return this;
    }

    private void count() {
      Optional<RpcException> refused = refusal.get();
      (refused.isPresent() ? referred : served).incrementAndGet();
      refused.ifPresent(
          refusing -> {
            throw refusing;
          });
    }

    NodeEndpoint endpoint() {
      return new NodeEndpoint(
          credentials.id(),
          new InetSocketAddress(InetAddress.ofLiteral(address), Session.CURATOR_PORT));
    }

    String id() {
      return credentials.id().text();
    }

    /** Names this node as the leader from now on. */
    Curator following(NodeEndpoint leader) {
      refusal = () -> Optional.of(elsewhere(leader));
      return this;
    }
  }

  private static RpcException elsewhere(NodeEndpoint leader) {
    return RpcException.elsewhere(
        "this curator does not lead; ask the leader: " + leader, leader, Duration.ofSeconds(1));
  }

  private Curator curator(String address) {
    return new Curator(address, CLUSTER);
  }

  private CtlRun run(String... command) {
    List<String> all =
        new ArrayList<>(List.of("--state", state.toString(), "--endpoint", FOLLOWER));
    all.addAll(List.of(command));
    return CtlRun.of(all.toArray(String[]::new));
  }

  @Test
  @DisplayName("a read, a change and the owner's first call at a follower reach the leader, once")
  void reachesTheLeader() {
    Curator leader = curator(LEADER).open();
    Curator follower = curator(FOLLOWER).following(leader.endpoint()).open();

    CtlRun read = run("node", "list");
    assertEquals(ExitCode.OK.code(), read.code(), read.err());
    assertTrue(read.out().contains(leader.id()), read.out());
    CtlRun change = run("cluster", "ticket", "replace");
    assertEquals(ExitCode.OK.code(), change.code(), change.err());
    CtlRun first = run("takeownership");
    assertEquals(ExitCode.OK.code(), first.code(), first.err());

    assertEquals(3, leader.served.get());
    assertEquals(0, follower.served.get());
    assertEquals(3, follower.referred.get());
  }

  @Test
  @DisplayName("the leader that changes while a follower names it is found through the former one")
  void leaderChanges() {
    Curator next = curator(ADDRESS.formatted(87)).open();
    Curator former = curator(LEADER).following(next.endpoint()).open();
    curator(FOLLOWER).following(former.endpoint()).open();

    CtlRun run = run("cluster", "ticket", "replace");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertEquals(1, next.served.get());
  }

  @Test
  @DisplayName("two nodes that name each other are asked a limited number of times, and are named")
  void circle() {
    Curator follower = curator(FOLLOWER);
    Curator other = curator(LEADER).following(follower.endpoint()).open();
    follower.following(other.endpoint()).open();

    // On a busy machine the first handshakes take longer than a second.
    CtlRun run = run("--timeout", "4", "cluster", "ticket", "replace");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains(FOLLOWER + ":7835"), run.err());
    assertTrue(run.err().contains(other.id()) || run.err().contains(LEADER), run.err());
    // Five calls in a row, then a pause of 100 ms, for four seconds.
    int calls = follower.referred.get() + other.referred.get();
    assertTrue(calls > 5 && calls <= 210, calls + " calls");
    assertEquals(0, follower.served.get() + other.served.get());
  }

  @Test
  @DisplayName("a curator that names itself ends as one that names no other leader")
  void namesItself() {
    Curator follower = curator(FOLLOWER);
    follower.following(follower.endpoint()).open();

    CtlRun run = run("--timeout", "1", "node", "list");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains("does not lead"), run.err());
  }

  @Test
  @Tag("attack")
  @DisplayName("a node of another cluster at the named address gets no call, and both are named")
  void stranger() {
    Curator stranger = new Curator(LEADER, CertificateAuthority.create("another cluster")).open();
    curator(FOLLOWER).following(stranger.endpoint()).open();

    CtlRun run = run("cluster", "ticket", "replace");

    assertEquals(ExitCode.FAILED.code(), run.code(), run.err());
    assertTrue(run.err().contains(FOLLOWER + ":7835 does not lead"), run.err());
    assertTrue(run.err().contains(LEADER + ":7835 is there, but"), run.err());
    assertEquals(0, stranger.served.get());
  }

  @Test
  @Tag("attack")
  @DisplayName("another node of the cluster at the leader's address gets no call")
  void anotherNode() {
    Curator leader = curator(LEADER);
    Curator another = curator(LEADER).open();
    curator(FOLLOWER).following(leader.endpoint()).open();

    CtlRun run = run("cluster", "ticket", "replace");

    assertEquals(ExitCode.FAILED.code(), run.code(), run.err());
    assertTrue(run.err().contains("expected " + leader.id()), run.err());
    assertTrue(run.err().contains(another.id() + " presented its certificate"), run.err());
    assertEquals(0, another.served.get());
  }

  @Test
  @DisplayName("where the leader does not listen, the refusal names both nodes")
  void leaderIsGone() {
    Curator leader = curator(LEADER);
    curator(FOLLOWER).following(leader.endpoint()).open();

    CtlRun run = run("--timeout", "1", "cluster", "ticket", "replace");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains(FOLLOWER + ":7835 does not lead"), run.err());
    assertTrue(run.err().contains(leader.id()), run.err());
    assertTrue(run.err().contains(LEADER + ":7835 does not answer"), run.err());
  }

  @Test
  @DisplayName("a leader that accepts a connection and is silent is left after three seconds")
  void leaderIsSilent() throws Exception {
    Curator leader = curator(LEADER);
    curator(FOLLOWER).following(leader.endpoint()).open();
    opened.add(silent(leader.endpoint().address()));

    CtlRun run = run("--timeout", "2", "cluster", "ticket", "replace");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains(FOLLOWER + ":7835 does not lead"), run.err());
    assertTrue(run.err().contains(LEADER + ":7835 has not answered within 3 s"), run.err());
  }

  /** Opens a port whose connections the kernel accepts, and nothing reads. */
  private static ServerSocket silent(InetSocketAddress address) throws IOException {
    ServerSocket socket = new ServerSocket();
    socket.bind(address);
    return socket;
  }

  @Test
  @DisplayName("a follower of a lost leader is asked until it leads itself")
  void followerBecomesLeader() {
    Curator leader = curator(LEADER);
    Curator follower = curator(FOLLOWER).following(leader.endpoint()).open();
    follower.refusal =
        () ->
            follower.referred.get() < 3
                ? Optional.of(elsewhere(leader.endpoint()))
                : Optional.empty();

    CtlRun run = run("cluster", "ticket", "replace");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertEquals(3, follower.referred.get());
    assertEquals(1, follower.served.get());
  }

  @Test
  @DisplayName("a curator that knows no leader is asked again, as before")
  void noHint() {
    Curator follower = curator(FOLLOWER).open();
    follower.refusal =
        () ->
            follower.referred.get() < 3
                ? Optional.of(RpcException.unavailable("no leader", Duration.ofSeconds(1)))
                : Optional.empty();

    CtlRun run = run("cluster", "ticket", "replace");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertEquals(1, follower.served.get());
  }
}
