package dev.polis.ctl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Timestamp;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.fixtures.RecordCopy;
import dev.polis.fixtures.TcpProxy;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RequestId;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.cluster.ChangesGrpc;
import dev.polis.wire.cluster.GetChangeMemoryRequest;
import dev.polis.wire.cluster.GetChangeMemoryResponse;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.ReplaceTicketResponse;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Loses the answers to changes, which the leader has made, on the way to polisctl. */
@Timeout(60)
class RepeatedChangeTest {

  /** Addresses of this test's own, derived from its process id: the ports of nodes are fixed. */
  private static final String ADDRESS =
      "127.%%d.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final String FOLLOWER = ADDRESS.formatted(70);
  private static final String LEADER = ADDRESS.formatted(71);
  private static final String BEHIND_PROXY = ADDRESS.formatted(72);

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");

  private static final Context.Key<String> ID = Context.key("id of the change");

  @TempDir Path state;
  private final List<AutoCloseable> opened = new ArrayList<>();

  /** The changes that the cluster remembers, by id; they outlive their leader. */
  private final Map<String, ReplaceTicketResponse> remembered = new ConcurrentHashMap<>();

  /** The changes that were made, by id; "none" is that of a call without id. */
  private final List<String> made = new CopyOnWriteArrayList<>();

  /** The ids of all changes that reached the leader, made or not. */
  private final List<String> attempts = new CopyOnWriteArrayList<>();

  private Curator leader;
  private Curator follower;
  private TcpProxy way;

