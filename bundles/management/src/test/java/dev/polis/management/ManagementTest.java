package dev.polis.management;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcRegistration;
import dev.polis.rpc.RpcRole;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.SupervisionTree;
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
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.health.Kind;
import dev.polis.wire.health.Level;
import dev.polis.wire.runtime.GetRuntimeRequest;
import dev.polis.wire.runtime.GetRuntimeResponse;
import dev.polis.wire.runtime.RestartRequest;
import dev.polis.wire.runtime.RuntimeGrpc;
import io.grpc.BindableService;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/** Calls the organ over TLS, behind a real host. */
class ManagementTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final HealthTable health = HealthTable.open(tree);
  private final Launcher launcher = new Launcher();
  private final List<ManagedChannel> channels = new ArrayList<>();
  private final List<ServerServiceDefinition> endpoints = new ArrayList<>();
  private Optional<ManagedChannel> owner = Optional.empty();
  private LocalRpcHost host;
  private ManagementComponent organ;

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
    organ = new ManagementComponent(registry(), launcher, logs, tree, health, host);
  }

  @AfterEach
  void stop() throws InterruptedException {
    for (ManagedChannel channel : channels) {
      channel.shutdownNow().awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
    organ.deactivate();
    host.close();
    health.close();
    tree.close();
  }

  /** Makes a service registry that knows only the host's whiteboard. */
  private BundleContext registry() {
    return fake(
        BundleContext.class,
        arguments -> {
          BindableService service = (BindableService) arguments[1];
          String listener = ((Dictionary<?, ?>) arguments[2]).get(RpcHost.LISTENER).toString();
          endpoints.add(service.bindService());
          RpcRegistration registration = host.serve(listener, service);
          return fake(
              ServiceRegistration.class,
              none -> {
                registration.close();
                return null;
              });
        });
  }

  private static <T> T fake(Class<T> contract, Function<Object[], Object> answer) {
    return contract.cast(
        Proxy.newProxyInstance(
            ManagementTest.class.getClassLoader(),
            new Class<?>[] {contract},
            (self, method, arguments) -> answer.apply(arguments)));
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
  @DisplayName("D-02 an unauthenticated Logs or Reboot is refused, and the node keeps serving")
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
  @DisplayName(
      "RPC-03 every streaming method of the organ refuses strangers, and the node keeps serving")
  void rpc03_everyStreamRefusesStrangers() throws Exception {
    ManagedChannel stranger = dial(RpcClients.anonymous(RpcTrust.cluster(ca.certificate())));
    List<MethodDescriptor<?, ?>> streams =
        endpoints.stream()
            .flatMap(service -> service.getServiceDescriptor().getMethods().stream())
            .filter(method -> method.getType() != MethodDescriptor.MethodType.UNARY)
            .toList();
    assertFalse(streams.isEmpty(), "the organ has no streaming method: this test calls nothing");

    for (MethodDescriptor<?, ?> method : streams) {
      for (int i = 0; i < 10; i++) {
        assertEquals(
            Status.Code.UNAUTHENTICATED, end(stranger, method).getCode(), method::toString);
      }
    }

    logs.log("root").info("alive");
    assertTrue(owner().logs(backlog("root").build()).hasNext());
  }

  /** Calls a method with an empty message and returns how the call ends. */
  private static <Q, A> Status end(ManagedChannel channel, MethodDescriptor<Q, A> method)
      throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<Q, A> call = channel.newCall(method, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(method.parseRequest(InputStream.nullInputStream()));
    call.halfClose();
    return end.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  @DisplayName("D-18 a revoked user is refused within a second, and the open log stream ends")
  void d18_revokedUserIsRefused() throws Exception {
    KeyPair key = Ed25519.generate();
    TlsIdentity user = TlsIdentity.of(key.getPrivate(), ca.issueUser("owner", key.getPublic()));
    ManagedChannel channel =
        dial(RpcClients.authenticated(user, RpcTrust.cluster(ca.certificate())));
    List<Throwable> ends = new CopyOnWriteArrayList<>();
    NodeManagementGrpc.newStub(channel).logs(following("quiet"), noting(ends));
    Await.until(PATIENCE, "the stream to be open", () -> logs.statistics().readers() == 1);
    HealthGrpc.HealthBlockingStub before = HealthGrpc.newBlockingStub(channel);
    assertFalse(
        before.getHealth(GetHealthRequest.getDefaultInstance()).getStatusesList().isEmpty());

    MachineSpeed speed = MachineSpeed.measure();
    long start = System.nanoTime();
    host.revoke(ca.revocationList(BigInteger.ONE, List.of(user.certificate().getSerialNumber())));

    Await.until(PATIENCE, "the stream to end", () -> !ends.isEmpty());
    assertRefused(
        Status.Code.UNAUTHENTICATED,
        "revoked",
        () -> before.getHealth(GetHealthRequest.getDefaultInstance()));
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    speed.assertWithin("the stream ended, and a call was refused,", Duration.ofSeconds(1), took);
    assertEquals(Status.Code.UNAUTHENTICATED, Status.fromThrowable(ends.getFirst()).getCode());
    Await.until(PATIENCE, "the reader to be closed", () -> logs.statistics().readers() == 0);
  }

  private static LogsRequest following(String dn) {
    return backlog(dn).setStreamMode(StreamMode.STREAM_MODE_UNBUFFERED).build();
  }

  private static StreamObserver<LogsResponse> noting(List<Throwable> ends) {
    return new StreamObserver<>() {
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
    };
  }

  @Test
  @DisplayName(
      "health and its explanation are served to callers that may read the cluster's status")
  void healthIsServed() {
    health
        .role("ConsensusMember", "")
        .set(HealthCondition.degraded("one-of-one", "the cluster has no second member", "add one"));
    HealthGrpc.HealthBlockingStub stub = HealthGrpc.newBlockingStub(ownersChannel());

    GetHealthResponse response = stub.getHealth(GetHealthRequest.getDefaultInstance());
    dev.polis.wire.health.Status role =
        response.getStatusesList().stream()
            .filter(status -> status.getKind() == Kind.KIND_ROLE)
            .findFirst()
            .orElseThrow();
    assertEquals("ConsensusMember", role.getName());
    assertEquals(Level.LEVEL_DEGRADED, role.getLevel());
    assertEquals("one-of-one", role.getCode());
    assertEquals("add one", role.getRemedy());

    ExplainResponse explained =
        stub.explain(ExplainRequest.newBuilder().setName("consensusmember").build());
    assertEquals(Kind.KIND_ROLE, explained.getKind());
    assertEquals(
        List.of("ConsensusMember: the cluster has no second member"), explained.getCausesList());
  }

  @Test
  @DisplayName("a listener that is closed makes the organ WAITING with the listener's reason")
  void closedListenerIsTold() throws Exception {
    host.forget();

    Await.until(
        PATIENCE,
        "management to be WAITING",
        () -> health.all().peek().orElseThrow().getFirst().level() == HealthLevel.WAITING);
    String reason = health.all().peek().orElseThrow().getFirst().reason();
    assertTrue(reason.contains("'management'"), reason);
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
  @DisplayName(
      "D-47 a power off is answered first; then the launcher gets one request with the caller's name")
  void d47_powerOffIsOrdered() throws Exception {
    RebootRequest off = RebootRequest.newBuilder().setType(Type.TYPE_POWER_OFF).build();

    assertEquals(RebootResponse.getDefaultInstance(), owner().reboot(off));
    launcher.answered.countDown();
    Await.until(PATIENCE, "the launcher to be asked", () -> !launcher.asked.isEmpty());
    owner().reboot(off);

    assertEquals(List.of("asked for by user \"owner\""), launcher.asked);
  }

  @Test
  @DisplayName(
      "D-47 of several calls for a power off one takes effect, also if its caller has disconnected")
  void d47_oncePerNode() {
    PowerRequest power = new PowerRequest(launcher, logs.log("test"));
    launcher.answered.countDown();
    HeldCall gone = new HeldCall();
    HeldCall answered = new HeldCall();
    Context.current()
        .withValue(RpcPeer.KEY, new RpcPeer.User("owner", RpcRole.OWNER, "SHA256:test"))
        .run(
            () -> {
              power.offAfter(gone);
              power.offAfter(answered);
            });
    assertEquals(List.of(), launcher.asked, "asked while both calls are open");

    gone.cancelled.run();
    assertEquals(List.of("asked for by user \"owner\""), launcher.asked);
    answered.closed.run();
    assertEquals(1, launcher.asked.size(), launcher.asked::toString);
  }

  @Test
  @DisplayName(
      "a request that this node cannot fulfil is FAILED_PRECONDITION with the reason, and nothing happens")
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
  @DisplayName("a restart of the process is requested after its answer, which names the process")
  void restart() throws Exception {
    RuntimeGrpc.RuntimeBlockingStub runtime = RuntimeGrpc.newBlockingStub(ownersChannel());
    GetRuntimeResponse now = runtime.getRuntime(GetRuntimeRequest.getDefaultInstance());
    assertEquals(ProcessHandle.current().pid(), now.getProcessId());

    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "instance is empty",
        () -> runtime.restart(RestartRequest.getDefaultInstance()));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "does not run any more",
        () -> runtime.restart(RestartRequest.newBuilder().setInstance("another").build()));

    RestartRequest request = RestartRequest.newBuilder().setInstance(now.getInstance()).build();
    assertEquals(now.getInstance(), runtime.restart(request).getInstance());
    launcher.answered.countDown();

    Await.until(PATIENCE, "the launcher to be asked", () -> !launcher.asked.isEmpty());
    assertTrue(
        launcher.asked.getFirst().startsWith("restart: asked for by "), launcher.asked.toString());
  }

  @Test
  @DisplayName("a senseless request is INVALID_ARGUMENT with the value")
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
  @DisplayName("an update is refused with the reason, an unknown activation mode with its value")
  void updates() {
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "activation_mode is 0",
        () -> owner().updateNode(UpdateNodeRequest.getDefaultInstance()));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "system image",
        () ->
            owner()
                .updateNode(
                    UpdateNodeRequest.newBuilder()
                        .setActivationMode(ActivationMode.ACTIVATION_MODE_REBOOT)
                        .build()));
  }

  @Test
  @DisplayName("when the organ stops, its streams end with UNAVAILABLE, and no reader is left")
  void goingEndsStreams() throws Exception {
    List<Throwable> ends = new CopyOnWriteArrayList<>();
    NodeManagementGrpc.newStub(ownersChannel()).logs(following("quiet"), noting(ends));
    Await.until(PATIENCE, "the stream to be open", () -> logs.statistics().readers() == 1);

    organ.deactivate();

    Await.until(PATIENCE, "the stream to end", () -> !ends.isEmpty());
    assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(ends.getFirst()).getCode());
    Await.until(PATIENCE, "the reader to be closed", () -> logs.statistics().readers() == 0);
  }

  private static RebootRequest reboot(Type type, NextBoot next) {
    return RebootRequest.newBuilder().setType(type).setNextBoot(next).build();
  }

  /** Stands for a call that is open until the test runs one of its handlers. */
  private static final class HeldCall extends ServerCallStreamObserver<RebootResponse> {
    private Runnable cancelled = () -> {};
    private Runnable closed = () -> {};

    @Override
    public void setOnCancelHandler(Runnable handler) {
      cancelled = handler;
    }

    @Override
    public void setOnCloseHandler(Runnable handler) {
      closed = handler;
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {
      throw notNeeded();
    }

    @Override
    public void setCompression(String compression) {
      throw notNeeded();
    }

    @Override
    public void setMessageCompression(boolean enable) {
      throw notNeeded();
    }

    @Override
    public void disableAutoInboundFlowControl() {
      throw notNeeded();
    }

    @Override
    public void request(int count) {
      throw notNeeded();
    }

    @Override
    public void onNext(RebootResponse value) {
      throw notNeeded();
    }

    @Override
    public void onError(Throwable failure) {
      throw notNeeded();
    }

    @Override
    public void onCompleted() {
      throw notNeeded();
    }

    private static AssertionError notNeeded() {
      return new AssertionError("a power request has no need of this");
    }
  }

  /** Records the requests to the launcher. */
  private static final class Launcher implements BootReport {
    final List<String> asked = new CopyOnWriteArrayList<>();
    final CountDownLatch answered = new CountDownLatch(1);

    @Override
    public Wait waiting(String name) {
      throw new AssertionError("the management organ waits for nothing, but for " + name);
    }

    @Override
    public void home(String summary) {
      throw new AssertionError("an unexpected call by the management organ");
    }

    @Override
    public void fatal(String organ, Throwable cause) {
      throw new AssertionError(organ + " is fatal", cause);
    }

    @Override
    public void restart(String reason) {
      powerOff("restart: " + reason);
    }

    @Override
    public void powerOff(String reason) {
      try {
        // Acts as if the process ended here: the answer must have been sent before.
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
