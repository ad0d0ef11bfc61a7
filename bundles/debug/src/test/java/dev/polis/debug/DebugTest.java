package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.SilentBoot;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
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
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.LoadImageRequest;
import dev.polis.wire.api.LoadImageResponse;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.api.TraceRequest;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetComponentLogsRequest;
import dev.polis.wire.debug.GetConditionRequest;
import dev.polis.wire.debug.ListConditionsRequest;
import dev.polis.wire.debug.ListImagesRequest;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Kind;
import dev.polis.wire.health.Level;
import dev.polis.wire.images.LoadRequest;
import dev.polis.wire.images.LoadResponse;
import dev.polis.wire.images.NodeImagesGrpc;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/** Calls the organ in plain text, behind a real host. */
class DebugTest {

  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final HealthTable health = HealthTable.open(tree);
  private LocalRpcHost host;
  private final List<RpcRegistration> served = new ArrayList<>();
  private boolean kubeconfig;
  private boolean images;
  private DebugComponent organ;
  private ManagedChannel channel;

  @BeforeEach
  void start() {
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.DEBUG,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        false),
                    new RpcSettings.Listener(
                        RpcHost.MANAGEMENT,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    KeyPair key = Ed25519.generate();
    host.identify(
        new NodeCredentials(key.getPrivate(), ca.issueNode(key.getPublic()), ca.certificate()));
    organ = organ(true);
    channel = RpcClients.plaintext(host.address(RpcHost.DEBUG));
  }

  @AfterEach
  void stop() throws InterruptedException {
    channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    organ.deactivate();
    host.close();
    health.close();
    tree.close();
  }

  private DebugComponent organ(boolean enabled) {
    return new DebugComponent(
        registry(),
        config(enabled),
        new SilentBoot(StopReason.CODE_REPLACED),
        logs,
        tree,
        health,
        host);
  }

  /** Makes a service registry that knows only the host's whiteboard. */
  private BundleContext registry() {
    return fake(
        BundleContext.class,
        (method, arguments) -> {
          Dictionary<?, ?> properties = (Dictionary<?, ?>) arguments[2];
          RpcRegistration registration =
              host.serve(
                  properties.get(RpcHost.LISTENER).toString(), (BindableService) arguments[1]);
          served.add(registration);
          return fake(
              ServiceRegistration.class,
              (unregister, none) -> {
                served.remove(registration);
                registration.close();
                return null;
              });
        });
  }

  private DebugConfig config(boolean enabled) {
    return new DebugConfig() {
      @Override
      public boolean enabled() {
        return enabled;
      }

      @Override
      public int readers() {
        return 64;
      }

      @Override
      public boolean kubeconfig() {
        return kubeconfig;
      }

      @Override
      public boolean images() {
        return images;
      }

      @Override
      public boolean shell() {
        return false;
      }

      @Override
      public String shell_folder() {
        return "";
      }

      @Override
      public Class<? extends Annotation> annotationType() {
        return DebugConfig.class;
      }
    };
  }

  private interface Answer {
    Object to(String method, Object[] arguments);
  }

  private static <T> T fake(Class<T> contract, Answer answer) {
    return contract.cast(
        Proxy.newProxyInstance(
            DebugTest.class.getClassLoader(),
            new Class<?>[] {contract},
            (self, method, arguments) -> answer.to(method.getName(), arguments)));
  }

  private boolean holds(String condition) {
    return DebugGrpc.newBlockingStub(channel)
        .getCondition(GetConditionRequest.newBuilder().setName(condition).build())
        .getOk();
  }

  private List<String> lines(int tail, String... path) {
    return DebugGrpc.newBlockingStub(channel)
        .getComponentLogs(
            GetComponentLogsRequest.newBuilder()
                .addAllComponentPath(List.of(path))
                .setTailLines(tail)
                .build())
        .getLinesList();
  }

  private static Status statusOf(Runnable call) {
    try {
      call.run();
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    }
  }

  private static void assertRefused(Status.Code code, String words, Runnable call) {
    Status status = statusOf(call);
    assertEquals(code, status.getCode(), status.toString());
    assertTrue(status.getDescription().contains(words), status.toString());
  }

