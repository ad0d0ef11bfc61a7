package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcListenerStatus;
import dev.polis.supervision.RunState;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.GetDebugKubeconfigResponse;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.slf4j.LoggerFactory;

/** Runs the platform without organs. */
@ContainerTest
public class PlatformContainerTest {

  /** An address of its own, for the ports that every node has. */
  private static final String ADDRESS = "127.0.26.1";

  private static final int DEBUG_PORT = 7837;

  /** Starts the platform, configured as the launcher would. */
  @BeforeAll
  public static void startPlatform() throws Exception {
    String records = Path.of(System.getProperty("polis.scratch"), "processes").toString();
    Bundles.configure("dev.polis.process", Map.of("records", records));
    String plugins = Path.of(System.getProperty("polis.scratch"), "plugins").toString();
    Bundles.configure("dev.polis.plugins", Map.of("store", plugins));
    Bundles.configure(
        "dev.polis.rpc", Map.of("address", ADDRESS, "hold.ms", Bundles.PATIENCE.toMillis()));
    // The launcher registers its own services before the first bundle starts.
    Bundles.context().registerService(BootReport.class, new TestBoot(), new Hashtable<>());
    Bundles.start(Bundles.platform());
  }

  @Test
  @DisplayName("every bundle of the platform is active, and no component waits")
  public void everyBundleIsActive() throws Exception {
    List<String> idle =
        Bundles.platform().stream()
            .filter(bundle -> bundle.getState() != Bundle.ACTIVE)
            .map(Bundle::toString)
            .toList();
    assertEquals(List.of(), idle);
    // There are some forty; an empty folder would pass the next check, too.
    assertTrue(Bundles.platform().size() > 30, "few bundles: " + Bundles.platform());
    Set<String> composed = Bundles.withComponents();
    for (String name : List.of("logtree", "supervision", "process", "rpc", "plugins")) {
      assertTrue(composed.contains("dev.polis." + name), () -> name + " is not in " + composed);
    }
    assertEquals(List.of(), Bundles.waiting());
  }

  @Test
  @DisplayName("the services that organs need are published, each by its own bundle")
  public void servicesArePublished() throws Exception {
    assertEquals("org.apache.felix.scr", Bundles.provider(ServiceComponentRuntime.class));
    assertEquals("org.apache.felix.configadmin", Bundles.provider(ConfigurationAdmin.class));
    assertEquals("dev.polis.logtree", Bundles.provider(LogTree.class));
    assertEquals("dev.polis.supervision", Bundles.provider(Supervisor.class));
    assertEquals("dev.polis.process", Bundles.provider(ProcessManager.class));
    assertEquals("dev.polis.rpc", Bundles.provider(RpcHost.class));
  }

  @Test
  @DisplayName(
      "an entry that a bundle logs by java.util.logging arrives under the name of its organ")
  public void julArrives() throws Exception {
    Logger.getLogger("dev.polis.container.Jul").warning("said by JUL");
    awaitEntry("root.container", Severity.WARNING, "said by JUL");
    Logger.getLogger("org.example.library").severe("a library's words");
    awaitEntry("jvm.org.example.library", Severity.ERROR, "a library's words");
  }

  @Test
  @DisplayName("an entry that a bundle logs by SLF4J arrives under the name of its organ")
  public void slf4jArrives() throws Exception {
    assertEquals(
        "dev.polis.libs.slf4j",
        org.osgi.framework.FrameworkUtil.getBundle(LoggerFactory.class).getSymbolicName());
    LoggerFactory.getLogger("dev.polis.container.Slf4j").error("said by {}", "SLF4J");
    awaitEntry("root.container", Severity.ERROR, "said by SLF4J");
  }

  private static void awaitEntry(String dn, Severity severity, String text) throws Exception {
    Await.until(
        Bundles.PATIENCE,
        severity + " entry \"" + text + "\" of " + dn,
        () -> Bundles.ask(LogTree.class, tree -> holds(tree, dn, severity, text)));
  }

