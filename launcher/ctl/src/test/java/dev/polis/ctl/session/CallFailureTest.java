package dev.polis.ctl.session;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.CtlRun;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.IdentityException;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.Reach;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.ClusterDirectory;
import io.grpc.Context;
import io.grpc.Context.CancellableContext;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.math.BigInteger;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLServerSocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Fails a connection in every way, on real sockets, and expects one sentence of ours. */
@Timeout(60)
class CallFailureTest {

  /**
   * An address of this test's own, derived from its process id, since the ports of a node are
   * fixed.
   */
  private static final String ADDRESS =
      "127.79.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  /** Words of libraries and of Java, which an operator must not see. */
  private static final List<String> FOREIGN =
      List.of(
          "netty",
          "Netty",
          "Channel Pipeline",
          "SslHandler",
          "Exception",
          "io.grpc",
          "http2",
          "HTTP/2",
          "Hex dump",
          "io exception",
          "CallOptions",
          "AnnotatedConnect",
          "\n\tat ");

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");

  @TempDir Path state;
  private final KeyPair node = Ed25519.generate();
  private final List<AutoCloseable> peers = new CopyOnWriteArrayList<>();
  private final CountDownLatch over = new CountDownLatch(1);

  @BeforeEach
  void owner() throws Exception {
    KeyPair pair = Ed25519.generate();
    Path owner = Files.createDirectories(state.resolve("owner"));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"), Pem.encode(CLUSTER.issueUser("owner", pair.getPublic())));
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(CLUSTER.certificate()));
  }

  @AfterEach
  void close() throws Exception {
    over.countDown();
    for (AutoCloseable peer : peers) {
      peer.close();
    }
  }

  /** Explains a lost connection to an address with the certificates of the state directory. */
  private CtlException told(InetSocketAddress address, Exception cause) {
    return told(CtlTarget.ofState(state), address, cause);
  }

  private static CtlException told(CtlTarget target, InetSocketAddress address, Exception cause) {
    return new CallFailure(
            new StatusException(Status.UNAVAILABLE.withCause(cause)), address, false, target, 1, "")
        .explain();
  }

  @Test
  @DisplayName("what answers at an address that this machine has lost is not taken for its node")
  void addressThatIsGone() throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(state.resolve("ephemeral/listeners"), "curator 203.0.113.9:7835 open\n");
    CtlException told =
        told(
            new InetSocketAddress("203.0.113.9", 7835),
            new SSLException("peer presents 2 certificates"));
    assertEquals(ExitCode.UNREACHABLE, told.exitCode());
    assertTrue(
        told.getMessage().contains("203.0.113.9:7835, which is not an address of this machine now"),
        told.getMessage());
  }

  @Test
  @DisplayName("a node elsewhere that does not listen is not taken for the node on this machine")
  void addressOfAnotherNode() throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(state.resolve("ephemeral/listeners"), "curator 203.0.113.8:7835 open\n");
    CtlException told =
        told(
            new InetSocketAddress("203.0.113.9", 7835), new ConnectException("Connection refused"));
    assertTrue(
        told.getMessage().contains("203.0.113.9:7835 does not answer: nothing listens there"),
        told.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Invalid argument", "Permission denied", "Operation not permitted"})
  @DisplayName("a route of this machine that refuses the address is named, not the node")
  void refusedByRoute(String reason) {
    CtlException told =
        told(
            new InetSocketAddress(ADDRESS, 7835),
            new SocketException(reason + ": /" + ADDRESS + ":7835"));
    assertEquals(ExitCode.UNREACHABLE, told.exitCode());
    assertTrue(
        told.getMessage()
            .contains("rule of this machine refuses connections to " + ADDRESS + ":7835"),
        told.getMessage());
    assertTrue(told.getMessage().contains("ip route get " + ADDRESS), told.getMessage());
  }

  @Test
  @DisplayName("a machine without a local port left is named, not the node")
  void noLocalPort() {
    CtlException told =
        told(
            new InetSocketAddress(ADDRESS, 7835),
            new SocketException("Cannot assign requested address: /" + ADDRESS + ":7835"));
    assertEquals(ExitCode.UNREACHABLE, told.exitCode());
    assertTrue(
        told.getMessage()
            .startsWith("this machine has no local port left for a connection to " + ADDRESS),
        told.getMessage());
    assertTrue(told.getMessage().contains("net.ipv4.ip_local_port_range"), told.getMessage());
  }

  @Test
  @DisplayName("an IPv6 address for which this machine has no address is no lack of local ports")
  void noSourceAddress() {
    CtlException told =
        told(
            new InetSocketAddress("2001:db8::7", 7835),
            new SocketException("Cannot assign requested address: /[2001:db8::7]:7835"));
    assertTrue(
        told.getMessage()
            .startsWith("this machine has no IPv6 address for a connection to [2001:db8:"),
        told.getMessage());
    assertTrue(told.getMessage().contains("give --endpoint an IPv4 address"), told.getMessage());
  }

  @Test
  @DisplayName("a stranger at an endpoint in another form of its address is no known node")
  void formOfAnAddress() {
    CtlException told =
        told(
            CtlTarget.ofState(state).at("2001:db8::7"),
            new InetSocketAddress("2001:db8::7", 7835),
            new CertificateException("CN=x is issued by CN=a, not by CN=b"));
    assertTrue(told.getMessage().contains("do not trust each other"), told.getMessage());
    assertFalse(told.getMessage().contains("a server of another cluster"), told.getMessage());
  }

  @Test
  @DisplayName("a late node of another machine is busy first, and a path that loses packets then")
  void lateElsewhere() {
    InetSocketAddress elsewhere = new InetSocketAddress("203.0.113.9", 7835);
    String busy = CallFailure.late(elsewhere, Reach.ANSWERS);
    assertTrue(
        busy.startsWith("it takes connections, so the node is busy: try again; if that"), busy);
    assertTrue(busy.contains("path MTU): ping -c 20 203.0.113.9 shows"), busy);
    String lost = CallFailure.late(elsewhere, Reach.LOST);
    assertTrue(lost.contains(", or the address is wrong; to do: check that"), lost);
  }

  @Test
  @DisplayName("a node whose process was killed: the message says so, with what is left of it")
  void killed() throws Exception {
    Files.writeString(state.resolve("node.lock"), "4194305\n");
    Files.createDirectories(state.resolve("ephemeral/launcher"));
    Files.writeString(
        state.resolve("ephemeral/launcher/memory-kills"), "boot another\nprocess 4194305\n");

    CtlRun run = CtlRun.of("--state", state.toString(), "debug", "condition", "IPAssigned");

    assertSaid(
        run,
        ExitCode.UNREACHABLE,
        "no node runs on %s: its process 4194305 ran when the machine stopped".formatted(state),
        "'./polis up --state %s' starts it again".formatted(state));
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "SIGHUP, as its terminal or session closed",
        "SIGTERM, service manager or another program sent"
      })
  @DisplayName("a node that a signal ended: the message says which and when")
  void endedBy(String signal, String meaning) throws Exception {
    Files.writeString(state.resolve("node.lock"), "4194305\n");
    Files.createDirectories(state.resolve("ephemeral/launcher"));
    Files.writeString(
        state.resolve("ephemeral/launcher/ended-by"), signal + " 2026-11-28T03:04:05Z\n");

    CtlRun run = CtlRun.of("--state", state.toString(), "debug", "condition", "IPAssigned");

    assertSaid(
        run,
        ExitCode.UNREACHABLE,
        "no node runs on %s: its last run was ended by %s at 2026-11-28T03:04:05Z"
            .formatted(state, signal),
        meaning,
        "'./polis up --state %s' starts it again".formatted(state));
  }

  @Test
  @DisplayName("a node whose jars have changed under it: a call that breaks names them")
  void changedProgram() throws Exception {
    Path jar = state.resolve("cut.jar");
    Process node = new ProcessBuilder("sh", "-c", "sleep 600; :", "-cp", jar.toString()).start();
    peers.add(node::destroyForcibly);
    Files.writeString(state.resolve("node.lock"), node.pid() + "\n");
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(
        state.resolve("ephemeral/listeners"), "curator %s:7835 open\n".formatted(ADDRESS));
    CtlException told =
        new CallFailure(
                new StatusException(Status.UNAVAILABLE),
                new InetSocketAddress(ADDRESS, 7835),
                true,
                CtlTarget.ofState(state),
                1,
                "")
            .explain();
    assertEquals(ExitCode.UNREACHABLE, told.exitCode());
    assertTrue(
        told.getMessage().contains("since its process started: %s is gone;".formatted(jar)),
        told.getMessage());
    assertTrue(told.getMessage().contains("'./polis down --state "), told.getMessage());
  }

  @Test
  @DisplayName("a node that a signal holds is named with the command that lets it run")
  void heldBySignal() throws Exception {
    Process node = stoppedProcessOf(state);
    CtlException told =
        told(new InetSocketAddress(ADDRESS, 7835), new SSLException("handshake timed out"));
    assertEquals(ExitCode.UNREACHABLE, told.exitCode());
    assertTrue(
        told.getMessage()
            .contains(
                "the process %1$d of the node on %2$s is held by a signal; 'kill -CONT %1$d' lets it run"
                    .formatted(node.pid(), state)),
        told.getMessage());
  }

  /** Starts a process, notes it as that of a node, and stops it. */
  private Process stoppedProcessOf(Path folder) throws Exception {
    Process node = new ProcessBuilder("sleep", "600").start();
    peers.add(node::destroyForcibly);
    Path lock = folder.resolve("node.lock");
    Files.writeString(lock, node.pid() + "\n");
    assertEquals(
        0, new ProcessBuilder("kill", "-STOP", Long.toString(node.pid())).start().waitFor());
    Await.until(
        Duration.ofSeconds(30),
        "the process to stop",
        () -> NamedProcess.stopped(lock).isPresent());
    return node;
  }

  @Test
  @DisplayName(
      "another node of a cluster on this machine that a signal holds is named, and not chosen for the cluster")
  void anotherNodeHeldBySignal() throws Exception {
    Files.createFile(state.resolve("cluster"));
    Path first = Files.createDirectories(state.resolve("1/ephemeral")).getParent();
    Files.writeString(first.resolve("node.lock"), ProcessHandle.current().pid() + "\n");
    Files.writeString(first.resolve("ephemeral/listeners"), "curator 127.0.9.1:7835 open\n");
    Path second = Files.createDirectories(state.resolve("2/ephemeral")).getParent();
    Files.writeString(second.resolve("ephemeral/listeners"), "management 127.0.9.2:7839 open\n");
    Process node = stoppedProcessOf(second);

    String told = failureAt("127.0.9.2", first);
    assertTrue(told.contains("the process " + node.pid() + " of the node on " + second), told);
    told = failureAt("127.0.9.3", first);
    assertFalse(told.contains("held by a signal"), told);

    Files.move(first.resolve("node.lock"), second.resolve("node.lock.running"));
    Files.move(second.resolve("node.lock"), first.resolve("node.lock"));
    Files.move(second.resolve("node.lock.running"), second.resolve("node.lock"));
    assertEquals(second, CtlTarget.ofState(state).state().orElseThrow(), "the node that answers");
  }

  private static String failureAt(String address, Path state) {
    return new CallFailure(
            new StatusException(Status.DEADLINE_EXCEEDED),
            new InetSocketAddress(address, 7839),
            true,
            CtlTarget.ofState(state),
            1,
            "")
        .explain()
        .getMessage();
  }

  @Test
  @DisplayName("a node that runs without its folder for the run: the message names the remedy")
  void folderOfTheRunIsGone() throws Exception {
    Files.writeString(state.resolve("node.lock"), ProcessHandle.current().pid() + "\n");
    CtlException told =
        told(new InetSocketAddress(ADDRESS, 7835), new ConnectException("not open"));
    assertTrue(told.getMessage().contains("the folder ephemeral of"), told.getMessage());
    assertTrue(told.getMessage().contains("polis down"), told.getMessage());
  }

  /** Handles each connection as a peer. */
  private interface Conversation {
    void hold(Socket connection) throws IOException, InterruptedException;
  }

  private void listen(int port, Conversation conversation) throws IOException {
    listen(new ServerSocket(port, 50, InetAddress.ofLiteral(ADDRESS)), conversation);
  }

  private void listen(ServerSocket socket, Conversation conversation) {
    peers.add(socket);
    Thread.ofVirtual()
        .start(
            () -> {
              while (!socket.isClosed()) {
                converse(socket, conversation);
              }
            });
  }

  private static void converse(ServerSocket socket, Conversation conversation) {
    try (Socket connection = socket.accept()) {
      conversation.hold(connection);
    } catch (IOException e) {
      // The client has disconnected, as each of these conversations ends.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Conversation saying(String words) {
    return connection -> {
      connection.getOutputStream().write(words.getBytes(StandardCharsets.US_ASCII));
      connection.getOutputStream().flush();
      // Reads until the client closes; its bytes do not matter.
      connection.getInputStream().transferTo(java.io.OutputStream.nullOutputStream());
    };
  }

  private LocalRpcHost host(CertificateAuthority authority) {
    return host(authority, authority.issueNode(node.getPublic()));
  }

  private LocalRpcHost host(CertificateAuthority authority, X509Certificate certificate) {
    LocalRpcHost host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR,
                        new InetSocketAddress(ADDRESS, Session.CURATOR_PORT),
                        true)),
                RpcSettings.Limits.DEFAULT),
            LogTree.create());
    peers.add(host);
    host.identify(new NodeCredentials(node.getPrivate(), certificate, authority.certificate()));
    return host;
  }

  private CtlRun run(String... command) {
    // The first handshakes of a new JVM take seconds on a busy machine.
    return run(30, command);
  }

  private CtlRun run(int timeout, String... command) {
    return CtlRun.of(
        Stream.concat(
                Stream.of(
                    "--state",
                    state.toString(),
                    "--endpoint",
                    ADDRESS,
                    "--timeout",
                    Integer.toString(timeout)),
                Stream.of(command))
            .toArray(String[]::new));
  }

  private static void assertSaid(CtlRun run, ExitCode code, String... parts) {
    assertAll(
        Stream.concat(
            Stream.of(() -> assertEquals(code.code(), run.code(), run.err())),
            Stream.concat(
                Stream.of(parts)
                    .map(
                        part ->
                            () -> assertTrue(run.err().contains(part), part + ": " + run.err())),
                FOREIGN.stream()
                    .map(
                        word ->
                            () ->
                                assertFalse(run.err().contains(word), word + ": " + run.err())))));
    assertEquals(1, run.err().lines().count(), "one sentence, on one line: " + run.err());
  }

  @Test
  @DisplayName("a closed port: the message says that nothing listens at this address")
  void closedPort() {
    assertSaid(
        run("node", "list"),
        ExitCode.UNREACHABLE,
        ADDRESS + ":7835 does not answer: nothing listens there",
        "./polis up");
    assertSaid(run("debug", "condition", "IPAssigned"), ExitCode.UNREACHABLE, ADDRESS + ":7837");
  }

  @Test
  @DisplayName("a node that does not run: the message says so, with the command that starts it")
  void nodeIsDown() throws Exception {
    Files.createDirectories(state.resolve("esp"));
    Files.write(
        state.resolve("esp/cluster_directory.pb"),
        ClusterDirectory.newBuilder()
            .addNodes(
                ClusterDirectory.Node.newBuilder()
                    .addAddresses(ClusterDirectory.Node.Address.newBuilder().setHost(ADDRESS)))
            .build()
            .toByteArray());

    CtlRun run = CtlRun.of("--state", state.toString(), "node", "list");

    assertSaid(
        run,
        ExitCode.UNREACHABLE,
        ADDRESS + ":7835 does not answer",
        "no node runs on " + state,
        "./polis up --state " + state);
  }

  @Test
  @DisplayName("a node that is no member yet: the message says why its listener is not open")
  void notYetAMember() throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(
        state.resolve("ephemeral/listeners"),
        """
        curator %1$s:7835 closed waits for credentials
        debug %1$s:7837 open
        """
            .formatted(ADDRESS));

    CtlRun run = CtlRun.of("--state", state.toString(), "node", "list");

    assertSaid(
        run,
        ExitCode.UNREACHABLE,
        ADDRESS + ":7835",
        "the node's listener 'curator' is not open: waits for credentials",
        "debug logs");
  }

  @Test
  @DisplayName("an unknown host name: the message says that it has no known address")
  void unknownHost() {
    CtlRun run =
        CtlRun.of("--state", state.toString(), "--endpoint", "nobody.invalid", "node", "list");
    assertSaid(run, ExitCode.UNREACHABLE, "no address is known for \"nobody.invalid\"");
  }

  @Test
  @DisplayName("an unreachable network: the message says that there is no way to it")
  void unreachableNetwork() {
    // TCP never connects to a multicast address: the kernel reports that the network is
    // unreachable.
    CtlRun run =
        CtlRun.of(
            "--state",
            state.toString(),
            "--endpoint",
            "224.0.0.1",
            "--timeout",
            "2",
            "node",
            "list");
    assertSaid(run, ExitCode.UNREACHABLE, "this machine has no route to 224.0.0.1:7835");
  }

  @Test
  @DisplayName("a silent peer: the message says that it has not answered in time")
  void silence() throws Exception {
    listen(Session.CURATOR_PORT, connection -> over.await(30, TimeUnit.SECONDS));
    assertSaid(
        run(3, "node", "list"),
        ExitCode.UNREACHABLE,
        ADDRESS + ":7835 has not answered within 3 s: the connection opens, and nothing answers",
        "--timeout");
  }

  @Test
  @DisplayName("a peer on this machine that takes connections and answers late is busy")
  void busy() throws Exception {
    ServerSocket server =
        new ServerSocket(Session.CURATOR_PORT, 50, InetAddress.ofLiteral(ADDRESS));
    peers.add(server);
    // Accepts each connection at once, and reacts to a request without TLS alone.
    Thread.startVirtualThread(
        () -> {
          while (!server.isClosed()) {
            try {
              Socket next = server.accept();
              peers.add(next);
              Thread.startVirtualThread(() -> endPlain(next));
            } catch (IOException closed) {
              return;
            }
          }
        });
    assertSaid(
        run(3, "node", "list"),
        ExitCode.UNREACHABLE,
        ADDRESS
            + ":7835 has not answered within 3 s: it takes connections, so the node is busy: try again; --timeout");
  }

  private static void endPlain(Socket connection) {
    try {
      if (connection.getInputStream().read() == 'G') {
        connection.close();
      }
    } catch (IOException gone) {
      return; // the client has left
    }
  }

  @Test
  @DisplayName("a peer that closes each connection: the message says so, with the remedy")
  void closing() throws Exception {
    listen(Session.CURATOR_PORT, connection -> {});
    assertSaid(
        run("node", "list"), ExitCode.UNREACHABLE, ADDRESS + ":7835", "closed the connection");
  }

  /** Names the ways in which a stopping node may end a connection during its handshake. */
  private enum BrokenOff {
    CLOSE_NOTIFY {
      @Override
      void leave(Socket connection) throws IOException {
        // A record of TLS 1.2, of 2 bytes: an alert, the warning close_notify.
        connection.getOutputStream().write(new byte[] {21, 3, 3, 0, 2, 1, 0});
      }

      @Override
      String said() {
        return "closed the connection during the TLS handshake: the node may be stopping";
      }
    },
    CANCELED {
      @Override
      void leave(Socket connection) throws IOException {
        // The same, after the warning user_canceled.
        connection.getOutputStream().write(new byte[] {21, 3, 3, 0, 2, 1, 90});
        CLOSE_NOTIFY.leave(connection);
      }

      @Override
      String said() {
        return RESET.said();
      }
    },
    RESET {
      @Override
      void leave(Socket connection) throws IOException {
        connection.setSoLinger(true, 0);
      }

      @Override
      String said() {
        return "closed the connection before it answered: the node may be stopping";
      }
    };

    abstract void leave(Socket connection) throws IOException;

    abstract String said();
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName(
      "a peer that breaks off the handshake: the call is repeated, then the message says so")
  void brokenOff(BrokenOff how) throws Exception {
    AtomicInteger connections = new AtomicInteger();
    listen(
        Session.CURATOR_PORT,
        connection -> {
          connections.incrementAndGet();
          assertTrue(connection.getInputStream().read() >= 0, "the client closed first");
          how.leave(connection);
        });
    assertSaid(run("node", "list"), ExitCode.UNREACHABLE, ADDRESS + ":7835", how.said());
    assertTrue(connections.get() > 2, connections + " connections");
  }

  @Test
  @DisplayName("a node that stops during a read: the call is repeated and answered")
  void stopping() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    LocalRpcHost stopping = host(CLUSTER);
    stopping.serve(
        RpcHost.CURATOR,
        new ManagementGrpc.ManagementImplBase() {
          @Override
          public void getNodes(GetNodesRequest request, StreamObserver<Node> nodes) {
            asked.countDown(); // the node ends before it answers
          }
        });
    Thread restart =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    assertTrue(asked.await(30, TimeUnit.SECONDS), "no call came");
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                  stopping.close();
                  host(CLUSTER).serve(RpcHost.CURATOR, new OneNode());
                });

    CtlRun run = run("node", "list");

    restart.join();
    assertEquals(0, run.code(), run.err());
    assertTrue(run.out().contains("node-1"), run.out());
  }

  static Stream<Status> endsOfConnections() {
    return Stream.of(
        Status.UNAVAILABLE.withCause(new IOException("Connection reset by peer")),
        Status.UNKNOWN.withDescription("channel closed").withCause(new ClosedChannelException()),
        Status.CANCELLED.withDescription("RST_STREAM closed stream. HTTP/2 error code: CANCEL"));
  }

  @ParameterizedTest
  @MethodSource("endsOfConnections")
  @DisplayName("a call whose connection ends is recognized as cut off, with any status of gRPC")
  void cutOff(Status end) throws Exception {
    CallFailure failure =
        new CallFailure(
            new StatusException(end),
            new InetSocketAddress(ADDRESS, Session.CURATOR_PORT),
            true,
            CtlTarget.ofState(state),
            1,
            "take ownership");

    assertTrue(failure.wasCutOff(), end.toString());
    assertTrue(
        failure.explain().getMessage().contains("closed the connection before it answered"),
        failure.explain().getMessage());

    CancellableContext over = Context.current().withCancellation();
    over.cancel(null);
    boolean cancelled = over.wrap(failure::wasCutOff).call();
    assertEquals(end.getCode() != Status.Code.CANCELLED, cancelled, "the caller itself gave up");
  }

  /** Answers as a started node does. */
  private static final class OneNode extends ManagementGrpc.ManagementImplBase {
    @Override
    public void getNodes(GetNodesRequest request, StreamObserver<Node> nodes) {
      nodes.onNext(Node.newBuilder().setId("node-1").build());
      nodes.onCompleted();
    }
  }

  @Test
  @DisplayName("a peer without TLS: the message says that it is no node")
  void noTls() throws Exception {
    listen(Session.CURATOR_PORT, saying("220 mail.example ESMTP\r\n"));
    assertSaid(
        run("node", "list"),
        ExitCode.UNREACHABLE,
        "the server at " + ADDRESS + ":7835 does not use TLS");
  }

  @Test
  @DisplayName(
      "a TLS server that refuses our certificate: the message says that the handshake was refused")
  void anotherTls() throws Exception {
    SSLServerSocket socket =
        (SSLServerSocket)
            SSLServerSocketFactory.getDefault()
                .createServerSocket(Session.CURATOR_PORT, 50, InetAddress.ofLiteral(ADDRESS));
    listen(socket, saying("hello"));
    // The alert itself is lost if the server closes right after it.
    assertSaid(run("node", "list"), ExitCode.UNREACHABLE, ADDRESS + ":7835", "TLS handshake");
  }

  @Test
  @DisplayName(
      "a web server at the debug port: the message says that it does not speak a node's protocol")
  void webServer() throws Exception {
    listen(Session.DEBUG_PORT, saying("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
    assertSaid(
        run("debug", "condition"),
        ExitCode.UNREACHABLE,
        "the server at " + ADDRESS + ":7837 does not speak the protocol of a node");
  }

  @Test
  @DisplayName("a node of another cluster: the message says why they do not trust each other")
  void anotherCluster() {
    host(CertificateAuthority.create("another cluster"));
    assertSaid(run("node", "list"), ExitCode.FAILED, ADDRESS + ":7835", "do not trust each other");
  }

  @Test
  @DisplayName(
      "another cluster at the address of a known node: the message says so, and what to end")
  void anotherClusterAtAKnownAddress() throws Exception {
    String node = "metropolis-" + "a".repeat(32);
    Path known = Files.createDirectories(state.resolve("owner/known-nodes"));
    Files.writeString(
        known.resolve(ADDRESS),
        "%s %s%n".formatted(node, Fingerprint.of(CLUSTER.certificate()).hex()));
    host(CertificateAuthority.create("another cluster"));
    assertSaid(
        run("node", "list"),
        ExitCode.FAILED,
        "another cluster has the address " + ADDRESS + ":7835, at which your cluster has a node",
        "end that server");
  }

  @Test
  @Tag("attack")
  @DisplayName("polisctl refuses a node whose certificate the cluster has revoked")
  void removedNode() {
    X509Certificate certificate = CLUSTER.issueNode(node.getPublic());
    host(CLUSTER, certificate).serve(RpcHost.CURATOR, new OneNode());
    assertEquals(ExitCode.OK.code(), run("node", "list").code());
    KnownRevocations known = new KnownRevocations(state.resolve("owner"));
    CaBundle ca = CaBundle.of(CLUSTER.certificate());
    assertTrue(known.isDue(), "no list is known");

    known.learn(list(2, certificate.getSerialNumber()), ca);

    assertFalse(known.isDue(), "the list is new");
    assertSaid(
        run("node", "list"),
        ExitCode.FAILED,
        ADDRESS + ":7835 answers with a certificate that your cluster has revoked");
    known.learn(list(1), ca);
    assertEquals(
        List.of(BigInteger.TWO),
        known.list(ca).stream().map(Crl::number).toList(),
        "no older list");
    assertThrows(
        IdentityException.class,
        () ->
            known.learn(
                CertificateAuthority.create("another").revocationList(BigInteger.TEN, List.of()),
                ca));
    known.learn(list(3), ca);
    assertEquals(ExitCode.OK.code(), run("node", "list").code());
  }

  @Test
  @DisplayName("a damaged list of revoked certificates is named with the remedy, and not the node")
  void damagedRevocations() throws Exception {
    host(CLUSTER).serve(RpcHost.CURATOR, new OneNode());
    Files.writeString(state.resolve("owner/revocations.crl"), "damaged");

    CtlRun refused = run("node", "list");

    assertSaid(refused, ExitCode.FAILED, "holds no revocation list", "remove it");
    assertFalse(refused.err().contains("another cluster"), refused.err());
  }

  private static Crl list(long number, BigInteger... serials) {
    return CLUSTER.revocationList(BigInteger.valueOf(number), List.of(serials));
  }

  @Test
  @DisplayName("a node with an expired certificate: the message says since when it is not trusted")
  void expiredNode() {
    Instant before = Instant.now().minus(Duration.ofDays(4000));
    CertificateAuthority past =
        new CertificateAuthority(
            CLUSTER.privateKey(), CLUSTER.certificate(), InstantSource.fixed(before));
    host(past);
    assertSaid(
        run("node", "list"),
        ExitCode.FAILED,
        "do not trust each other",
        "is valid from",
        "correct the clock");
  }

  @Test
  @DisplayName("an owner with an expired certificate: the message says to take ownership again")
  void expiredOwner() throws Exception {
    host(CLUSTER).serve(RpcHost.CURATOR, new ManagementGrpc.ManagementImplBase() {});
    KeyPair pair = Ed25519.generate();
    Path owner = state.resolve("owner");
    CertificateAuthority past =
        new CertificateAuthority(
            CLUSTER.privateKey(),
            CLUSTER.certificate(),
            InstantSource.fixed(Instant.now().minus(Duration.ofDays(4000))));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"), Pem.encode(past.issueUser("owner", pair.getPublic())));

    assertSaid(
        run("node", "list"),
        ExitCode.FAILED,
        ADDRESS + ":7835 does not accept the certificate in",
        "takeownership");
  }
}
