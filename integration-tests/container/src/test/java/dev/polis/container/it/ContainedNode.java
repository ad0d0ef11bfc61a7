package dev.polis.container.it;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.RoleName;
import dev.polis.base.boot.BootReport;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.LiveTree;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsIdentity;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;

/** Runs a node with its organs in the tests' own framework. */
final class ContainedNode {

  /** The organs in the order of their dependencies. */
  static final List<String> ORGANS =
      List.of("storage", "network", "consensus", "curator", "cluster", "roles");

  /** The port of every node's curator. */
  private static final int CURATOR_PORT = 7835;

  /** An address of its own, for the ports that every node has. */
  private static final String ADDRESS = "127.0.26.2";

  private final TestBoot boot = new TestBoot();
  private final KeyPair owner = Ed25519.generate();
  private final Path state = Path.of(System.getProperty("polis.scratch"), "node");
  private final Map<String, Set<String>> services = new HashMap<>();

  /** Creates a cluster of one node on an empty disk, and waits until the node is HOME. */
  void create() throws Exception {
    configure();
    Bundles.context().registerService(BootReport.class, boot, new Hashtable<>());
    Bundles.start(Bundles.platform());
    clear();
    Files.createDirectories(state);
    Files.write(parameters(), bootstrap().toByteArray());
    for (String organ : ORGANS) {
      bundle(organ).start();
    }
    Await.until(Bundles.PATIENCE, "the organs to report home", boot::isHome);
    Await.until(
        Bundles.PATIENCE, "roles of the node", () -> Bundles.offered(LocalRoleServer.class));
    for (String organ : ORGANS) {
      services.put(organ, Bundles.services(bundle(organ)));
    }
    awaitHome("after the first start");
  }

  private Path parameters() {
    return state.resolve("parameters.pb");
  }

  /** Returns the folder with all of the node's files. */
  Path folder() {
    return state;
  }

  /** Returns the folder of the plugin store. */
  Path plugins() {
    return state.resolve("root/plugins");
  }

  private Path records() {
    return state.resolve("root/ephemeral/processes");
  }

  /** Ends the processes that a killed run left behind, and removes its files. */
  private void clear() throws Exception {
    for (ProcessRecord record : processes()) {
      Bundles.ask(ProcessManager.class, manager -> stop(manager, record.name()));
    }
    if (Files.exists(state)) {
      for (Path file : LiveTree.bottomUp(state)) {
        // The manager of processes is running, and needs its folder until the end.
        if (!records().startsWith(file) && !file.startsWith(records())) {
          Files.delete(file);
        }
      }
    }
  }

  private static Void stop(ProcessManager manager, String name) {
    try {
      manager.stop(name);
      return null;
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted while " + name + " was stopped", e);
    }
  }

  private void configure() throws Exception {
    Bundles.configure("dev.polis.process", Map.of("records", records().toString()));
    Bundles.configure("dev.polis.rpc", Map.of("address", ADDRESS));
    Bundles.configure("dev.polis.plugins", Map.of("store", plugins().toString()));
    Bundles.configure(
        "dev.polis.storage",
        Map.of("root", state.resolve("root").toString(), "security", "INSECURE"));
    Bundles.configure("dev.polis.network", Map.of("address", ADDRESS));
    Bundles.configure("dev.polis.consensus", Map.of("etcd", EtcdBinary.folder().toString()));
    Bundles.configure(
        "dev.polis.cluster",
        Map.of(
            "parameters",
            parameters().toString(),
            "consensus.ready",
            Math.toIntExact(Bundles.PATIENCE.toSeconds())));
  }

  private NodeParameters bootstrap() {
    return NodeParameters.newBuilder()
        .setClusterBootstrap(
            ClusterBootstrap.newBuilder()
                .setOwnerPublicKey(ByteString.copyFrom(Ed25519.raw(owner.getPublic())))
                .setInitialClusterConfiguration(
                    ClusterConfiguration.newBuilder()
                        .setClusterDomain("cluster.internal")
                        .setTpmMode(TPMMode.TPM_MODE_DISABLED)
                        .setStorageSecurityPolicy(
                            StorageSecurityPolicy.STORAGE_SECURITY_POLICY_PERMISSIVE)))
        .build();
  }

  /** Returns the folder of the data volume. */
  Path data() {
    return state.resolve("root/data");
  }

  /** Adds a role to this node, or removes it, as its owner does. */
  void changeRole(RoleName role, boolean wanted) throws Exception {
    try (OwnerSession session = session()) {
      session.changeRole(role, wanted);
    }
  }

