package dev.polis.rpc;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.RecordCopy;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class RpcConnectionTest {
  /** Answers one call, and keeps streams open. */
  private static final class Answering extends CuratorGrpc.CuratorImplBase {
    final CountDownLatch cancelled = new CountDownLatch(1);

    @Override
    public void getConsensusStatus(
        GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
      observer.onNext(GetConsensusStatusResponse.getDefaultInstance());
      observer.onCompleted();
    }

    @Override
    public void watch(WatchRequest request, StreamObserver<WatchEvent> observer) {
      ((ServerCallStreamObserver<WatchEvent>) observer).setOnCancelHandler(cancelled::countDown);
      observer.onNext(WatchEvent.getDefaultInstance());
    }
  }

  private static Status ask(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            CuratorGrpc.newBlockingStub(channel)
                .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance()));
  }

  @Test
  @Timeout(20)
  @Tag("attack")
  @DisplayName("garbage on a TLS port ends only that connection")
  void garbageIsDropped() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      Answering service = new Answering();
      fixture.host.serve(RpcHost.CURATOR, service);
      ManagedChannel owner = fixture.asOwner();
      assertTrue(ask(owner).isOk());
      // A channel would silently reconnect; a stream ends with its connection.
      CuratorGrpc.newBlockingStub(fixture.as(fixture.node()))
          .watch(WatchRequest.getDefaultInstance())
          .next();

      byte[] garbage = new byte[4096];
      new SecureRandom().nextBytes(garbage);
      try (Socket socket = connect(fixture)) {
        socket.getOutputStream().write(garbage);
        assertTrue(endsWithin(socket, Duration.ofSeconds(10)), "still open after 10 s");
      }

      assertTrue(ask(owner).isOk());
      assertEquals(2, fixture.port(RpcHost.CURATOR).members());
      assertEquals(1, service.cancelled.getCount(), "a stream of another connection ended");
    }
  }

  @Test
  @Timeout(20)
  @Tag("attack")
  @DisplayName("a handshake without progress is cut off after its time, which is 10 s by default")
  void slowHandshakeIsCutOff() throws Exception {
    assertEquals(Duration.ofSeconds(10), RpcSettings.Limits.DEFAULT.handshakeTime());
    Duration limit = Duration.ofMillis(700);
    try (RpcFixture fixture =
        new RpcFixture(usual -> RecordCopy.with(usual, "handshakeTime", limit))) {
      long start = System.nanoTime();
      try (Socket silent = connect(fixture);
          Socket dripping = connect(fixture)) {
        dripping.getOutputStream().write(new byte[] {0x16, 0x03});
        assertTrue(endsWithin(silent, Duration.ofSeconds(5)), "silence was borne for 5 s");
        assertTrue(endsWithin(dripping, Duration.ofSeconds(5)), "dripping was borne for 5 s");
      }
      assertTrue(Duration.ofNanos(System.nanoTime() - start).compareTo(limit) >= 0);
    }
  }

  @Test
  @Timeout(20)
  @DisplayName("garbage on a plain-text port is not logged by gRPC, which would add a stack trace")
  void garbageIsNotLogged() throws Exception {
    List<String> logged = new CopyOnWriteArrayList<>();
    Handler records =
        new Handler() {
          @Override
          public void publish(LogRecord each) {
            logged.add(each.getLoggerName() + ": " + each.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger grpc = Logger.getLogger("io.grpc.netty");
    grpc.addHandler(records);
    // Closing the fixture waits for the end of its connections, at which gRPC would log.
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.DEBUG, new Answering());
      try (Socket socket = connect(fixture, RpcHost.DEBUG)) {
        socket.getOutputStream().write("no preface of HTTP/2".getBytes(US_ASCII));
        assertTrue(endsWithin(socket, Duration.ofSeconds(10)), "still open after 10 s");
      }
    } finally {
      grpc.removeHandler(records);
    }
    assertEquals(List.of(), logged);
  }

  private static Socket connect(RpcFixture fixture) throws IOException {
    return connect(fixture, RpcHost.CURATOR);
  }

  private static Socket connect(RpcFixture fixture, String listener) throws IOException {
    InetSocketAddress address = fixture.host.address(listener);
    return new Socket(address.getAddress(), address.getPort());
  }

  private static boolean endsWithin(Socket socket, Duration time) throws IOException {
    socket.setSoTimeout((int) time.toMillis());
    InputStream in = socket.getInputStream();
    try {
      while (in.read() >= 0) {
        // An alert may precede the end.
      }
      return true;
    } catch (java.net.SocketTimeoutException open) {
      return false;
    } catch (java.net.SocketException reset) {
      return true;
    }
  }

  @Test
  @Timeout(20)
  @Tag("attack")
  @DisplayName("newer strangers displace older ones beyond the limit, and members stay")
  void connectionsAreBounded() throws Exception {
    ConnectionLimits two = new ConnectionLimits(8, 2, 2, 100);
    try (RpcFixture fixture = new RpcFixture(usual -> RecordCopy.with(usual, "connections", two))) {
      fixture.host.serve(RpcHost.CURATOR, new Answering());
      ManagedChannel owner = fixture.asOwner();
      assertTrue(ask(owner).isOk());

      try (Socket first = connect(fixture);
          Socket second = connect(fixture);
          Socket third = connect(fixture)) {
        assertTrue(endsWithin(first, Duration.ofSeconds(5)), "the oldest connection stayed");
        assertTrue(ask(fixture.asOwner()).isOk(), "a new member is not served");
        assertTrue(ask(owner).isOk());
        assertFalse(second.isClosed() || third.isClosed());
      }

      RpcStatistics.Port curator = fixture.port(RpcHost.CURATOR);
      assertEquals(2, curator.members());
      assertTrue(curator.displaced() >= 1, curator::toString);
      assertEquals(0, curator.refused());
    }
  }

  @Test
  @Timeout(30)
  @DisplayName("the listener's status names a flood of connections")
  void floodIsNamed() throws Exception {
    ConnectionLimits few = new ConnectionLimits(8, 2, 2, 1);
    try (RpcFixture fixture = new RpcFixture(usual -> RecordCopy.with(usual, "connections", few))) {
      for (int i = 0; i < 80; i++) {
        connect(fixture).close();
      }
      Await.until(
          Duration.ofSeconds(20),
          "the flood to be named",
          () -> status(fixture).flood().contains("from 127.0.0.1"));
    }
  }

  private static RpcListenerStatus status(RpcFixture fixture) {
    return fixture.host.listeners().peek().orElseThrow().stream()
        .filter(status -> status.name().equals(RpcHost.CURATOR))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName("renewed credentials are presented to new connections, and old connections continue")
  void credentialsRotate() {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.CURATOR, new Answering());
      ManagedChannel before = fixture.asOwner();
      assertTrue(ask(before).isOk());

      NodeCredentials renewed =
          fixture.credentials.renewed(fixture.ca.issueNode(fixture.nodeKey.getPublic()));
      fixture.host.identify(renewed);
      RpcTrust onlyNew =
          new RpcTrust.Cluster(
              dev.polis.pki.TlsTrust.Source.of(
                  () -> dev.polis.pki.CaBundle.of(fixture.ca.certificate()),
                  () ->
                      java.util.Optional.of(
                          fixture.ca.revocationList(
                              java.math.BigInteger.ONE,
                              List.of(fixture.credentials.certificate().getSerialNumber())))));
      ManagedChannel after =
          fixture.channel(RpcClients.authenticated(fixture.user("owner"), onlyNew));

      assertAll(() -> assertTrue(ask(before).isOk()), () -> assertTrue(ask(after).isOk()));
    }
  }

  @Test
  @Timeout(20)
  @DisplayName(
      "CUR-23 D-18 revocation ends streams and refuses calls on open connections within a second")
  void revocationReachesOpenConnections() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      Answering service = new Answering();
      fixture.host.serve(RpcHost.CURATOR, service);
      TlsIdentity node = fixture.node();
      ManagedChannel channel = fixture.as(node);
      ManagedChannel innocent = fixture.as(fixture.node());
      Iterator<WatchEvent> stream =
          CuratorGrpc.newBlockingStub(channel).watch(WatchRequest.getDefaultInstance());
      stream.next();

      MachineSpeed speed = MachineSpeed.measure();
      long start = System.nanoTime();
      fixture.revoke(node);
      StatusRuntimeException ended = assertThrows(StatusRuntimeException.class, stream::next);
      Status refused = ask(channel);
      Duration took = Duration.ofNanos(System.nanoTime() - start);

      speed.assertWithin("the stream ended, and a call was refused,", Duration.ofSeconds(1), took);
      assertAll(
          () -> assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode()),
          () -> assertEquals(Status.Code.UNAUTHENTICATED, refused.getCode()),
          () ->
              assertTrue(
                  service.cancelled.await(5, TimeUnit.SECONDS), "the handler was not notified"),
          () -> assertTrue(ask(innocent).isOk()));
    }
  }

  @Test
  @DisplayName("a port that is taken is named, with the process that has it")
  void takenPortNamesItsOwner() throws IOException {
    ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    try (RpcFixture fixture = new RpcFixture();
        LocalRpcHost host =
            new LocalRpcHost(
                new RpcSettings(
                    List.of(
                        new RpcSettings.Listener(
                            RpcHost.CURATOR,
                            new InetSocketAddress(taken.getInetAddress(), taken.getLocalPort()),
                            true)),
                    RpcSettings.Limits.DEFAULT),
                LogTree.create())) {
      RpcListenException refused =
          assertThrows(RpcListenException.class, () -> host.identify(fixture.credentials));
      String message = refused.getMessage();
      assertAll(
          () -> assertTrue(message.contains("port " + taken.getLocalPort()), message),
          () ->
              assertTrue(
                  message.endsWith("set dev.polis.rpc.curator.port to another port"), message),
          () ->
              assertTrue(
                  message.contains("process " + ProcessHandle.current().pid() + " ("), message));

      taken.close();
      host.identify(fixture.credentials);
      assertTrue(host.listeners().peek().orElseThrow().getFirst().open());
    }
  }

  @Test
  @DisplayName("a node that drops its credentials closes its TLS listeners and can open them again")
  void forgottenCredentialsCloseListeners() {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.forget();
      assertTrue(
          fixture.host.listeners().peek().orElseThrow().stream()
              .noneMatch(RpcListenerStatus::open));
      fixture.host.identify(fixture.credentials);
      fixture.host.serve(RpcHost.CURATOR, new Answering());
      assertTrue(ask(fixture.asOwner()).isOk());
    }
  }
}