  @BeforeEach
  void start() throws Exception {
    KeyPair pair = Ed25519.generate();
    Path owner = Files.createDirectories(state.resolve("owner"));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"), Pem.encode(CLUSTER.issueUser("owner", pair.getPublic())));
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(CLUSTER.certificate()));
    leader = new Curator(BEHIND_PROXY);
    follower = new Curator(FOLLOWER);
    way = TcpProxy.at(at(LEADER), at(BEHIND_PROXY));
    opened.add(way);
    follower.refusal =
        Optional.of(
            RpcException.elsewhere(
                "this curator does not lead",
                new NodeEndpoint(leader.credentials.id(), at(LEADER)),
                Duration.ofSeconds(1)));
  }

  private static InetSocketAddress at(String host) {
    return new InetSocketAddress(InetAddress.ofLiteral(host), Session.CURATOR_PORT);
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  /** Replaces the ticket, once for each id that it remembers. */
  private final class Curator extends RegisterTicketsGrpc.RegisterTicketsImplBase
      implements ServerInterceptor {
    private final NodeCredentials credentials;
    private final LocalRpcHost host;
    private volatile Optional<RpcException> refusal = Optional.empty();
    private volatile boolean remembers;

    /** Runs once after the next change, before its answer. */
    private volatile Runnable beforeAnswer = () -> {};

    Curator(String address) {
      KeyPair pair = Ed25519.generate();
      credentials =
          new NodeCredentials(
              pair.getPrivate(), CLUSTER.issueNode(pair.getPublic()), CLUSTER.certificate());
      host =
          new LocalRpcHost(
              new RpcSettings(
                  List.of(new RpcSettings.Listener(RpcHost.CURATOR, at(address), true)),
                  // As long after a start, when all services are there.
                  RecordCopy.with(RpcSettings.Limits.DEFAULT, "holdTime", Duration.ZERO)),
              LogTree.create());
      opened.add(host);
      host.serve(RpcHost.CURATOR, () -> ServerInterceptors.intercept(this.bindService(), this));
      host.identify(credentials);
    }

    /** Is of a version that remembers changes. */
    Curator remembering() {
      remembers = true;
      host.serve(
          RpcHost.CURATOR,
          new ChangesGrpc.ChangesImplBase() {
            @Override
            public void getChangeMemory(
                GetChangeMemoryRequest request, StreamObserver<GetChangeMemoryResponse> caller) {
              caller.onNext(
                  GetChangeMemoryResponse.newBuilder()
                      .addMethods(RegisterTicketsGrpc.getReplaceTicketMethod().getFullMethodName())
                      .build());
              caller.onCompleted();
            }
          });
      return this;
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      String id = RequestId.of(headers).map(RequestId::text).orElse("none");
      return Contexts.interceptCall(Context.current().withValue(ID, id), call, headers, next);
    }

    @Override
    public void replaceTicket(
        ReplaceTicketRequest request, StreamObserver<ReplaceTicketResponse> caller) {
      refusal.ifPresent(
          refused -> {
            throw refused;
          });
      String id = ID.get();
      attempts.add(id);
      ReplaceTicketResponse answer = remembers ? remembered.get(id) : null;
      if (answer == null) {
        made.add(id);
        answer =
            ReplaceTicketResponse.newBuilder()
                .setValidUntil(Timestamp.newBuilder().setSeconds(2_000_000_000 + made.size()))
                .build();
        remembered.put(id, answer);
      }
      Runnable action = beforeAnswer;
      beforeAnswer = () -> {};
      action.run();
      caller.onNext(answer);
      caller.onCompleted();
    }
  }

  private CtlRun replace(String timeout, String... options) {
    List<String> line =
        new ArrayList<>(
            List.of("--state", state.toString(), "--endpoint", FOLLOWER, "--timeout", timeout));
    line.addAll(List.of("cluster", "ticket", "replace"));
    line.addAll(List.of(options));
    return CtlRun.of(line.toArray(String[]::new));
  }

  @Test
  @DisplayName("a ticket of an earlier leader, which limits none, is no ticket for three nodes")
  void unlimitedTicket() {
    follower.remembering();
    leader.remembering();

    CtlRun run = replace("15", "--nodes", "3");

    assertEquals(ExitCode.FAILED.code(), run.code(), run.out());
    assertTrue(run.err().contains("for any number of nodes, and not for 3 nodes"), run.err());
    assertTrue(run.err().contains("cluster ticket revoke"), run.err());
  }

  private void assertMadeOnce() {
    assertEquals(1, made.size(), made::toString);
    assertEquals(2, attempts.size(), attempts::toString);
    assertEquals(attempts.getFirst(), attempts.getLast());
  }

  @Test
  @DisplayName("a change whose connection is cut after the commit is repeated, and made once")
  void answerIsLost() {
    follower.remembering();
    leader.remembering().beforeAnswer = way::reset;

    CtlRun run = replace("15");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertMadeOnce();
    assertEquals(ExitCode.OK.code(), replace("15").code());
    assertEquals(2, made.size(), "another command is another change");
  }

  @Test
  @DisplayName("a change whose leader is lost after the commit is answered by the next leader")
  void leaderIsLost() {
    follower.remembering();
    leader.remembering().beforeAnswer =
        () -> {
          way.close();
          follower.refusal = Optional.empty();
        };

    CtlRun run = replace("15");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertMadeOnce();
  }

  @Test
  @DisplayName("a leader that does not know the outcome is asked again with the same id")
  void undecided() {
    follower.remembering();
    leader.remembering().beforeAnswer =
        () -> {
          throw RpcException.unknown("unknown", Duration.ofMillis(1), new IllegalStateException());
        };

    CtlRun run = replace("15");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertMadeOnce();
  }

  @Test
  @DisplayName("a change at a leader of an older version is not repeated, and polisctl says so")
  void olderLeader() {
    follower.remembering();
    leader.beforeAnswer = way::reset;

    CtlRun run = replace("15");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertEquals(1, attempts.size(), attempts::toString);
    assertTrue(run.err().contains("it may have been made: read the record"), run.err());
  }

  @Test
  @DisplayName("a change whose answer is lost is not sent to a next leader of an older version")
  void olderNextLeader() {
    leader.remembering().beforeAnswer =
        () -> {
          way.close();
          follower.refusal = Optional.empty();
        };

    CtlRun run = replace("2");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertEquals(1, made.size(), made::toString);
    assertEquals(1, attempts.size(), attempts::toString);
    assertTrue(run.err().contains("does not remember changes"), run.err());
    assertTrue(run.err().contains("it may have been made: read the record"), run.err());
  }

  @Test
  @DisplayName("a change without an answer within the timeout may have been made, and it says so")
  void noNextLeader() {
    follower.remembering();
    leader.remembering().beforeAnswer = way::close;

    // On a busy machine the first handshakes take longer than a second.
    CtlRun run = replace("4");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertEquals(1, attempts.size(), attempts::toString);
    assertTrue(run.err().contains("it may have been made: read the record"), run.err());
  }

  @Test
  @DisplayName("a change that the next leader refuses was not made, and the refusal says all")
  void refusedAfterwards() {
    follower.remembering();
    leader.remembering().beforeAnswer =
        () -> {
          follower.refusal = Optional.of(RpcException.failedPrecondition("not now"));
          way.close();
        };

    CtlRun run = replace("15");

    assertEquals(ExitCode.FAILED.code(), run.code(), run.err());
    assertTrue(run.err().contains("not now"), run.err());
    assertFalse(run.err().contains("may have been made"), run.err());
  }
}