  @Test
  @DisplayName(
      "SEED-13 a condition holds only while its organ reports it, and not while the organ is absent")
  void seed13_conditions() {
    MutableValue<NetworkStatus> network = new MutableValue<>(new NetworkStatus.Waiting("a cable"));
    MutableValue<DataStatus> data = new MutableValue<>(new DataStatus.NotMounted("a key"));
    MutableValue<ConsensusStatus> consensus = new MutableValue<>(new ConsensusStatus.Stopped());
    MutableValue<CuratorStatus> curator = new MutableValue<>(new CuratorStatus.Idle());
    MutableValue<ClusterStatus> cluster = new MutableValue<>();
    List<String> all =
        List.of("IPAssigned", "DataAvailable", "ConsensusRunning", "CuratorLeading", "ClusterHome");
    assertAll(all.stream().map(name -> () -> assertFalse(holds(name), name + " without organ")));

    organ.network = fake(Network.class, (method, none) -> network);
    organ.storage = fake(Storage.class, (method, none) -> data);
    organ.consensus = fake(Consensus.class, (method, none) -> consensus);
    organ.curator = fake(Curator.class, (method, none) -> curator);
    organ.cluster = fake(ClusterManager.class, (method, none) -> cluster);
    assertAll(all.stream().map(name -> () -> assertFalse(holds(name), name + " too early")));

    network.set(new NetworkStatus.Up(InetAddress.getLoopbackAddress()));
    data.set(new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory"));
    consensus.set(new ConsensusStatus.Running("n", "1", "2", List.of(), List.of()));
    curator.set(new CuratorStatus.Leading(7));
    cluster.set(fake(ClusterStatus.class, (method, none) -> ClusterState.HOME));
    assertAll(all.stream().map(name -> () -> assertTrue(holds(name), name)));

    network.set(new NetworkStatus.Waiting("the cable again"));
    curator.set(new CuratorStatus.Campaigning("an election"));
    cluster.set(fake(ClusterStatus.class, (method, none) -> ClusterState.SPLIT));
    assertFalse(holds("IPAssigned"));
    assertFalse(holds("CuratorLeading"));
    assertFalse(holds("ClusterHome"));

    network.set(new NetworkStatus.Up(InetAddress.getLoopbackAddress()));
    organ.network = null;
    assertFalse(holds("IPAssigned"));
  }

  @Test
  @DisplayName("SEED-13 an unknown condition is NOT_FOUND and names the existing ones")
  void seed13_unknownCondition() {
    assertRefused(Status.Code.NOT_FOUND, "IPAssigned", () -> holds("Happy"));
    assertRefused(Status.Code.NOT_FOUND, "\"\"", () -> holds(""));
  }

  @Test
  @DisplayName("all conditions are listed with their values, sorted by name")
  void conditionsAreListed() {
    organ.network =
        fake(
            Network.class,
            (method, none) ->
                new MutableValue<NetworkStatus>(
                    new NetworkStatus.Up(InetAddress.getLoopbackAddress())));

    List<String> listed =
        DebugGrpc.newBlockingStub(channel)
            .listConditions(ListConditionsRequest.getDefaultInstance())
            .getConditionsList()
            .stream()
            .map(condition -> condition.getName() + "=" + condition.getOk())
            .toList();

    assertEquals(
        List.of(
            "ClusterHome=false",
            "ConsensusRunning=false",
            "CuratorLeading=false",
            "DataAvailable=false",
            "IPAssigned=true"),
        listed);
  }

  @Test
  @DisplayName("health and its explanation are served to callers without credentials")
  void healthIsServed() throws Exception {
    health.organ("storage", "").set(HealthCondition.down("no-disk", "the disk is gone", "buy one"));
    DebugGrpc.DebugBlockingStub stub = DebugGrpc.newBlockingStub(channel);
    Await.until(
        "the debug organ to be UP",
        () ->
            level(stub.getHealth(GetHealthRequest.getDefaultInstance()), "debug")
                == Level.LEVEL_UP);

    assertEquals(
        Level.LEVEL_DOWN, level(stub.getHealth(GetHealthRequest.getDefaultInstance()), "storage"));
    ExplainResponse explained =
        stub.explain(ExplainRequest.newBuilder().setName("Storage").build());
    assertEquals(Kind.KIND_ORGAN, explained.getKind());
    assertEquals(List.of("storage: the disk is gone"), explained.getCausesList());
    assertEquals(List.of("buy one"), explained.getRemediesList());
    assertRefused(
        Status.Code.NOT_FOUND,
        "debug, storage",
        () -> stub.explain(ExplainRequest.newBuilder().setName("nonsense").build()));
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "name is empty",
        () -> stub.explain(ExplainRequest.getDefaultInstance()));
  }

  private static Level level(GetHealthResponse response, String organ) {
    return response.getStatusesList().stream()
        .filter(status -> status.getName().equals(organ))
        .map(dev.polis.wire.health.Status::getLevel)
        .findFirst()
        .orElse(Level.LEVEL_UNKNOWN);
  }

