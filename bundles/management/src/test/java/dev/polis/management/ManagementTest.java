package dev.polis.management;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.boot.BootReport;
import dev.polis.boot.StopReason;
import dev.polis.boot.Wait;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRegistration;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.ActivationMode;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.RebootRequest.NextBoot;
import dev.polis.wire.api.RebootRequest.Type;
import dev.polis.wire.api.RebootResponse;
import dev.polis.wire.api.UpdateNodeRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The organ behind a real host, called over TLS. */
class ManagementTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final LogTree logs = LogTree.create();
  private final Launcher launcher = new Launcher();
  private final List<ManagedChannel> channels = new ArrayList<>();
  private Optional<ManagedChannel> owner = Optional.empty();
  private LocalRpcHost host;
  private ManagementComponent organ;
  private RpcRegistration served;

  @BeforeEach
  void start() {
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.MANAGEMENT,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    KeyPair key = Ed25519.generate();
    host.identify(
        new NodeCredentials(key.getPrivate(), ca.issueNode(key.getPublic()), ca.certificate()));
    organ = new ManagementComponent(logs, launcher);
    served = host.serve(RpcHost.MANAGEMENT, organ);
  }

  @AfterEach
  void stop() throws InterruptedException {
    for (ManagedChannel channel : channels) {
      channel.shutdownNow().awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
    served.close();
    organ.deactivate();
    host.close();
  }

  private NodeManagementGrpc.NodeManagementBlockingStub owner() {
    if (owner.isEmpty()) {
      owner = Optional.of(ownersChannel());
    }
    return NodeManagementGrpc.newBlockingStub(owner.get());
  }

  private ManagedChannel ownersChannel() {
    KeyPair key = Ed25519.generate();
    TlsIdentity user = TlsIdentity.of(key.getPrivate(), ca.issueUser("owner", key.getPublic()));
    return dial(RpcClients.authenticated(user, RpcTrust.cluster(ca.certificate())));
  }

  private ManagedChannel dial(RpcClients clients) {
    ManagedChannel channel = clients.dial(host.address(RpcHost.MANAGEMENT));
    channels.add(channel);
    return channel;
  }

  private static LogsRequest.Builder backlog(String dn) {
    return LogsRequest.newBuilder()
        .setDn(dn)
        .setBacklogMode(BacklogMode.BACKLOG_MODE_ALL)
        .setStreamMode(StreamMode.STREAM_MODE_DISABLE);
  }

  private static Status statusOf(Runnable call) {
    try {
      call.run();
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    }
  }

  private void assertRefused(Status.Code code, String words, Runnable call) {
    Status status = statusOf(call);
    assertEquals(code, status.getCode(), status.toString());
    assertTrue(status.getDescription().contains(words), status.toString());
    assertEquals(List.of(), launcher.asked);
  }

  @Test
  @DisplayName("LOG-15 the owner reads the log of the node")
  void log15_ownerReadsTheLog() {
    logs.log("root.storage").info("mounted");

    LogsResponse chunk = owner().logs(backlog("root.storage").build()).next();

    assertEquals(1, chunk.getBacklogEntriesCount());
    assertEquals("root.storage", chunk.getBacklogEntries(0).getDn());
    assertEquals("mounted", chunk.getBacklogEntries(0).getLeveled().getLines(0));
    assertTrue(
        chunk.getBacklogEntries(0).getLeveled().getLocation().startsWith("ManagementTest.java:"));
  }

  @Test
  @DisplayName("D-02 an unauthenticated Logs or Reboot is refused, and the node serves on")
  void d02_strangersAreRefused() {
    ManagedChannel stranger = dial(RpcClients.anonymous(RpcTrust.cluster(ca.certificate())));
    NodeManagementGrpc.NodeManagementBlockingStub stub =
        NodeManagementGrpc.newBlockingStub(stranger);
    RebootRequest off = RebootRequest.newBuilder().setType(Type.TYPE_POWER_OFF).build();

    for (int i = 0; i < 10; i++) {
      assertRefused(
          Status.Code.UNAUTHENTICATED, "certificate", () -> stub.logs(backlog("").build()).next());
      assertRefused(Status.Code.UNAUTHENTICATED, "certificate", () -> stub.reboot(off));
    }

    logs.log("root").info("alive");
    assertTrue(owner().logs(backlog("root").build()).hasNext());
  }

  @Test
  @DisplayName("another node may neither read the log nor switch this one off")
  void nodesMayNot() {
    KeyPair key = Ed25519.generate();
    TlsIdentity node = TlsIdentity.of(key.getPrivate(), ca.issueNode(key.getPublic()));
    NodeManagementGrpc.NodeManagementBlockingStub stub =
        NodeManagementGrpc.newBlockingStub(
            dial(RpcClients.authenticated(node, RpcTrust.cluster(ca.certificate()))));

    assertRefused(
        Status.Code.PERMISSION_DENIED,
        "READ_NODE_LOGS",
        () -> stub.logs(backlog("").build()).next());
    assertRefused(
        Status.Code.PERMISSION_DENIED,
        "POWER_MANAGEMENT",
        () -> stub.reboot(RebootRequest.newBuilder().setType(Type.TYPE_POWER_OFF).build()));
  }

  @Test
  @DisplayName("D-47 a power off is answered first, then asked of the launcher, once, by name")
  void d47_powerOffIsOrdered() throws Exception {
    RebootRequest off = RebootRequest.newBuilder().setType(Type.TYPE_POWER_OFF).build();

    assertEquals(RebootResponse.getDefaultInstance(), owner().reboot(off));
    launcher.answered.countDown();
    Await.until(PATIENCE, "the launcher to be asked", () -> !launcher.asked.isEmpty());
    owner().reboot(off);

    assertEquals(List.of("asked for by user \"owner\""), launcher.asked);
  }

  @Test
  @DisplayName("what this node cannot do is FAILED_PRECONDITION in words, and nothing happens")
  void impossibleReboots() {
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "FIRMWARE",
        () -> owner().reboot(reboot(Type.TYPE_FIRMWARE, NextBoot.NEXT_BOOT_START_NORMAL)));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "KEXEC",
        () -> owner().reboot(reboot(Type.TYPE_KEXEC, NextBoot.NEXT_BOOT_START_ROLLBACK)));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "START_ROLLBACK",
        () -> owner().reboot(reboot(Type.TYPE_POWER_OFF, NextBoot.NEXT_BOOT_START_ROLLBACK)));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "START_FIRMWARE_UI",
        () -> owner().reboot(reboot(Type.TYPE_POWER_OFF, NextBoot.NEXT_BOOT_START_FIRMWARE_UI)));
  }

  @Test
  @DisplayName("what makes no sense is INVALID_ARGUMENT naming the value")
  void senselessReboots() {
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "type is 0",
        () -> owner().reboot(RebootRequest.getDefaultInstance()));
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "type is 12",
        () -> owner().reboot(RebootRequest.newBuilder().setTypeValue(12).build()));
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "next_boot is 9",
        () ->
            owner()
                .reboot(
                    RebootRequest.newBuilder()
                        .setType(Type.TYPE_POWER_OFF)
                        .setNextBootValue(9)
                        .build()));
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "START_FIRMWARE_UI",
        () -> owner().reboot(reboot(Type.TYPE_KEXEC, NextBoot.NEXT_BOOT_START_FIRMWARE_UI)));
  }

  @Test
  @DisplayName("an update is refused in words, an unknown activation mode by its value")
  void updates() {
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "activation_mode is 0",
        () -> owner().updateNode(UpdateNodeRequest.getDefaultInstance()));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "no image",
        () ->
            owner()
                .updateNode(
                    UpdateNodeRequest.newBuilder()
                        .setActivationMode(ActivationMode.ACTIVATION_MODE_REBOOT)
                        .build()));
  }

  @Test
  @DisplayName("when the organ goes its streams end with UNAVAILABLE, and no reader is left")
  void goingEndsStreams() throws Exception {
    List<Throwable> ends = new CopyOnWriteArrayList<>();
    NodeManagementGrpc.newStub(ownersChannel())
        .logs(
            backlog("quiet").setStreamMode(StreamMode.STREAM_MODE_UNBUFFERED).build(),
            new StreamObserver<>() {
              @Override
              public void onNext(LogsResponse chunk) {}

              @Override
              public void onError(Throwable failure) {
                ends.add(failure);
              }

              @Override
              public void onCompleted() {
                ends.add(new AssertionError("completed"));
              }
            });
    Await.until(PATIENCE, "the stream to be open", () -> logs.statistics().readers() == 1);

    served.close();
    organ.deactivate();

    Await.until(PATIENCE, "the stream to end", () -> !ends.isEmpty());
    assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(ends.getFirst()).getCode());
    Await.until(PATIENCE, "the reader to be closed", () -> logs.statistics().readers() == 0);
  }

  private static RebootRequest reboot(Type type, NextBoot next) {
    return RebootRequest.newBuilder().setType(type).setNextBoot(next).build();
  }

  /** Notes what it is asked for. */
  private static final class Launcher implements BootReport {
    final List<String> asked = new CopyOnWriteArrayList<>();
    final CountDownLatch answered = new CountDownLatch(1);

    @Override
    public Wait waiting(String name) {
      throw new AssertionError("the management organ waits for nothing, but for " + name);
    }

    @Override
    public void home(String summary) {
      throw new AssertionError("not the management organ's to say");
    }

    @Override
    public void fatal(String organ, Throwable cause) {
      throw new AssertionError(organ + " is fatal", cause);
    }

    @Override
    public void powerOff(String reason) {
      try {
        // As if the process ended here: an answer that is not out by now never comes.
        boolean inTime = answered.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        asked.add(inTime ? reason : "before the answer, " + reason);
      } catch (InterruptedException e) {
        asked.add("interrupted, " + reason);
      }
    }

    @Override
    public StopReason stopReason() {
      return StopReason.CODE_REPLACED;
    }
  }
}