  /** Connects to the curator as the owner. */
  OwnerSession session() throws Exception {
    return session(CURATOR_PORT);
  }

  /** Connects to a listener of the node as the owner. */
  OwnerSession session(int port) throws Exception {
    X509Certificate ca =
        Pem.certificate(Files.readString(data().resolve("node/credentials/ca.pem")));
    InetSocketAddress curator = new InetSocketAddress(ADDRESS, CURATOR_PORT);
    ManagedChannel stranger = RpcClients.ephemeral(owner, RpcTrust.cluster(ca)).dial(curator);
    try {
      TlsIdentity identity = TlsIdentity.of(owner.getPrivate(), ownership(stranger));
      return new OwnerSession(
          RpcClients.authenticated(identity, RpcTrust.cluster(ca))
              .dial(new InetSocketAddress(ADDRESS, port)),
          nodeId());
    } finally {
      stranger.shutdownNow();
    }
  }

  private X509Certificate ownership(ManagedChannel stranger) throws Exception {
    var call =
        AAAGrpc.newBlockingV2Stub(stranger)
            .withWaitForReady()
            .withDeadlineAfter(Bundles.PATIENCE.toSeconds(), TimeUnit.SECONDS)
            .escrow();
    call.write(
        EscrowRequest.newBuilder()
            .setParameters(
                EscrowRequest.Parameters.newBuilder()
                    .setRequestedIdentityName("owner")
                    .setPublicKey(ByteString.copyFrom(Ed25519.raw(owner.getPublic()))))
            .build());
    EscrowResponse answer = call.read();
    while (answer != null && answer.getEmittedCertificate().isEmpty()) {
      answer = call.read();
    }
    if (answer == null) {
      throw new AssertionError("the cluster ended the call without a certificate");
    }
    return Pem.certificate(answer.getEmittedCertificate().toByteArray());
  }

  private static String nodeId() throws Exception {
    return Bundles.ask(
        ClusterManager.class,
        cluster -> cluster.status().peek().orElseThrow().credentials().orElseThrow().id().text());
  }

  static Bundle bundle(String organ) {
    return Bundles.named("dev.polis." + organ);
  }

  /** Returns the services that an organ offered when the node was first HOME. */
  Set<String> services(String organ) {
    return services.get(organ);
  }

  /**
   * Waits until all organs offer the same services as before, are in the tree, and the node is
   * HOME.
   */
  void awaitHome(String when) throws Exception {
    for (String organ : ORGANS) {
      Await.until(
          Bundles.PATIENCE,
          "%s to offer %s again %s".formatted(organ, services(organ), when),
          () -> Bundles.services(bundle(organ)).equals(services(organ)));
      Await.until(
          Bundles.PATIENCE,
          "root.%s in the supervision tree %s".formatted(organ, when),
          () -> !supervised(organ).isEmpty());
    }
    Await.until(
        Bundles.PATIENCE,
        "the node to be HOME " + when,
        () -> boot.isHome() && state() == ClusterState.HOME);
  }

  private static ClusterState state() throws Exception {
    return Bundles.ask(
        ClusterManager.class,
        cluster -> cluster.status().peek().map(ClusterStatus::state).orElse(ClusterState.UNKNOWN));
  }

  /** Returns the runnables in the trees of an organ's instances, sorted. */
  static Set<String> supervised(String organ) throws Exception {
    // A second instance has a number: root.storage~2.
    Pattern tree = Pattern.compile(Pattern.quote("root." + organ) + "(~[0-9]+)?([.].*)?");
    return Bundles.ask(
        Supervisor.class,
        supervisor ->
            supervisor.runnables().peek().orElseThrow().stream()
                .map(RunnableStatus::dn)
                .filter(dn -> tree.matcher(dn).matches())
                .collect(Collectors.toCollection(TreeSet::new)));
  }

  /** Returns the process ids of the node's children. */
  static List<Long> children() throws Exception {
    return processes().stream().map(ProcessRecord::pid).toList();
  }

  private static List<ProcessRecord> processes() throws Exception {
    return Bundles.ask(ProcessManager.class, ProcessManager::records);
  }

  /** Stops the organs as for a power off, and removes their files. */
  void powerOff() throws Exception {
    boot.goDown();
    for (String organ : ORGANS.reversed()) {
      bundle(organ).stop();
    }
    clear();
  }
}
