package dev.polis.ctl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.node.ExplainCommand;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.PrintableWriter;
import dev.polis.ctl.session.Session;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.ThreadDump;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.OwnerKey;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcStatistics;
import dev.polis.wire.api.DecommissionNodeRequest;
import dev.polis.wire.api.DecommissionNodeResponse;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.GetRegisterTicketResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.api.UpdateNodeRolesResponse;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.EtcdGrpc;
import dev.polis.wire.cluster.GetPluginSetRequest;
import dev.polis.wire.cluster.GetPluginSetResponse;
import dev.polis.wire.cluster.IssuedCertificate;
import dev.polis.wire.cluster.ListCertificatesRequest;
import dev.polis.wire.cluster.ListCertificatesResponse;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.MembersResponse;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RevokeCertificatesResponse;
import dev.polis.wire.cluster.WantPluginRequest;
import dev.polis.wire.cluster.WantPluginResponse;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetConditionRequest;
import dev.polis.wire.debug.GetConditionResponse;
import dev.polis.wire.debug.ListConditionsRequest;
import dev.polis.wire.debug.ListConditionsResponse;
import dev.polis.wire.debug.NamedCondition;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.health.Kind;
import dev.polis.wire.health.Level;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import dev.polis.wire.plugins.GraphBundle;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.recovery.GetShareRequest;
import dev.polis.wire.recovery.GetShareResponse;
import dev.polis.wire.recovery.RecoveryGrpc;
import dev.polis.wire.roles.RoleChange;
import dev.polis.wire.runtime.GetRuntimeRequest;
import dev.polis.wire.runtime.GetRuntimeResponse;
import dev.polis.wire.runtime.RestartRequest;
import dev.polis.wire.runtime.RestartResponse;
import dev.polis.wire.runtime.RuntimeGrpc;
import dev.polis.wire.storage.RecoveryShare;
import dev.polis.wire.system.NodeSystemGrpc;
import dev.polis.wire.system.RebootSystemRequest;
import dev.polis.wire.system.RebootSystemResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls real listeners that give each class of answer, and checks the exit codes. */
class CtlSessionTest {

  /**
   * An address of this test's own, derived from its process id, since the ports of a node are
   * fixed.
   */
  private static final String ADDRESS =
      "127.77.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final String NOBODY = "127.78.1.1";
  private static final String RESTARTED = ADDRESS.replaceFirst("77", "81");

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");
  private static final NodeCredentials SELF = node();
  private static final String ID = SELF.id().text();
  private static final String OTHER = node().id().text();
  private static final AtomicReference<Node> NODE = new AtomicReference<>();

  /** The nodes of the cluster besides that one. */
  private static final AtomicReference<List<Node>> OTHERS = new AtomicReference<>(List.of());

  private static final AtomicReference<GetHealthResponse> ORGANS = new AtomicReference<>();

  /** The address of the leader that the node names. */
  private static final AtomicReference<String> LEADER = new AtomicReference<>(ADDRESS);

  /** The addresses whose curators name no leader. */
  private static final AtomicReference<Set<String>> UNSURE = new AtomicReference<>(Set.of());

  /** Runs when a curator refuses to list the nodes. */
  private static final AtomicReference<Runnable> ON_REFUSAL = new AtomicReference<>(() -> {});

  private static final AtomicBoolean SILENT = new AtomicBoolean();

  /** True while the debug service does not answer the question for health. */
  private static final AtomicBoolean DEBUG_SILENT = new AtomicBoolean();

  private static final CountDownLatch NOT_AWAITED = new CountDownLatch(0);

  /** Counted down when the node is asked for its health, before which the curator is silent. */
  private static final AtomicReference<CountDownLatch> HEALTH_ASKED = new AtomicReference<>();

  private static final AtomicReference<Status> REFUSAL = new AtomicReference<>(Status.OK);
  private static final AtomicReference<UpdateNodeRolesRequest> CHANGES = new AtomicReference<>();

  /** A command that polls once a second needs few of them. */
  private static final Duration SOON = Duration.ofSeconds(30);

  private static final List<DecommissionNodeRequest> DECOMMISSIONED = new CopyOnWriteArrayList<>();
  private static final AtomicReference<RevokeCertificatesRequest> REVOKED = new AtomicReference<>();
  private static final AtomicReference<WantPluginRequest> WANTED = new AtomicReference<>();
  private static LocalRpcHost host;

  @TempDir Path state;

  @BeforeAll
  static void listen() {
    host = host(ADDRESS);
    host.identify(SELF);
  }