  private static boolean holds(LogTree tree, String dn, Severity severity, String text) {
    try (LogReader reader = tree.read(LogQuery.of(dn).backlogAll())) {
      return reader.backlog().stream()
          .map(LogEntry::payload)
          .anyMatch(
              payload ->
                  payload instanceof LogPayload.Leveled leveled
                      && leveled.severity() == severity
                      && leveled.message().equals(text));
    }
  }

  @Test
  @DisplayName("a supervised runnable appears in the tree, and leaves with its subtree")
  public void supervisionRuns() throws Exception {
    Supervisor supervisor = Bundles.ask(Supervisor.class, found -> found);
    Subtree subtree = supervisor.organ("container");
    try {
      subtree.run(
          "worker",
          context -> {
            context.healthy();
            context.awaitCancelled();
          });
      Await.until(
          Bundles.PATIENCE,
          "root.container.worker to be healthy",
          () -> state(supervisor, "root.container.worker").equals(List.of(RunState.HEALTHY)));
    } finally {
      subtree.close(StopReason.CODE_REPLACED);
    }
    assertEquals(List.of(), state(supervisor, "root.container"));
    assertEquals(List.of(), state(supervisor, "root.container.worker"));
  }

  private static List<RunState> state(Supervisor supervisor, String dn) {
    return supervisor.runnables().peek().orElseThrow().stream()
        .filter(status -> status.dn().equals(dn))
        .map(status -> status.state())
        .toList();
  }

  @Test
  @DisplayName(
      "a call without a certificate is not held while its service is absent, and the successor answers the next call")
  public void aStrangersCallIsNotHeld() throws Exception {
    RpcHost host = Bundles.ask(RpcHost.class, found -> found);
    ServiceRegistration<BindableService> first = serve("the first");
    ManagedChannel channel =
        RpcClients.plaintext(new InetSocketAddress(InetAddress.ofLiteral(ADDRESS), DEBUG_PORT));
    try {
      Await.until(Bundles.PATIENCE, "the debug listener to open", () -> debug(host).open());
      assertEquals("the first", ask(channel).get(seconds(), TimeUnit.SECONDS).getDebugKubeconfig());
      first.unregister();
      assertEquals(List.of(NodeDebugServiceGrpc.SERVICE_NAME), debug(host).away());
      ExecutionException refused =
          assertThrows(
              ExecutionException.class, () -> ask(channel).get(seconds(), TimeUnit.SECONDS));
      assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(refused).getCode());
      ServiceRegistration<BindableService> second = serve("the second");
      assertEquals(
          "the second", ask(channel).get(seconds(), TimeUnit.SECONDS).getDebugKubeconfig());
      second.unregister();
    } finally {
      channel.shutdownNow();
      channel.awaitTermination(seconds(), TimeUnit.SECONDS);
    }
    assertEquals(0, host.statistics().heldNow());
  }

  private static long seconds() {
    return Bundles.PATIENCE.toSeconds();
  }

  private static RpcListenerStatus debug(RpcHost host) {
    return host.listeners().peek().orElseThrow().stream()
        .filter(listener -> listener.name().equals(RpcHost.DEBUG))
        .findFirst()
        .orElseThrow();
  }

  private static Future<GetDebugKubeconfigResponse> ask(ManagedChannel channel) {
    return NodeDebugServiceGrpc.newFutureStub(channel)
        .getDebugKubeconfig(GetDebugKubeconfigRequest.getDefaultInstance());
  }

  private static ServiceRegistration<BindableService> serve(String words) {
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(RpcHost.LISTENER, RpcHost.DEBUG);
    return Bundles.context().registerService(BindableService.class, new Words(words), properties);
  }

  /** Answers with its own text. */
  private static final class Words extends NodeDebugServiceGrpc.NodeDebugServiceImplBase {
    private final String words;

    Words(String words) {
      this.words = words;
    }

    @Override
    public void getDebugKubeconfig(
        GetDebugKubeconfigRequest request, StreamObserver<GetDebugKubeconfigResponse> caller) {
      caller.onNext(GetDebugKubeconfigResponse.newBuilder().setDebugKubeconfig(words).build());
      caller.onCompleted();
    }
  }
}