  @Test
  @DisplayName("SEED-13 component logs: the argument cases")
  void seed13_arguments() {
    logs.raw("root.containers.containerd").line("starting");
    logs.raw("root.containers.containerd.runsc").line("sandboxed");
    logs.raw("root.kubernetes.apiserver").line("serving");

    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "component_path has no parts; give at least one",
        () -> lines(0));
    logs.raw("root.roles.plugins.kubernetes-controller.run.kube-scheduler").line("binding");
    logs.raw("root.roles.plugins.kubernetes-worker.run.kubelet.probe").line("probing");
    logs.raw("root.roles.plugins.kubernetes-worker.run.coredns").line("resolving");
    assertTrue(lines(0, "kube", "scheduler").getFirst().endsWith("R binding"));
    assertTrue(lines(0, "kube", "kubelet").getFirst().endsWith("R probing"));
    assertTrue(lines(0, "kube", "kubelet", "probe").getFirst().endsWith("R probing"));
    assertTrue(lines(0, "kube", "dns").getFirst().endsWith("R resolving"));
    assertEquals(2, lines(0, "containerd").size());
    assertTrue(lines(0, "containerd", "runsc").getFirst().endsWith("R sandboxed"));
    assertTrue(lines(0, "kube", "apiserver").getFirst().endsWith("R serving"));
    assertRefused(Status.Code.NOT_FOUND, "name one", () -> lines(0, "kube"));
    assertRefused(Status.Code.NOT_FOUND, "kube/nothing", () -> lines(0, "kube", "nothing"));
    assertRefused(
        Status.Code.NOT_FOUND, "containerd/nothing", () -> lines(0, "containerd", "nothing"));
    assertRefused(Status.Code.NOT_FOUND, "nowhere", () -> lines(0, "nowhere"));
    assertRefused(Status.Code.INVALID_ARGUMENT, "\"a.b\"", () -> lines(0, "a.b"));
    assertRefused(Status.Code.INVALID_ARGUMENT, "\"\"", () -> lines(0, "kube", ""));
  }

  @Test
  @DisplayName("organs and parts of the platform are components too, and an error names them")
  void organsAreComponents() {
    logs.log("root.consensus.etcd").info("ready");

    assertTrue(lines(0, "consensus").getFirst().endsWith("] ready"));
    assertTrue(lines(0, "consensus", "etcd").getFirst().contains("DebugTest.java:"));
    assertFalse(lines(0, "rpc").isEmpty());
    assertRefused(Status.Code.NOT_FOUND, "consensus, debug, rpc", () -> lines(0, "kubernetes"));
  }

  @Test
  @DisplayName(
      "SEED-13 0 lines means all lines; n means the newest n, also within entries of several lines")
  void seed13_tail() {
    logs.log("root.part").info("one");
    logs.log("root.part").info("two\nthree");

    assertEquals(List.of("one", "two", "three"), ends(lines(0, "part")));
    assertEquals(List.of("three"), ends(lines(1, "part")));
    assertEquals(List.of("two", "three"), ends(lines(2, "part")));
    assertEquals(List.of("one", "two", "three"), ends(lines(-1, "part")));
  }

  private static List<String> ends(List<String> lines) {
    return lines.stream().map(line -> line.substring(line.lastIndexOf(' ') + 1)).toList();
  }

  @Test
  @DisplayName("SEED-13 a line that was cut ends with the truncation marker, others do not")
  void seed13_truncation() {
    logs.raw("root.part").line("x".repeat(1025));
    logs.raw("root.part").line("y".repeat(1024));

    List<String> lines = lines(0, "part");

    assertTrue(lines.get(0).endsWith("x".repeat(1024) + "..."));
    assertTrue(lines.get(1).endsWith("y".repeat(1024)));
  }

  @Test
  @DisplayName("an answer stays within a client's limit and keeps the newest lines")
  void answersAreBounded() {
    for (int i = 0; i < 8000; i++) {
      logs.raw("root.part").line(i + " " + "x".repeat(1000));
    }

    List<String> lines = lines(0, "part");

    int bytes = lines.stream().mapToInt(String::length).sum();
    assertTrue(bytes <= DebugLogs.MAX_BYTES && lines.size() > 100, "got " + lines.size());
    assertTrue(lines.getLast().contains("R 7999 "), lines.getLast());
  }

  @Test
  @DisplayName(
      "Logs answers callers without credentials as the management answers callers with them")
  void logsOfTheNode() {
    logs.log("root.storage").error("the disk does not open");
    LogsRequest.Builder request =
        LogsRequest.newBuilder()
            .setDn("root.storage")
            .setBacklogMode(LogsRequest.BacklogMode.BACKLOG_MODE_ALL)
            .setStreamMode(LogsRequest.StreamMode.STREAM_MODE_DISABLE);

    LogsResponse chunk = NodeDebugServiceGrpc.newBlockingStub(channel).logs(request.build()).next();

    assertEquals("the disk does not open", chunk.getBacklogEntries(0).getLeveled().getLines(0));
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "stream_mode is 5",
        () ->
            NodeDebugServiceGrpc.newBlockingStub(channel)
                .logs(request.setStreamModeValue(5).build())
                .next());
  }

  @Test
  @DisplayName("an absent component is refused with the reason")
  void refusals() throws Exception {
    NodeDebugServiceGrpc.NodeDebugServiceBlockingStub stub =
        NodeDebugServiceGrpc.newBlockingStub(channel);

    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "id is empty",
        () -> stub.getDebugKubeconfig(GetDebugKubeconfigRequest.getDefaultInstance()));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "dev.polis.debug.kubeconfig=true",
        () -> kubeconfig("developer"));
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "kernel",
        () -> stub.trace(TraceRequest.getDefaultInstance()).next());
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "organ 'containers'",
        () ->
            DebugGrpc.newBlockingStub(channel).listImages(ListImagesRequest.getDefaultInstance()));
  }

  private String kubeconfig(String user, String... groups) {
    return NodeDebugServiceGrpc.newBlockingStub(channel)
        .getDebugKubeconfig(
            GetDebugKubeconfigRequest.newBuilder()
                .setId(user)
                .addAllGroups(List.of(groups))
                .build())
        .getDebugKubeconfig();
  }

  @Test
  @DisplayName(
      "credentials of Kubernetes are issued where the setting is on, for any user and groups")
  void kubeconfigs() {
    organ.deactivate();
    kubeconfig = true;
    organ = organ(true);
    assertRefused(Status.Code.NOT_FOUND, "no Kubernetes", () -> kubeconfig("developer"));
    organ.kubernetes = (user, groups) -> user + " of " + groups;
    assertEquals("developer of [a, b]", kubeconfig("developer", "a", "b"));
    organ.kubernetes =
        (user, groups) -> {
          throw new TimeoutException("the API server is not ready");
        };
    assertRefused(Status.Code.UNAVAILABLE, "not ready", () -> kubeconfig("developer"));
  }

  private void allowImages() {
    organ.deactivate();
    images = true;
    organ = organ(true);
  }

  private Status loadImage(byte[]... archive) throws Exception {
    End<LoadImageResponse> end = new End<>();
    StreamObserver<LoadImageRequest> parts = NodeDebugServiceGrpc.newStub(channel).loadImage(end);
    for (byte[] part : archive) {
      parts.onNext(LoadImageRequest.newBuilder().setDataPart(ByteString.copyFrom(part)).build());
    }
    parts.onCompleted();
    return end.status.get(10, TimeUnit.SECONDS);
  }

  /** Sends an archive to the management listener with the caller's identity. */
  private End<LoadResponse> load(RpcClients caller, byte[]... archive) throws Exception {
    End<LoadResponse> end = new End<>();
    ManagedChannel management = caller.dial(host.address(RpcHost.MANAGEMENT));
    try {
      StreamObserver<LoadRequest> parts = NodeImagesGrpc.newStub(management).load(end);
      for (byte[] part : archive) {
        parts.onNext(LoadRequest.newBuilder().setDataPart(ByteString.copyFrom(part)).build());
      }
      parts.onCompleted();
      end.status.get(10, TimeUnit.SECONDS);
      return end;
    } finally {
      management.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
  }

  private RpcClients owner() {
    KeyPair key = Ed25519.generate();
    return RpcClients.authenticated(
        TlsIdentity.of(key.getPrivate(), ca.issueUser("owner", key.getPublic())),
        RpcTrust.cluster(ca.certificate()));
  }

  /** Takes the answers and the end of a call. */
  private static final class End<A> implements StreamObserver<A> {
    final List<A> answers = new CopyOnWriteArrayList<>();
    final CompletableFuture<Status> status = new CompletableFuture<>();

    @Override
    public void onNext(A answer) {
      answers.add(answer);
    }

    @Override
    public void onError(Throwable failure) {
      status.complete(Status.fromThrowable(failure));
    }

    @Override
    public void onCompleted() {
      status.complete(Status.OK);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a stranger cannot put an image into the node, through any port")
  void strangersLoadNoImages() throws Exception {
    AtomicLong loaded = new AtomicLong();
    organ.containers = store(loaded);

    Status plain = loadImage(new byte[1000]);
    assertEquals(Status.Code.FAILED_PRECONDITION, plain.getCode());
    assertTrue(plain.getDescription().contains("dev.polis.debug.images=true"), plain.toString());
    RpcClients stranger =
        RpcClients.ephemeral(Ed25519.generate(), RpcTrust.cluster(ca.certificate()));
    assertEquals(
        Status.Code.UNAUTHENTICATED, load(stranger, new byte[1000]).status.get().getCode());

    assertEquals(0, loaded.get(), "bytes reached the image store");
  }

  @Test
  @DisplayName(
      "an owner's images are loaded and named, also while the debug services are switched off")
  void ownersLoadImages() throws Exception {
    AtomicLong loaded = new AtomicLong();
    for (boolean enabled : new boolean[] {true, false}) {
      organ.deactivate();
      organ = organ(enabled);
      organ.containers = store(loaded);

      End<LoadResponse> end = load(owner(), new byte[1_000_000], new byte[0], new byte[7]);

      assertEquals(Status.Code.OK, end.status.get().getCode(), end.status::toString);
      assertEquals(List.of("a:1"), end.answers.getFirst().getNamesList());
      assertEquals(1_000_007, loaded.get());
    }
  }

  /** An image store that takes each archive for the image a:1. */
  private static Containers store(AtomicLong size) {
    return fake(
        Containers.class,
        (method, arguments) -> {
          if (method.equals("images")) {
            return List.of("k8s.local/pause:1");
          }
          if (method.equals("status")) {
            return running();
          }
          try {
            size.set(((InputStream) arguments[0]).readAllBytes().length);
            return List.of("a:1");
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  private static MutableValue<ContainersStatus> running() {
    InetAddress here = InetAddress.getLoopbackAddress();
    SandboxRequest request =
        new SandboxRequest(Isolation.MACHINE, "test", here, here, Path.of("/net.d"));
    return new MutableValue<>(
        new ContainersStatus.Running(
            new Sandbox(request, List.of(), "", Path.of("/polis-test"), "/usr/bin"),
            Path.of("/run/containerd.sock"),
            "containerd of a test"));
  }

  @Test
  @DisplayName("an image archive reaches the container runtime whole, in parts of any size")
  void imagesAreLoaded() throws Exception {
    allowImages();
    AtomicLong size = new AtomicLong();
    organ.containers = store(size);
    assertEquals(
        Status.Code.OK, loadImage(new byte[1_000_000], new byte[0], new byte[7]).getCode());
    assertEquals(1_000_007, size.get());
    assertEquals(
        List.of("k8s.local/pause:1"),
        DebugGrpc.newBlockingStub(channel)
            .listImages(ListImagesRequest.getDefaultInstance())
            .getNamesList());
  }

  @Test
  @DisplayName(
      "a refusal by the container runtime keeps the runtime's text, and ends the call before the rest arrives")
  void imagesAreRefused() throws Exception {
    allowImages();
    organ.containers =
        fake(
            Containers.class,
            (method, arguments) -> {
              if (method.equals("status")) {
                return running();
              }
              throw new ContainersException("the archive has no index.json");
            });
    Status refused = loadImage(new byte[1000], new byte[1000], new byte[1000]);
    assertEquals(Status.Code.FAILED_PRECONDITION, refused.getCode());
    assertTrue(refused.getDescription().contains("no index.json"), refused.toString());
  }

  @Test
  @DisplayName("the organ warns once, at its start, that it does not authenticate callers")
  void warnsOnce() {
    holds("IPAssigned");
    holds("IPAssigned");

    try (LogReader reader = logs.read(LogQuery.of("root.debug").backlogAll())) {
      List<LogEntry> entries = reader.backlog();
      assertEquals(1, entries.size());
      LogPayload.Leveled warning = (LogPayload.Leveled) entries.getFirst().payload();
      assertEquals(Severity.WARNING, warning.severity());
      assertTrue(warning.message().contains("UNAUTHENTICATED"), warning.message());
    }
  }

  @Test
  @DisplayName("a switched-off organ serves nothing")
  void switchedOff() throws Exception {
    organ.deactivate();
    assertEquals(List.of(), served);

    organ = organ(false);

    assertEquals(1, served.size(), "only the service that takes images from permitted callers");
    Await.until(
        "health says that they are switched off",
        () -> health.all().peek().orElseThrow().getFirst().code().equals("switched-off"));
  }
}