  /** Creates a host that serves everything, and listens once it is identified. */
  private static LocalRpcHost host(String address) {
    LocalRpcHost created =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    listener(address, RpcHost.CURATOR, Session.CURATOR_PORT, true),
                    listener(address, RpcHost.MANAGEMENT, Session.MANAGEMENT_PORT, true),
                    listener(address, RpcHost.DEBUG, Session.DEBUG_PORT, false)),
                RpcSettings.Limits.DEFAULT),
            LogTree.create());
    created.serve(RpcHost.CURATOR, new Records(address));
    created.serve(RpcHost.CURATOR, new Ownership(CLUSTER, any -> true));
    created.serve(RpcHost.CURATOR, new Discovery(address));
    created.serve(RpcHost.CURATOR, new Certificates());
    created.serve(RpcHost.CURATOR, new Wishes());
    created.serve(RpcHost.MANAGEMENT, new Voters());
    created.serve(RpcHost.MANAGEMENT, new Shares());
    created.serve(RpcHost.MANAGEMENT, new Organs());
    created.serve(RpcHost.MANAGEMENT, new Bundles());
    Restarts restarts = new Restarts();
    created.serve(RpcHost.MANAGEMENT, restarts);
    created.serve(RpcHost.MANAGEMENT, new Machine(restarts));
    created.serve(RpcHost.DEBUG, new Conditions());
    return created;
  }

  private static NodeCredentials node() {
    KeyPair pair = Ed25519.generate();
    return new NodeCredentials(
        pair.getPrivate(), CLUSTER.issueNode(pair.getPublic()), CLUSTER.certificate());
  }

  private static RpcSettings.Listener listener(String address, String name, int port, boolean tls) {
    return new RpcSettings.Listener(name, new InetSocketAddress(address, port), tls);
  }

  @AfterAll
  static void close() {
    host.close();
  }

  @BeforeEach
  void owner() throws Exception {
    REFUSAL.set(Status.OK);
    SILENT.set(false);
    DEBUG_SILENT.set(false);
    OTHERS.set(List.of());
    LEADER.set(ADDRESS);
    UNSURE.set(Set.of());
    ON_REFUSAL.set(() -> {});
    HEALTH_ASKED.set(NOT_AWAITED);
    NODE.set(
        Node.newBuilder()
            .setId(ID)
            .setState(NodeState.NODE_STATE_UP)
            .setHealth(Node.Health.HEALTH_HEALTHY)
            .setStatus(NodeStatus.newBuilder().setExternalAddress(ADDRESS))
            .build());
    ORGANS.set(GetHealthResponse.newBuilder().addStatuses(status(Level.LEVEL_UP)).build());
    own(CLUSTER);
  }

  private void own(CertificateAuthority cluster) throws Exception {
    KeyPair pair = Ed25519.generate();
    Path owner = Files.createDirectories(state.resolve("owner"));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"), Pem.encode(cluster.issueUser("owner", pair.getPublic())));
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(cluster.certificate()));
  }

  private static final class Records extends ManagementGrpc.ManagementImplBase {
    private final String address;

    Records(String address) {
      this.address = address;
    }

    /** Returns whether this is the leader of the node under test, which refuses nothing. */
    private boolean leadsTheOther() {
      return !address.equals(ADDRESS) && address.equals(LEADER.get());
    }

    @Override
    public void getClusterInfo(
        GetClusterInfoRequest request, StreamObserver<GetClusterInfoResponse> caller) {
      GetClusterInfoResponse.Builder info =
          GetClusterInfoResponse.newBuilder()
              .setCaCertificate(ByteString.copyFrom(Pem.der(CLUSTER.certificate())));
      info.getClusterDirectoryBuilder()
          .addNodesBuilder()
          .setId(ID)
          .addAddressesBuilder()
          .setHost(ADDRESS);
      caller.onNext(info.build());
      caller.onCompleted();
    }

    @Override
    public void getRegisterTicket(
        GetRegisterTicketRequest request, StreamObserver<GetRegisterTicketResponse> caller) {
      caller.onNext(
          GetRegisterTicketResponse.newBuilder()
              .setTicket(ByteString.copyFromUtf8("the ticket"))
              .build());
      caller.onCompleted();
    }

    @Override
    public void getNodes(GetNodesRequest request, StreamObserver<Node> caller) {
      if (SILENT.get()) {
        return;
      }
      if (!REFUSAL.get().isOk() && !leadsTheOther()) {
        ON_REFUSAL.get().run();
        caller.onError(REFUSAL.get().asRuntimeException());
        return;
      }
      try {
        HEALTH_ASKED.get().await();
      } catch (InterruptedException gone) {
        return;
      }
      caller.onNext(NODE.get());
      OTHERS.get().forEach(caller::onNext);
      caller.onCompleted();
    }

    @Override
    public void decommissionNode(
        DecommissionNodeRequest request, StreamObserver<DecommissionNodeResponse> caller) {
      DECOMMISSIONED.add(request);
      caller.onNext(DecommissionNodeResponse.getDefaultInstance());
      caller.onCompleted();
    }

    @Override
    public void updateNodeRoles(
        UpdateNodeRolesRequest request, StreamObserver<UpdateNodeRolesResponse> caller) {
      CHANGES.set(request);
      caller.onNext(UpdateNodeRolesResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  private static NodeStatus.Builder running(RoleName... roles) {
    return NodeStatus.newBuilder().setRunningRoles(RoleRecord.running(List.of(roles)));
  }

  @Test
  void paramsOfARegistrationHoldWhatTheClusterAnswers() throws Exception {
    Path file = state.resolve("register.pb");

    CtlRun run =
        run(
            ADDRESS,
            "params",
            "make",
            "--register",
            "--owner=" + state.resolve("owner"),
            "--label=zone=a",
            "--to=" + file);

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    var register = NodeParameters.parseFrom(Files.readAllBytes(file)).getClusterRegister();
    assertEquals("the ticket", register.getRegisterTicket().toStringUtf8());
    assertEquals(ADDRESS, register.getClusterDirectory().getNodes(0).getAddresses(0).getHost());
    assertEquals(ByteString.copyFrom(Pem.der(CLUSTER.certificate())), register.getCaCertificate());
    assertEquals("zone", register.getLabels().getPairs(0).getKey());
    assertEquals("the key of the cluster", register.getRecoveryPublicKey().toStringUtf8());
    assertFalse(Files.exists(state.resolve("owner/recovery-key.pem")), "a second key was made");
    assertTrue(run.err().contains("which opens the volume of " + ID), run.err());
  }

  /** Names the recovery key that opens the volume of the node. */
  private static final class Shares extends RecoveryGrpc.RecoveryImplBase {
    @Override
    public void getShare(GetShareRequest request, StreamObserver<GetShareResponse> caller) {
      caller.onNext(
          GetShareResponse.newBuilder()
              .setNodeId(ID)
              .setShare(
                  RecoveryShare.newBuilder()
                      .setRecoveryPublicKey(ByteString.copyFromUtf8("the key of the cluster")))
              .build());
      caller.onCompleted();
    }
  }

  /** Lists one certificate, and revokes it if it is forced to. */
  private static final class Certificates extends CertificatesGrpc.CertificatesImplBase {
    private static final IssuedCertificate ONE =
        IssuedCertificate.newBuilder()
            .setSerial("1f")
            .setKind(IssuedCertificate.Kind.KIND_NODE)
            .setHolder(ID)
            .setState(IssuedCertificate.State.STATE_PRESENT)
            .setNotBefore(Timestamp.newBuilder().setSeconds(1))
            .setNotAfter(Timestamp.newBuilder().setSeconds(2))
            .build();

    @Override
    public void listCertificates(
        ListCertificatesRequest request, StreamObserver<ListCertificatesResponse> caller) {
      caller.onNext(ListCertificatesResponse.newBuilder().addCertificates(ONE).build());
      caller.onCompleted();
    }

    @Override
    public void revokeCertificates(
        RevokeCertificatesRequest request, StreamObserver<RevokeCertificatesResponse> caller) {
      REVOKED.set(request);
      caller.onNext(
          RevokeCertificatesResponse.newBuilder()
              .addRevoked(ONE.toBuilder().setState(IssuedCertificate.State.STATE_REVOKED))
              .addConsequences("node %s leaves".formatted(ID))
              .build());
      caller.onCompleted();
    }
  }

  @Test
  @DisplayName(
      "certificates are listed as a table and as JSON, and revoked by serial, node or user")
  void certificates() {
    String table = run(ADDRESS, "cert", "list").out();
    assertTrue(table.contains("SERIAL") && table.contains("1970-01-01T00:00:02Z"), table);
    JsonObject one =
        JsonParser.parseString(run(ADDRESS, "cert", "list", "--output", "json").out())
            .getAsJsonArray()
            .get(0)
            .getAsJsonObject();
    assertEquals("1f", one.get("serial").getAsString());
    assertEquals("node", one.get("kind").getAsString());
    assertEquals(ID, one.get("holder").getAsString());
    assertEquals("PRESENT", one.get("state").getAsString());
    assertEquals("1970-01-01T00:00:01Z", one.get("notBefore").getAsString());

    CtlRun revoked = run(ADDRESS, "cert", "revoke", "--serial", "00:1F", "--force");
    assertEquals(ExitCode.OK.code(), revoked.code(), revoked.err());
    assertEquals("1f", REVOKED.get().getSerial());
    assertTrue(REVOKED.get().getForce());
    assertTrue(revoked.out().contains("REVOKED"), revoked.out());
    assertTrue(revoked.err().contains("warning: node " + ID + " leaves"), revoked.err());
    run(ADDRESS, "cert", "revoke", "--node", ID);
    assertEquals(RevokeCertificatesRequest.newBuilder().setNode(ID).build(), REVOKED.get());
    run(ADDRESS, "cert", "revoke", "--user", "owner");
    assertEquals(RevokeCertificatesRequest.newBuilder().setUser("owner").build(), REVOKED.get());
  }

  @ParameterizedTest
  @CsvSource({
    "cert revoke --serial xyz, \"xyz\" is no serial number",
    "cert revoke, --serial",
    "cert revoke --node a --user b, --node=NODE",
    "cert lst, cert list"
  })
  @DisplayName("a wrong command for certificates is refused with the right one, before any call")
  void wrongCertificates(String command, String words) {
    REVOKED.set(null);
    CtlRun run = run(ADDRESS, command.split(" "));
    assertEquals(ExitCode.USAGE.code(), run.code(), run.err());
    assertTrue(run.err().contains(words), run.err());
    assertNull(REVOKED.get());
  }

  private static final class Discovery extends CuratorLocalGrpc.CuratorLocalImplBase {
    private final String address;

    Discovery(String address) {
      this.address = address;
    }

    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      if (UNSURE.get().contains(address)) {
        caller.onError(Status.UNAVAILABLE.asRuntimeException());
        return;
      }
      caller.onNext(GetCurrentLeaderResponse.newBuilder().setLeaderHost(LEADER.get()).build());
      caller.onCompleted();
    }

    @Override
    public void getCACertificate(
        GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
      caller.onNext(
          GetCACertificateResponse.newBuilder()
              .setIdentityCaCertificate(ByteString.copyFrom(Pem.der(CLUSTER.certificate())))
              .build());
      caller.onCompleted();
    }
  }

  /** Lists three members of etcd, of which one does not vote. */
  private static final class Voters extends EtcdGrpc.EtcdImplBase {
    @Override
    public void members(MembersRequest request, StreamObserver<MembersResponse> caller) {
      caller.onNext(
          MembersResponse.newBuilder()
              .addMembers(Member.newBuilder().setId(1).setName(ID))
              .addMembers(Member.newBuilder().setId(2).setName(OTHER))
              .addMembers(Member.newBuilder().setId(3).setName("metropolis-3").setLearner(true))
              .build());
      caller.onCompleted();
    }
  }

  private static Node.Builder silent(String id) {
    return Node.newBuilder()
        .setId(id)
        .setState(NodeState.NODE_STATE_UP)
        .setHealth(Node.Health.HEALTH_HEARTBEAT_TIMEOUT)
        .setStatus(running(RoleName.CONSENSUS_MEMBER).setExternalAddress(NOBODY));
  }

  @Test
  @DisplayName(
      "health of several nodes has one line for each, then the voters and the leader; one node is shown on request")
  void healthOfACluster() {
    ORGANS.set(
        GetHealthResponse.newBuilder()
            .addStatuses(organ("consensus", Level.LEVEL_UP, "", ""))
            .addStatuses(
                organ("metrics", Level.LEVEL_DEGRADED, "too few " + "words ".repeat(20), "add"))
            .build());
    OTHERS.set(List.of(silent(OTHER).build()));

    CtlRun run = run(ADDRESS, "health");

    assertEquals(ExitCode.NOT_MET.code(), run.code(), run.err());
    List<String> lines = run.out().lines().toList();
    assertTrue(
        lines.get(1).matches(ID + " +" + ADDRESS + " .*UP, .* DEGRADED +metrics: too .*…"),
        run.out());
    assertTrue(
        lines.get(2).matches(OTHER + " +" + NOBODY + " .*unknown +" + NOBODY + ".*"), run.out());
    assertEquals(
        List.of(
            "voters up: 1 of 2; 2 must be up",
            "voter " + OTHER + ": unknown, since its node does not answer",
            "metropolis-3 is a learner: it copies the records, and is no voter yet",
            "leader: " + ID + " at " + ADDRESS),
        lines.subList(4, 8),
        run.out());
    assertTrue(
        run.out().contains("%s: metrics: too few %s".formatted(ID, "words ".repeat(20).strip())),
        run.out());
    assertTrue(run.out().contains("  to do: add\n"), run.out());

    CtlRun one = run(ADDRESS, "health", ID);
    assertEquals(ExitCode.OK.code(), one.code(), one.err());
    assertTrue(one.out().contains("to do, metrics some-code: add"), one.out());
    assertFalse(one.out().contains(OTHER), one.out());
    assertTrue(run(ADDRESS, "health", "-o", "wide").out().contains("to do, metrics"), one.out());

    CtlRun none = run(ADDRESS, "health", "metropolis-9");
    assertEquals(ExitCode.NOT_FOUND.code(), none.code(), none.err());
    assertTrue(none.err().contains("[" + ID + ", " + OTHER + "]"), none.err());
  }

  @Test
  @DisplayName(
      "health does not count a voter that answers the operator while the leader does not hear it")
  void healthOfASplitCluster() {
    NODE.set(
        silent(ID)
            .setStatus(running(RoleName.CONSENSUS_MEMBER).setExternalAddress(ADDRESS))
            .build());
    OTHERS.set(List.of(silent(OTHER).build()));

    CtlRun run = run(ADDRESS, "health");

    assertEquals(ExitCode.NOT_MET.code(), run.code(), run.err());
    assertEquals(
        List.of(
            "voters up: 0 of 2; 2 must be up",
            "voter "
                + ID
                + " is cut off: it answers here, but the leader does not hear it; look at the network between them"),
        run.out().lines().toList().subList(4, 6),
        run.out());
  }

  /** Writes the state directory of a node that this process runs, of a cluster on this machine. */
  private Path local(int number, String address) throws Exception {
    Path folder = Files.createDirectories(state.resolve(Integer.toString(number)));
    Files.writeString(folder.resolve("node.lock"), ProcessHandle.current().pid() + "\n");
    Files.createDirectories(folder.resolve("ephemeral"));
    Files.writeString(
        folder.resolve("ephemeral/listeners"),
        """
        curator %1$s:7835 open
        debug %1$s:7837 open
        management %1$s:7839 open
        """
            .formatted(address));
    return folder;
  }

  @Test
  @DisplayName(
      "health of a cluster on this machine asks its new leader when the chosen node leads no more; without one the report names the node")
  void healthWhileTheLeadershipMoves() throws Exception {
    Files.createFile(state.resolve("cluster"));
    Files.move(state.resolve("owner"), local(1, ADDRESS).resolve("owner"));
    local(2, RESTARTED);
    try (LocalRpcHost second = host(RESTARTED)) {
      second.identify(SELF);
      LEADER.set(RESTARTED);
      UNSURE.set(Set.of(ADDRESS, RESTARTED));
      REFUSAL.set(Status.FAILED_PRECONDITION.withDescription("ask the leader"));

      CtlRun without = CtlRun.of("--state=" + state, "health");
      assertTrue(without.err().contains("the node's own report, from " + ADDRESS), without.err());

      ON_REFUSAL.set(() -> UNSURE.set(Set.of(ADDRESS)));
      CtlRun run = CtlRun.of("--state=" + state, "health");
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
      assertTrue(
          run.err()
              .contains(
                  "%s does not lead the cluster; the leader, %s".formatted(ADDRESS, RESTARTED)),
          run.err());
      assertTrue(run.out().contains(ID), run.out());
    }
  }

  @Test
  @DisplayName("health asks the leader that the named node knows, and says which of them answered")
  void healthThroughTheLeader() {
    try (LocalRpcHost leader = host(RESTARTED)) {
      leader.identify(node());
      LEADER.set(RESTARTED);
      REFUSAL.set(Status.FAILED_PRECONDITION.withDescription("ask the leader"));
      CtlRun run = run(ADDRESS, "health");
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
      assertTrue(
          run.err()
              .contains(
                  "%s does not lead the cluster; the leader, %s".formatted(ADDRESS, RESTARTED)),
          run.err());
    }
  }

  @Test
  @DisplayName("the running roles of a silent node are shown as the last known ones")
  void rolesOfASilentNode() {
    NODE.set(silent(ID).build());
    String table = run(ADDRESS, "node", "list").out();
    assertTrue(table.contains("   last known: ConsensusMember   "), table);
  }

  private static dev.polis.wire.health.Status status(Level level) {
    dev.polis.wire.health.Status.Builder status =
        dev.polis.wire.health.Status.newBuilder()
            .setName("consensus")
            .setKind(Kind.KIND_ORGAN)
            .setLevel(level)
            .setCode("etcd-failed")
            .setReason("etcd does not start")
            .setRemedy("look at its log");
    status
        .addConditionsBuilder()
        .setLevel(level)
        .setCode("etcd-failed")
        .setReason("etcd does not start")
        .setRemedy("look at its log");
    return status.build();
  }

  private static ExplainResponse explanation(ExplainRequest request) {
    if (!request.getName().equals("consensus")) {
      throw Status.NOT_FOUND.withDescription("no such thing here").asRuntimeException();
    }
    return ExplainResponse.newBuilder()
        .setKind(Kind.KIND_ORGAN)
        .setName("consensus")
        .setLevel(Level.LEVEL_DOWN)
        .setStanding("it does not do its work")
        .addCauses("consensus: etcd does not start")
        .addCauses("storage: the disk is full")
        .addRemedies("make room")
        .build();
  }

  /** Lists one bundle, which provides a role. */
  private static final class Bundles extends PluginsGrpc.PluginsImplBase {
    @Override
    public void graph(GraphRequest request, StreamObserver<GraphResponse> caller) {
      caller.onNext(
          GraphResponse.newBuilder()
              .addBundles(GraphBundle.newBuilder().addProvides("role NightlyBackup"))
              .build());
      caller.onCompleted();
    }

    @Override
    public void fetch(FetchRequest request, StreamObserver<FetchResponse> caller) {
      ByteString manifest = ByteString.copyFromUtf8("the manifest of " + request.getDigest());
      caller.onNext(FetchResponse.newBuilder().setManifest(manifest).build());
      caller.onCompleted();
    }
  }

  /** Wants nothing yet, and knows two nodes with the file of one plugin. */
  private static final class Wishes extends PluginSetGrpc.PluginSetImplBase {
    private static final PluginFile FILE =
        PluginFile.newBuilder()
            .setSymbolicName("org.example.backup")
            .setVersion("1.0.0")
            .setDigest("a".repeat(64))
            .build();

    @Override
    public void getPluginSet(
        GetPluginSetRequest request, StreamObserver<GetPluginSetResponse> caller) {
      GetPluginSetResponse.Builder set = GetPluginSetResponse.newBuilder();
      for (String id : List.of(ID, OTHER)) {
        set.addReports(PluginReport.newBuilder().setNodeId(id).addFiles(FILE));
      }
      caller.onNext(set.build());
      caller.onCompleted();
    }

    @Override
    public void wantPlugin(WantPluginRequest request, StreamObserver<WantPluginResponse> caller) {
      WANTED.set(request);
      caller.onNext(WantPluginResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  @Test
  @DisplayName(
      "pin asks the next node with the file while the first is away, and names the nodes if its own is unknown")
  void pin() {
    OTHERS.set(List.of(NODE.get()));
    NODE.set(silent(OTHER).setHealth(Node.Health.HEALTH_HEALTHY).build());

    CtlRun run =
        run(ADDRESS, "plugin", "pin", "org.example.backup@1.0.0", "--node", ID, "--wait", "0");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertEquals("the manifest of " + "a".repeat(64), WANTED.get().getManifest().toStringUtf8());
    assertEquals(ID, WANTED.get().getScope().getNodeId());

    CtlRun unknown = run(ADDRESS, "plugin", "pin", "org.example.backup", "--node", "backup-1");
    assertEquals(ExitCode.NOT_FOUND.code(), unknown.code(), unknown.err());
    assertTrue(unknown.err().contains("no node \"backup-1\"; the nodes are ["), unknown.err());
    assertTrue(unknown.err().contains(ID), unknown.err());
  }

  @Test
  @DisplayName("adding a role that no bundle provides gives a warning with the most similar role")
  void roleThatNoBundleBrings() {
    CtlRun typo = run(ADDRESS, "node", "role", "add", ID, "NightlyBakcup");
    assertEquals(ExitCode.OK.code(), typo.code(), typo.err());
    assertTrue(
        typo.err().contains("provides \"NightlyBakcup\"; did you mean \"NightlyBackup\"?"),
        typo.err());
    assertTrue(typo.err().contains("see \"plugin diff\""), typo.err());
    assertTrue(typo.err().contains("node role remove " + ID + " NightlyBakcup"), typo.err());
    assertEquals("", run(ADDRESS, "node", "role", "add", ID, "NightlyBackup").err());
    assertEquals("", run(ADDRESS, "node", "role", "remove", ID, "Nothing").err());
  }

  private static final class Organs extends HealthGrpc.HealthImplBase {
    @Override
    public void getHealth(GetHealthRequest request, StreamObserver<GetHealthResponse> caller) {
      CountDownLatch asked = HEALTH_ASKED.get();
      asked.countDown();
      if (asked != NOT_AWAITED) {
        return;
      }
      caller.onNext(ORGANS.get());
      caller.onCompleted();
    }

    @Override
    public void explain(ExplainRequest request, StreamObserver<ExplainResponse> caller) {
      caller.onNext(explanation(request));
      caller.onCompleted();
    }
  }

  /** Becomes another process at once when it is asked to. */
  private static final class Restarts extends RuntimeGrpc.RuntimeImplBase {
    private final AtomicInteger instance = new AtomicInteger();

    @Override
    public void getRuntime(GetRuntimeRequest request, StreamObserver<GetRuntimeResponse> caller) {
      caller.onNext(GetRuntimeResponse.newBuilder().setInstance("" + instance).build());
      caller.onCompleted();
    }

    @Override
    public void restart(RestartRequest request, StreamObserver<RestartResponse> caller) {
      assertEquals("" + instance, request.getInstance());
      instance.incrementAndGet();
      caller.onNext(RestartResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  /** Has another process at once when it is asked to reboot. */
  private static final class Machine extends NodeSystemGrpc.NodeSystemImplBase {
    private final Restarts process;

    private Machine(Restarts process) {
      this.process = process;
    }

    @Override
    public void rebootSystem(
        RebootSystemRequest request, StreamObserver<RebootSystemResponse> caller) {
      process.instance.incrementAndGet();
      caller.onNext(RebootSystemResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  private static final class Conditions extends DebugGrpc.DebugImplBase {
    @Override
    public void listConditions(
        ListConditionsRequest request, StreamObserver<ListConditionsResponse> caller) {
      caller.onNext(
          ListConditionsResponse.newBuilder()
              .addConditions(NamedCondition.newBuilder().setName("Met").setOk(true))
              .addConditions(NamedCondition.newBuilder().setName("Unmet"))
              .build());
      caller.onCompleted();
    }

    @Override
    public void getHealth(GetHealthRequest request, StreamObserver<GetHealthResponse> caller) {
      if (DEBUG_SILENT.get()) {
        return;
      }
      caller.onNext(ORGANS.get());
      caller.onCompleted();
    }

    @Override
    public void explain(ExplainRequest request, StreamObserver<ExplainResponse> caller) {
      caller.onNext(explanation(request));
      caller.onCompleted();
    }

    @Override
    public void getCondition(
        GetConditionRequest request, StreamObserver<GetConditionResponse> caller) {
      switch (request.getName()) {
        case "Met" -> caller.onNext(GetConditionResponse.newBuilder().setOk(true).build());
        case "Unmet" -> caller.onNext(GetConditionResponse.getDefaultInstance());
        default -> {
          caller.onError(Status.NOT_FOUND.withDescription("no such thing").asRuntimeException());
          return;
        }
      }
      caller.onCompleted();
    }
  }

  private CtlRun run(String address, String... command) {
    String[] all = new String[command.length + 4];
    System.arraycopy(command, 0, all, 4, command.length);
    all[0] = "--state";
    all[1] = state.toString();
    all[2] = "--endpoint";
    all[3] = address;
    return CtlRun.of(all);
  }

  @ParameterizedTest
  @EnumSource(OwnerKey.Form.class)
  void takeownership_worksWithAKeyInEitherForm_andTheFingerprintThatOthersShow(OwnerKey.Form form)
      throws Exception {
    Path config = state.resolve("config");
    String pem = OwnerKey.write(Ed25519.generate().getPrivate(), form);
    Path key = Files.writeString(state.resolve("brought.pem"), pem);
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(CLUSTER.certificate().getEncoded());
    String fingerprint = HexFormat.of().formatHex(digest);

    CtlRun add =
        CtlRun.of(
            "--config",
            config.toString(),
            "context",
            "add",
            "lab",
            ADDRESS,
            "--owner-key",
            key.toString());
    CtlRun unasked = CtlRun.of("--config", config.toString(), "--context=lab", "takeownership");
    CtlRun other =
        CtlRun.of(
            "--config",
            config.toString(),
            "--context=lab",
            "takeownership",
            "--accept-ca",
            fingerprint.replaceFirst("^.", fingerprint.startsWith("0") ? "1" : "0"));
    CtlRun taken =
        CtlRun.of(
            "--config",
            config.toString(),
            "--context=lab",
            "takeownership",
            "--accept-ca",
            fingerprint);
    CtlRun list = CtlRun.of("--config", config.toString(), "--context=lab", "node", "list");

    assertEquals(ExitCode.OK.code(), add.code(), add.err());
    assertEquals(pem, Files.readString(config.resolve("lab/owner-key.pem")));
    assertEquals(ExitCode.FAILED.code(), unasked.code());
    assertTrue(unasked.err().contains("--accept-ca " + fingerprint), unasked.err());
    assertEquals(ExitCode.FAILED.code(), other.code());
    assertEquals(ExitCode.OK.code(), taken.code(), taken.err());
    assertEquals(ExitCode.OK.code(), list.code(), list.err());
  }

  @Test
  void ok() {
    CtlRun run = run(ADDRESS, "node", "list");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(run.out().contains(ID + "   UP"), run.out());
    assertEquals("", run.err());
  }

  @Test
  @DisplayName("wanted and running roles have two columns, also in json and yaml")
  void rolesWantedAndRunning() {
    RoleName backup = new RoleName("NightlyBackup");
    NODE.set(
        NODE.get().toBuilder()
            .setRoles(RoleRecord.of(List.of(RoleName.CONSENSUS_MEMBER, backup)))
            .setStatus(running(RoleName.CONSENSUS_MEMBER))
            .build());
    String wanted = "ConsensusMember,NightlyBackup";
    String table = run(ADDRESS, "node", "list").out();
    assertTrue(table.contains("ROLES WANTED                    ROLES RUNNING"), table);
    assertTrue(table.contains(wanted + "   ConsensusMember "), table);
    String described = run(ADDRESS, "node", "describe").out();
    assertTrue(described.contains("rolesWanted: " + wanted), described);
    assertTrue(described.contains("rolesRunning: ConsensusMember\n"), described);
    JsonObject json =
        JsonParser.parseString(run(ADDRESS, "node", "list", "-o", "json").out())
            .getAsJsonArray()
            .get(0)
            .getAsJsonObject();
    assertEquals("[\"ConsensusMember\",\"NightlyBackup\"]", json.get("rolesWanted").toString());
    assertEquals("[\"ConsensusMember\"]", json.get("rolesRunning").toString());
    String yaml = run(ADDRESS, "node", "list", "-o", "yaml").out();
    assertTrue(yaml.contains("rolesRunning:"), yaml);
  }

  @Test
  @DisplayName("a node without a report of its roles is distinguished from one that runs none")
  void rolesUnknownOrNone() {
    assertTrue(run(ADDRESS, "node", "list").out().contains("none           unknown"));
    NODE.set(NODE.get().toBuilder().setStatus(running()).build());
    assertTrue(run(ADDRESS, "node", "list").out().contains("none           none"));
  }

  @Test
  @DisplayName("roles are added and removed by name, known and open ones in one request")
  void rolesAreChanged() {
    CtlRun run = run(ADDRESS, "node", "role", "add", ID, "KubernetesWorker", "NightlyBackup");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(CHANGES.get().getKubernetesWorker(), CHANGES.get()::toString);
    assertFalse(CHANGES.get().hasConsensusMember(), CHANGES.get()::toString);
    assertEquals(
        List.of(RoleChange.newBuilder().setName("NightlyBackup").setWanted(true).build()),
        CHANGES.get().getOthersList());
    assertTrue(run.out().contains("ROLES WANTED"), "it shows the result: " + run.out());

    assertEquals(
        ExitCode.OK.code(), run(ADDRESS, "node", "role", "remove", ID, "NightlyBackup").code());
    assertFalse(CHANGES.get().getOthers(0).getWanted(), CHANGES.get()::toString);
  }

  @Test
  @DisplayName(
      "a node that leaves first loses all roles in one change, and its membership once it has ended them")
  void decommissioned() throws Exception {
    CHANGES.set(UpdateNodeRolesRequest.getDefaultInstance());
    DECOMMISSIONED.clear();
    RoleName backup = new RoleName("NightlyBackup");
    NODE.set(
        NODE.get().toBuilder()
            .setState(NodeState.NODE_STATE_UP)
            .setRoles(RoleRecord.of(List.of(RoleName.CONSENSUS_MEMBER, backup)))
            .setStatus(running(RoleName.CONSENSUS_MEMBER))
            .build());
    CompletableFuture<CtlRun> leaving =
        CompletableFuture.supplyAsync(() -> run(ADDRESS, "node", "decommission", ID));
    Await.until(SOON, "the change of the roles", () -> CHANGES.get().hasConsensusMember());
    assertFalse(CHANGES.get().getConsensusMember(), CHANGES.get()::toString);
    assertEquals(
        List.of(RoleChange.newBuilder().setName("NightlyBackup").setWanted(false).build()),
        CHANGES.get().getOthersList());
    assertEquals(List.of(), DECOMMISSIONED, "it still runs a role");

    NODE.set(NODE.get().toBuilder().setStatus(running()).build());

    CtlRun left = leaving.get(SOON.toSeconds(), TimeUnit.SECONDS);
    assertEquals(ExitCode.OK.code(), left.code(), left.err());
    assertEquals(1, DECOMMISSIONED.size());
    assertTrue(
        left.err().contains("taken the roles of the node: ConsensusMember Night"), left.err());
    assertTrue(left.out().contains("decommissioned node " + ID), left.out());
  }

  @Test
  @DisplayName("a node that is silent, or has ended its roles, is decommissioned without a wait")
  void decommissionedAtOnce() {
    DECOMMISSIONED.clear();
    NODE.set(
        NODE.get().toBuilder()
            .setState(NodeState.NODE_STATE_UP)
            .setHealth(Node.Health.HEALTH_HEARTBEAT_TIMEOUT)
            .setStatus(running(RoleName.KUBERNETES_WORKER))
            .build());
    CtlRun silent = run(ADDRESS, "node", "decommission", ID);
    assertTrue(silent.err().contains("is silent, so the command does not wait"), silent.err());
    NODE.set(NODE.get().toBuilder().setStatus(running()).build());
    assertEquals("", run(ADDRESS, "node", "decommission", ID).err());
    assertEquals(2, DECOMMISSIONED.size());
  }

  @Test
  @DisplayName("a node that does not end its roles in time stays a member")
  void rolesDoNotEnd() {
    DECOMMISSIONED.clear();
    NODE.set(
        NODE.get().toBuilder()
            .setState(NodeState.NODE_STATE_UP)
            .setStatus(running(RoleName.KUBERNETES_WORKER))
            .build());
    CtlRun run = run(ADDRESS, "node", "decommission", "--wait=1", ID);
    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains("still runs KubernetesWorker after 1 s"), run.err());
    assertEquals(List.of(), DECOMMISSIONED);
  }

  @ParameterizedTest
  @CsvSource({
    "night/ly, use 1 to 63 letters and digits",
    "kubernetesworker, use 1 to 63 letters and digits",
    "Kubernetesworker, did you mean KubernetesWorker?"
  })
  @DisplayName("a malformed role name is refused with the reason before any call")
  void malformedRole(String name, String words) {
    CtlRun run = run(NOBODY, "node", "role", "add", ID, name);
    assertEquals(ExitCode.USAGE.code(), run.code());
    assertTrue(
        run.err().contains("\"" + name + "\" is not the name of a role: " + words), run.err());
  }

  @Test
  @DisplayName("a role for an unknown node changes nothing, and the known nodes are named")
  void roleOfNobody() {
    CHANGES.set(UpdateNodeRolesRequest.getDefaultInstance());
    CtlRun run = run(ADDRESS, "node", "role", "add", "metropolis-2", "NightlyBackup");
    assertEquals(ExitCode.NOT_FOUND.code(), run.code());
    assertTrue(run.err().contains("[" + ID + "]"), run.err());
    assertEquals(UpdateNodeRolesRequest.getDefaultInstance(), CHANGES.get());
  }

  @Test
  void aNodeThatIsNotThere_isNotFound() {
    CtlRun run = run(ADDRESS, "node", "describe", "metropolis-2");
    assertEquals(ExitCode.NOT_FOUND.code(), run.code());
    assertTrue(run.err().contains("[" + ID + "]"), "it names the known ones: " + run.err());
  }

  @ParameterizedTest
  @CsvSource({
    "HEALTH_HEALTHY, 0, 'heartbeat 0 s ago'",
    "HEALTH_HEARTBEAT_TIMEOUT, 5, not heard of",
    "HEALTH_UNKNOWN, 5, too young"
  })
  void health_tellsByItsExitCode(Node.Health health, int code, String reason) {
    NODE.set(NODE.get().toBuilder().setHealth(health).build());
    CtlRun run = run(ADDRESS, "health");
    assertEquals(code, run.code(), run.err());
    assertTrue(run.out().contains(reason), run.out());
  }

  @ParameterizedTest
  @CsvSource({
    "LEVEL_UP, 0",
    "LEVEL_DEGRADED, 0",
    "LEVEL_WAITING, 5",
    "LEVEL_DOWN, 5",
  })
  void health_showsTheOrgansOfANode_withLevelCodeReasonAndRemedy(Level level, int code) {
    ORGANS.set(GetHealthResponse.newBuilder().addStatuses(status(level)).build());
    CtlRun run = run(ADDRESS, "health");
    assertEquals(code, run.code(), run.err());
    String word = level.name().replace("LEVEL_", "");
    assertTrue(
        run.out().matches("(?s).*consensus +organ +" + word + " +etcd-failed +etcd does not.*"),
        run.out());
    assertTrue(run.out().contains("to do, consensus etcd-failed: look at its log"), run.out());
    assertEquals("", run.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"table", "wide", "json", "yaml"})
  @Tag("attack")
  @DisplayName("nothing that a node says drives the operator's terminal, and JSON has all of it")
  void terminal(String output) {
    String hostile = "\u001b]0;owned\u0007 \u009b2J\rdone \u202eevil\u007f";
    dev.polis.wire.health.Status said =
        status(Level.LEVEL_DOWN).toBuilder().setReason(hostile).build();
    ORGANS.set(GetHealthResponse.newBuilder().addStatuses(said).build());
    CtlRun run = run(ADDRESS, "health", "-o", output);
    REFUSAL.set(Status.FAILED_PRECONDITION.withDescription(hostile));
    CtlRun refused = run(ADDRESS, "node", "list", "-o", output);
    for (String printed : List.of(run.out(), run.err(), refused.out(), refused.err())) {
      assertTrue(printed.chars().allMatch(PrintableWriter::isHarmless), () -> printed);
    }
    assertTrue(run.out().contains("owned"), run::out);
    assertTrue(refused.err().contains("owned"), refused::err);
    if (output.equals("json")) {
      assertEquals(
          hostile,
          JsonParser.parseString(run.out())
              .getAsJsonArray()
              .get(0)
              .getAsJsonObject()
              .getAsJsonArray("statuses")
              .get(0)
              .getAsJsonObject()
              .get("reason")
              .getAsString());
    }
  }

  @Test
  void health_hasAllOfItForScripts() {
    JsonObject node =
        JsonParser.parseString(run(ADDRESS, "health", "-o", "json").out())
            .getAsJsonArray()
            .get(0)
            .getAsJsonObject();
    JsonObject status = node.getAsJsonArray("statuses").get(0).getAsJsonObject();
    assertEquals(ID, node.get("id").getAsString());
    assertTrue(node.get("works").getAsBoolean());
    assertEquals("HEALTHY", node.get("health").getAsString(), "the same word as in node list");
    assertEquals("consensus", status.get("name").getAsString());
    assertEquals("organ", status.get("kind").getAsString());
    assertEquals("UP", status.get("level").getAsString());
    assertEquals("etcd-failed", status.get("code").getAsString());
    assertEquals("etcd does not start", status.get("reason").getAsString());
    assertEquals("look at its log", status.get("remedy").getAsString());
  }

  @Test
  void health_asksTheDebugServiceOfANodeThatIsNotOwned_andSaysSo() throws Exception {
    Files.delete(state.resolve("owner/owner.pem"));
    CtlRun run = run(ADDRESS, "health");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(run.out().contains("etcd-failed"), run.out());
    assertTrue(run.err().contains("the cluster was not asked: "), run.err());
    assertTrue(run.err().contains("take ownership first"), run.err());
    assertTrue(run.err().contains("the node's own report"), run.err());
  }

  @Test
  @DisplayName(
      "health at a node that is not owned and does not answer says both, and not only how to own it")
  void silentNodeThatIsNotOwned() throws Exception {
    Files.delete(state.resolve("owner/owner.pem"));
    DEBUG_SILENT.set(true);

    CtlRun run = run(ADDRESS, "health", "--timeout", "3");

    assertEquals(ExitCode.NOT_FOUND.code(), run.code(), run.err());
    assertTrue(run.err().contains("take ownership first"), run.err());
    assertTrue(run.err().contains("The node itself gave no report: "), run.err());
    assertTrue(run.err().contains("within 3 s"), run.err());
  }

  @Test
  void health_ofANodeThatRefusesTheCertificate_isThatOfItsDebugService() {
    REFUSAL.set(Status.UNAUTHENTICATED.withDescription("the one shown has ended"));
    CtlRun run = run(ADDRESS, "health");
    assertTrue(run.out().contains("etcd-failed"), run.out());
    assertTrue(run.err().contains("the one shown has ended"), run.err());
    assertTrue(run.err().contains("the node's own report"), run.err());
  }

  @Test
  void health_ofANodeWhoseCuratorCannotAnswer_isNotMet() {
    REFUSAL.set(Status.UNAVAILABLE.withDescription("no leader"));
    CtlRun run = run(ADDRESS, "health");
    assertEquals(ExitCode.NOT_MET.code(), run.code(), run.err());
    assertTrue(run.err().contains("no leader"), run.err());
  }

  @Test
  @DisplayName(
      "where the cluster names no node that can be asked, the node at hand tells of itself")
  void health_ofAClusterWithADamagedRecord() {
    NODE.set(Node.newBuilder().setId(ID).build());
    ORGANS.set(
        GetHealthResponse.newBuilder()
            .addStatuses(
                organ("curator", Level.LEVEL_DEGRADED, "a record is damaged", "mend the record"))
            .build());
    CtlRun run = run(ADDRESS, "health");
    assertEquals(ExitCode.NOT_MET.code(), run.code(), run.err());
    assertTrue(run.err().contains("lists no node that reports its organs"), run.err());
    assertTrue(run.out().contains("a record is damaged"), run.out());
    assertTrue(run.out().contains("to do, curator some-code: mend the record"), run.out());
  }

  private static dev.polis.wire.health.Status organ(
      String name, Level level, String reason, String remedy, String... because) {
    dev.polis.wire.health.Status.Builder status =
        dev.polis.wire.health.Status.newBuilder()
            .setName(name)
            .setKind(Kind.KIND_ORGAN)
            .setLevel(level)
            .setCode("some-code")
            .setReason(reason)
            .setRemedy(remedy);
    if (level != Level.LEVEL_UP) {
      status
          .addConditionsBuilder()
          .setLevel(level)
          .setCode("some-code")
          .setReason(reason)
          .setRemedy(remedy)
          .addAllBecause(List.of(because));
    }
    return status.build();
  }

  private static GetHealthResponse fullDisk() {
    return GetHealthResponse.newBuilder()
        .addStatuses(organ("cluster", Level.LEVEL_DEGRADED, "no contact", "wait", "storage"))
        .addStatuses(organ("curator", Level.LEVEL_WAITING, "no leader", "", "storage"))
        .addStatuses(organ("debug", Level.LEVEL_UP, "", ""))
        .addStatuses(organ("metrics", Level.LEVEL_DEGRADED, "no exporter", "install it"))
        .addStatuses(organ("storage", Level.LEVEL_DOWN, "the disk is full", "free some space"))
        .build();
  }

  @Test
  @DisplayName("a root that works goes before what suffers from it, and a remedy is said once")
  void workingRootFirst() {
    dev.polis.wire.health.Status root =
        organ("metrics", Level.LEVEL_DEGRADED, "too few descriptors", "raise the limit");
    ORGANS.set(
        GetHealthResponse.newBuilder()
            .addStatuses(organ("consensus", Level.LEVEL_DOWN, "no descriptor", "", "metrics"))
            .addStatuses(root.toBuilder().addConditions(root.getConditions(0)))
            .build());
    CtlRun run = run(ADDRESS, "health");
    assertTrue(
        run.out().matches("(?s).*metrics +organ +DEGRADED.*consensus +organ +DOWN.*"), run.out());
    assertEquals(1, run.out().lines().filter(line -> line.startsWith("to do")).count(), run.out());
  }

  @Test
  @DisplayName(
      "health begins with the root cause; each affected organ has one line, without a remedy of its own")
  void rootFirst() {
    ORGANS.set(fullDisk());
    CtlRun run = run(ADDRESS, "health");
    assertTrue(
        run.out()
            .matches(
                "(?s).*NAME.*?storage +organ +DOWN +some-code +the disk is full"
                    + ".*curator +organ +WAITING +some-code +because of storage"
                    + ".*cluster +organ +DEGRADED +some-code +because of storage"
                    + ".*metrics +organ +DEGRADED +some-code +no exporter.*debug +organ +UP.*"),
        run.out());
    assertEquals(
        List.of(
            "to do, storage some-code: free some space", "to do, metrics some-code: install it"),
        run.out().lines().filter(line -> line.startsWith("to do")).toList());
    assertTrue(
        CtlRun.of("--state=" + state, "--endpoint=" + ADDRESS, "health", "--wait", "1")
            .err()
            .contains("storage of " + ID + " is DOWN: the disk is full"),
        "the line of a wait names the root");
  }

  @ParameterizedTest(name = "{0}, silent: {1}")
  @CsvSource({"health, true", "health, false", "node list, true", "node list, false"})
  @Tag("alone")
  @DisplayName(
      "a service that the node reports as absent is not waited for, and the cause is shown within 2 s")
  void notWaitedFor(String command, boolean silent) {
    ORGANS.set(fullDisk());
    SILENT.set(silent);
    REFUSAL.set(Status.UNAVAILABLE.withDescription("no leader"));
    run(ADDRESS, "debug", "condition", "Met"); // loads classes
    MachineSpeed speed = MachineSpeed.measure();
    long began = System.nanoTime();

    CtlRun run = run(ADDRESS, command.split(" "));

    speed.assertWithin(
        command + " answered", Duration.ofSeconds(2), Duration.ofNanos(System.nanoTime() - began));
    boolean health = command.equals("health");
    assertEquals((health ? ExitCode.NOT_MET : ExitCode.UNREACHABLE).code(), run.code(), run.err());
    assertTrue((run.out() + run.err()).contains("the disk is full"), run.out() + run.err());
    assertTrue((run.out() + run.err()).contains("free some space"), run.out() + run.err());
  }

  @Test
  @Tag("alone")
  @DisplayName("health waits for 1 s for a curator that is silent although its node is healthy")
  void silentCurator() {
    // The first command of a JVM loads its classes.
    run(ADDRESS, "health");
    SILENT.set(true);
    MachineSpeed speed = MachineSpeed.measure();
    long began = System.nanoTime();

    CtlRun run = run(ADDRESS, "health");

    speed.assertWithin(
        "health answered", Duration.ofSeconds(2), Duration.ofNanos(System.nanoTime() - began));
    assertEquals(ExitCode.NOT_MET.code(), run.code(), run.err());
    assertTrue(run.err().contains("its curator has not within"), run.err());
    assertTrue(run.out().contains("consensus"), run.out());
  }

  @Test
  @DisplayName("no thread of a command outlives it, whose call would be rejected by its channels")
  void watchEnds() throws Exception {
    for (int each = 0; each < 10; each++) {
      HEALTH_ASKED.set(new CountDownLatch(1));

      CtlRun run = run(ADDRESS, "node", "list");

      assertFalse(
          ThreadDump.all().contains("curator watch"), "it runs after its command has ended");
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"health", "node list", "explain node", "debug condition"})
  @DisplayName("a node that listens at another node's address is never shown in its place")
  void anotherNode(String command) throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(
        state.resolve("ephemeral/listeners"),
        """
        curator %1$s:7835 closed the address is in use
        debug %1$s:7837 closed the address is in use
        management %1$s:7839 closed the address is in use
        """
            .formatted(ADDRESS));
    List<String> line = new ArrayList<>(List.of("--state=" + state));
    line.addAll(List.of(command.split(" ")));

    CtlRun run = CtlRun.of(line.toArray(String[]::new));

    String said = run.out() + run.err();
    assertTrue(said.contains("the address is in use"), said);
    assertFalse(said.contains(ID) || said.contains("etcd-failed"), said);
  }

  @ParameterizedTest
  @ValueSource(strings = {"health", "node list", "explain node", "explain consensus"})
  @DisplayName("after a failed start its cause is shown, with an exit code of failure")
  void crashRecord(String command) throws Exception {
    tellsOfFailedStart(command, "esp/crash.txt");
  }

  @ParameterizedTest
  @ValueSource(strings = {"health", "node list", "explain node", "explain consensus"})
  @DisplayName("after a refused start its cause is shown, not that of an older crash")
  void refusedStart(String command) throws Exception {
    Files.createDirectories(state.resolve("esp"));
    Files.writeString(state.resolve("esp/crash.txt"), "2026-01-01T03:04:05Z older\n");
    tellsOfFailedStart(command, "ephemeral/launcher/refused.txt");
  }

  @Test
  @DisplayName("a process without an open listener is reported as starting, not as ended")
  void startingNode() throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(state.resolve("node.lock"), ProcessHandle.current().pid() + "\n");

    CtlRun run = CtlRun.of("--state=" + state, "health");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains("has opened no listener: it is starting"), run.err());
  }

  private void tellsOfFailedStart(String command, String record) throws Exception {
    Path file = state.resolve(record);
    Files.createDirectories(file.getParent());
    Files.writeString(file, "2026-01-02T03:04:05Z storage failed: no key\n");
    Files.createDirectories(state.resolve("ephemeral"));
    // The node was killed: its record of listeners stayed, and another node has the address now.
    Files.writeString(
        state.resolve("ephemeral/listeners"),
        "curator %1$s:7835 open\ndebug %1$s:7837 open\nmanagement %1$s:7839 open\n"
            .formatted(ADDRESS));
    Process gone = new ProcessBuilder("true").start();
    gone.waitFor();
    Files.writeString(state.resolve("node.lock"), gone.pid() + "\n");
    List<String> line = new ArrayList<>(List.of("--state=" + state));
    line.addAll(List.of(command.split(" ")));

    CtlRun run = CtlRun.of(line.toArray(String[]::new));

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains("no node runs on " + state), run.err());
    assertTrue(
        run.err().contains("storage failed: no key; repair that, then './polis up"), run.err());
    assertFalse(run.out().contains(ID), run.out());
  }

  @Test
  void health_waitsForOrgansToo() {
    ORGANS.set(GetHealthResponse.newBuilder().addStatuses(status(Level.LEVEL_WAITING)).build());
    CtlRun run = run(ADDRESS, "health", "--wait", "1");
    assertEquals(ExitCode.NOT_MET.code(), run.code(), run.err());
    assertTrue(
        run.err().contains("waiting: consensus of " + ID + " is WAITING: etcd does not start"),
        run.err());
  }

  @Test
  void explain_saysWhatItIs_howItStands_andWhyDownToTheRoot() {
    CtlRun run = run(ADDRESS, "explain", "consensus");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertEquals(
        """
        Organ: runs etcd as a child process. 'root.consensus' in the log.

        consensus (organ, says the node at %s): DOWN: it does not do its work
          because consensus: etcd does not start
          because storage: the disk is full
          to do: make room
        """
            .formatted(ADDRESS),
        run.out());
  }

  @Test
  void explain_asksTheDebugServiceWhereThereAreNoCredentials() throws Exception {
    Files.delete(state.resolve("owner/owner.pem"));
    CtlRun run = run(ADDRESS, "explain", "consensus");
    assertTrue(
        run.out().contains("(organ, says the debug service of the node at " + ADDRESS + "): DOWN"),
        run.out());
  }

  @Test
  void explain_ofAWordThatTheNodeDoesNotKnow_isTheWordAlone() {
    assertEquals(ExplainCommand.glossary().get("SPLIT"), run(ADDRESS, "explain", "SPLIT").out());
    CtlRun run = run(ADDRESS, "explain", "nonsense");
    assertEquals(ExitCode.NOT_FOUND.code(), run.code());
    assertTrue(run.err().contains("the node says: no such thing here"), run.err());
  }

  @Test
  void conditionWithoutAName_listsAllWithTheirValues() {
    CtlRun run = run(ADDRESS, "debug", "condition");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(run.out().matches("(?s).*Met +true.*Unmet +false.*"), run.out());
  }

  @ParameterizedTest
  @CsvSource({"Met, 0", "Unmet, 5", "Unknown, 4"})
  void condition_tellsByItsExitCode(String name, int code) {
    assertEquals(code, run(ADDRESS, "debug", "condition", name).code());
  }

  @ParameterizedTest
  @CsvSource({
    "UNAVAILABLE, 3",
    "NOT_FOUND, 4",
    "PERMISSION_DENIED, 1",
    "FAILED_PRECONDITION, 1",
    "INTERNAL, 1"
  })
  void aRefusal_keepsItsWords(Status.Code refusal, int code) {
    REFUSAL.set(refusal.toStatus().withDescription("because of the test"));
    CtlRun run = run(ADDRESS, "node", "list");
    assertEquals(code, run.code());
    assertTrue(run.err().contains("because of the test"), run.err());
    assertFalse(run.err().contains("is the node up?"), "it is, it has said so: " + run.err());
    assertEquals("", run.out());
  }

  @Test
  @DisplayName("the process of the node at hand is restarted without the curator")
  void restartWithoutCurator() {
    REFUSAL.set(Status.UNAVAILABLE.withDescription("no leader"));

    CtlRun run = run(ADDRESS, "node", "restart", "--runtime");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(run.out().contains("the process of the node at " + ADDRESS), run.out());
    CtlRun named = run(ADDRESS, "node", "restart", "--runtime", ID);
    assertTrue(named.err().contains("no leader"), named.err());
    REFUSAL.set(Status.OK);
    assertEquals(ExitCode.OK.code(), run(ADDRESS, "node", "restart", "--runtime", ID).code());
  }

  @Test
  @DisplayName("a machine reboots after the checks of an update, and with --force without them")
  void reboot() {
    OTHERS.set(List.of(silent(OTHER).build()));
    CtlRun refused = run(ADDRESS, "node", "reboot", "--stop-pods", ID);
    assertEquals(ExitCode.FAILED.code(), refused.code(), refused.out());
    assertTrue(refused.err().contains("node %s is silent".formatted(OTHER)), refused.err());

    CtlRun forced = run(ADDRESS, "node", "reboot", "--force", ID);
    assertEquals(ExitCode.OK.code(), forced.code(), forced.err());
    assertTrue(forced.out().contains("the machine of the node at " + ADDRESS), forced.out());
    assertTrue(forced.out().contains("it answers again"), forced.out());
  }

  @Test
  @DisplayName("where the node cannot be asked for a new process, the refusal names what works")
  void restartOfAStranger() throws Exception {
    Files.createDirectories(state.resolve("ephemeral"));
    Files.writeString(
        state.resolve("ephemeral/listeners"),
        "curator %1$s:7835 open\nmanagement %1$s:7839 closed the node has no credentials yet"
            .formatted(ADDRESS));
    Files.writeString(state.resolve("node.lock"), ProcessHandle.current().pid() + "\n");

    CtlRun run = CtlRun.of("--state=" + state, "node", "restart", "--runtime");

    assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
    assertTrue(run.err().contains("the node has no credentials yet"), run.err());
    assertTrue(run.err().contains("./polis down --state " + state), run.err());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "another node of the cluster at the address of a known node gets no call, and the refusal names both and the remedy")
  void anotherNodeOfTheCluster() throws Exception {
    String address = ADDRESS.replaceFirst("77", "83");
    NodeCredentials known = node();
    NodeCredentials worker = node();
    try (LocalRpcHost first = host(address)) {
      first.identify(known);
      assertEquals(ExitCode.OK.code(), run(address, "node", "list").code());
    }
    Path file = state.resolve("owner/known-nodes").resolve(address);
    assertTrue(Files.readString(file).startsWith(known.id().text()), Files.readString(file));
    try (LocalRpcHost second = host(address)) {
      second.identify(worker);

      CtlRun run = run(address, "node", "role", "add", ID, "KubernetesWorker");

      assertEquals(ExitCode.FAILED.code(), run.code(), run.err());
      assertTrue(run.err().contains("expected " + known.id()), run.err());
      assertTrue(run.err().contains(worker.id() + " presented its certificate"), run.err());
      assertTrue(run.err().contains(file + " says which node answered there before"), run.err());
      assertEquals(
          0, second.statistics().ports().stream().mapToLong(RpcStatistics.Port::members).sum());

      Files.delete(file);
      assertEquals(ExitCode.OK.code(), run(address, "node", "list").code());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a node that reports the address of another one is not asked for its health there")
  void reportedAddress() {
    NODE.set(NODE.get().toBuilder().setId(node().id().text()).build());

    CtlRun run = run(ADDRESS, "health", "-o", "json");

    assertTrue(run.out().contains("expected " + NODE.get().getId()), run.out());
    assertFalse(run.out().contains("says which node answered there before"), run.out());
    assertTrue(run.out().contains("not in the list of the cluster"), run.out());
  }

  @Test
  void withoutANode_unreachable() {
    for (String[] command :
        List.of(new String[] {"node", "list"}, new String[] {"debug", "condition", "Met"})) {
      CtlRun run = run(NOBODY, command);
      assertEquals(ExitCode.UNREACHABLE.code(), run.code(), run.err());
      assertTrue(run.err().contains(NOBODY + ":"), run.err());
      assertTrue(run.err().contains(" does not answer"), run.err());
    }
  }

  /** Records that the node's process restarts, as the node does before its listeners close. */
  private void startOver() throws Exception {
    Path restarting = Root.at(state).ephemeral().launcher().restarting().path();
    Files.createDirectories(restarting.getParent());
    Files.writeString(restarting, ProcessHandle.current().pid() + "\n");
  }

  @Test
  @DisplayName("a restarting node of this machine is waited for, longer than for an answer")
  void aNodeThatStartsOver_isWaitedFor() throws Exception {
    startOver();
    // Longer than the limits for an absent node and for an answer.
    Executor later = CompletableFuture.delayedExecutor(2500, TimeUnit.MILLISECONDS);
    try (LocalRpcHost over = host(RESTARTED)) {
      CompletableFuture<Void> back = CompletableFuture.runAsync(() -> over.identify(node()), later);
      CtlRun run = run(RESTARTED, "--timeout=1", "node", "list");
      back.get();
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
      assertTrue(run.out().contains(ID), run.out());
    }
  }

  @Test
  @DisplayName("an answer that is late because the node restarts is waited for again")
  void aNodeThatStartsOver_mayBeLate() throws Exception {
    startOver();
    Executor later = CompletableFuture.delayedExecutor(2500, TimeUnit.MILLISECONDS);
    try (LocalRpcHost over = host(RESTARTED)) {
      over.identify(node());
      SILENT.set(true);
      CompletableFuture<Void> back = CompletableFuture.runAsync(() -> SILENT.set(false), later);
      CtlRun run = run(RESTARTED, "--timeout=1", "node", "list");
      back.get();
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
      assertTrue(run.out().contains(ID), run.out());
    }
  }

  @Test
  @DisplayName("a call that is repeated while the node restarts has one connection at a time")
  void aNodeThatStartsOver_isNotFlooded() throws Exception {
    startOver();
    AtomicInteger connections = new AtomicInteger();
    ServerSocket closing =
        new ServerSocket(Session.CURATOR_PORT, 0, InetAddress.ofLiteral(RESTARTED));
    Thread.ofVirtual().start(() -> closeEach(closing, connections));
    try (LocalRpcHost over = host(RESTARTED)) {
      Executor later = CompletableFuture.delayedExecutor(2500, TimeUnit.MILLISECONDS);
      CompletableFuture<Void> back =
          CompletableFuture.runAsync(
              () -> {
                close(closing);
                over.identify(node());
              },
              later);
      CtlRun run = run(RESTARTED, "node", "list");
      back.get();
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
      assertTrue(connections.get() > 1, "the call was not repeated");
      // One attempt each 100 ms, each with at most one connection.
      assertTrue(connections.get() <= 26, connections + " connections in 2.5 s");
    }
  }

  private static void closeEach(ServerSocket server, AtomicInteger connections) {
    try {
      while (true) {
        server.accept().close();
        connections.incrementAndGet();
      }
    } catch (IOException over) {
      // The test has closed it.
    }
  }

  private static void close(ServerSocket server) {
    try {
      server.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aNameWithoutAnAddress_unreachable() {
    CtlRun run = run("nobody.invalid", "node", "list");
    assertEquals(ExitCode.UNREACHABLE.code(), run.code());
    assertTrue(run.err().contains("\"nobody.invalid\""), run.err());
  }

  @Test
  void anotherClusterThanTheFilesTrust_isNoNodeThatIsDown() throws Exception {
    own(CertificateAuthority.create("another cluster"));
    CtlRun run = run(ADDRESS, "node", "list");
    assertEquals(ExitCode.FAILED.code(), run.code(), run.err());
    assertTrue(run.err().contains("do not trust each other"), run.err());
    assertFalse(run.err().contains("is the node up?"), run.err());
  }

  @Test
  void filesThatDoNotBelongTogether_areRefusedBeforeAnythingIsAsked() throws Exception {
    Files.writeString(
        state.resolve("owner/owner-key.pem"), Pem.encode(Ed25519.generate().getPrivate()));
    CtlRun run = run(NOBODY, "node", "list");
    assertEquals(ExitCode.FAILED.code(), run.code());
    assertTrue(run.err().contains("do not fit together"), run.err());
    assertTrue(run.err().contains("bring them back from a copy"), run.err());
    assertFalse(run.err().contains("take ownership first"), run.err());
  }

  @Test
  @DisplayName("an owner whose key is gone reads that no other key replaces it")
  void keyOfAnOwnerIsGone() throws Exception {
    Files.delete(state.resolve("owner/owner-key.pem"));
    CtlRun run = run(NOBODY, "node", "list");
    assertEquals(ExitCode.NOT_FOUND.code(), run.code(), run.err());
    assertTrue(run.err().contains("owner-key.pem does not exist"), run.err());
    assertTrue(run.err().contains("bring them back from a copy"), run.err());
    assertFalse(run.err().contains("take ownership first"), run.err());
  }
}
