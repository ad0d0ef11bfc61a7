package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.base.boot.StopReason;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.RunningProcess;
import dev.polis.kubernetes.address.HostAddress;
import dev.polis.kubernetes.audit.AuditFiles;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.client.KubeException;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiStore;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsTrust;
import dev.polis.process.Account;
import dev.polis.process.Commands;
import dev.polis.process.RunAs;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * Runs the real control plane on the real etcd. The tests share one control plane and run in order,
 * since each start takes some ten seconds on a busy machine.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ControlPlaneTest {

  private static final List<String> PROGRAMS = KubernetesPrograms.ofController();

  private static ControlHarness harness;

  @BeforeAll
  static void start() throws Exception {
    harness = ControlHarness.open();
    harness.start();
  }

  @AfterAll
  static void stop() throws Exception {
    if (harness != null) {
      harness.close();
    }
  }

  private static Map<String, Long> pids() {
    return PROGRAMS.stream().collect(Collectors.toMap(each -> each, harness::pid));
  }

  private static void awaitAll() throws Exception {
    harness.awaitAccess();
    Await.until(
        ControlHarness.PATIENCE,
        "all programs to run and be healthy",
        () ->
            PROGRAMS.stream().allMatch(each -> harness.processes.find(each).isPresent())
                && harness.tree.runnables().peek().orElseThrow().stream()
                    .allMatch(each -> !each.dn().contains("plane") || ControlHarness.works(each)));
  }

  @Test
  @Order(1)
  @DisplayName("the API server becomes ready on the cluster's etcd, then the other two start")
  void ready() throws Exception {
    awaitAll();
    try (KubeClient api = harness.awaitAccess().open()) {
      assertTrue(api.answers("/readyz"));
      JsonObject version = api.find("/version").orElseThrow();
      assertTrue(version.get("gitVersion").getAsString().startsWith("v1."), version::toString);
      Await.until(
          ControlHarness.PATIENCE,
          "the controller manager to make the default service account",
          () -> api.find("/api/v1/namespaces/default/serviceaccounts/default").isPresent());
      JsonObject endpoints =
          api.find("/api/v1/namespaces/default/services/kubernetes").orElseThrow();
      assertEquals("10.96.0.1", endpoints.getAsJsonObject("spec").get("clusterIP").getAsString());
    }
  }

  @Test
  @Order(2)
  @DisplayName("a secret is encrypted in etcd, and can be read through the API")
  void secretsAreEncrypted() throws Exception {
    JsonObject secret =
        JsonParser.parseString(
                """
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"},
                 "stringData": {"word": "sesame"}}
                """)
            .getAsJsonObject();
    try (KubeClient api = harness.awaitAccess().open();
        EtcdClient root = EtcdClient.connect(harness.access("root", EtcdNamespace.ROOT))) {
      api.create("/api/v1/namespaces/default/secrets", secret);

      byte[] stored = root.kv().get("/registry/secrets/default/mine").orElseThrow().value();
      String text = new String(stored, StandardCharsets.ISO_8859_1);
      assertTrue(text.startsWith("k8s:enc:secretbox:v1:key1:"), text);
      assertFalse(text.contains("sesame"));
      assertEquals(
          "c2VzYW1l",
          api.find("/api/v1/namespaces/default/secrets/mine")
              .orElseThrow()
              .getAsJsonObject("data")
              .get("word")
              .getAsString());
    }
  }

  @Test
  @Order(3)
  @DisplayName("K8S-01 the cluster has its default objects, each with the label")
  void builtinObjects() throws Exception {
    try (KubeClient api = harness.awaitAccess().open()) {
      for (KubeObject each : BuiltinObjects.all()) {
        JsonObject found = api.find(each.path()).orElseThrow();
        assertEquals(
            "true",
            found
                .getAsJsonObject("metadata")
                .getAsJsonObject("labels")
                .get(BuiltinObjects.LABEL)
                .getAsString(),
            each.path());
      }
    }
  }

  @Test
  @Order(4)
  @DisplayName(
      "K8S-02 a missing object is made, a changed one corrected, an unwanted one deleted, and foreign ones are left alone")
  void reconciles() throws Exception {
    var log = harness.logs.log("root.test");
    try (KubeClient api = harness.awaitAccess().open()) {
      String base = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
      String binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/polis:owner-admin";
      JsonObject before = api.find(binding).orElseThrow();
      api.delete(binding);
      api.patch(base + "/polis:netservices", json("{\"rules\": []}"));
      api.create(base, role("unwanted", "{\"polis.dev/builtin\": \"true\"}"));
      api.create(base, role("somebodys", "{}"));
      KubeObject taken =
          new KubeObject(
              base,
              json(
                  "{\"apiVersion\": \"rbac.authorization.k8s.io/v1\", \"kind\": \"ClusterRole\","
                      + " \"metadata\": {\"name\": \"somebodys\"}, \"rules\": [{\"verbs\": [\"get\"],"
                      + " \"nonResourceURLs\": [\"/x\"]}]}"));
      List<KubeObject> wanted = new ArrayList<>(BuiltinObjects.all());
      wanted.add(taken);
      KubeLease lease = new KubeLease(api, "test", "me", InstantSource.system());

      Reconciler reconciler = new Reconciler(api, lease, wanted);
      reconciler.once(log);

      assertEquals(before.get("roleRef"), api.find(binding).orElseThrow().get("roleRef"));
      assertEquals(
          3, api.find(base + "/polis:netservices").orElseThrow().getAsJsonArray("rules").size());
      assertTrue(api.find(base + "/unwanted").isEmpty());
      assertFalse(api.find(base + "/somebodys").orElseThrow().toString().contains("\"/x\""));

      assertEquals(List.of(), reconciler.missing());
      api.delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:discovery");
      assertEquals(List.of("system:discovery"), reconciler.missing());
    }
  }

  private static JsonObject json(String text) {
    return JsonParser.parseString(text).getAsJsonObject();
  }

  private static JsonObject role(String name, String labels) {
    return json(
        "{\"apiVersion\": \"rbac.authorization.k8s.io/v1\", \"kind\": \"ClusterRole\","
            + " \"metadata\": {\"name\": \"%s\", \"labels\": %s}, \"rules\": []}"
                .formatted(name, labels));
  }

  @Test
  @Order(5)
  @DisplayName("K8S-05 one holder keeps a lease until it fails to renew it for its duration")
  void lease() throws Exception {
    try (KubeClient api = harness.awaitAccess().open()) {
      Instant[] now = {Instant.now()};
      KubeLease first = new KubeLease(api, "one", "first", () -> now[0]);
      KubeLease second = new KubeLease(api, "one", "second", () -> now[0]);

      assertTrue(first.hold());
      assertFalse(second.hold());
      assertTrue(first.hold());

      now[0] = now[0].plusSeconds(91);
      assertTrue(second.hold());
      assertFalse(first.hold());
    }
  }

  @Test
  @Order(6)
  @Tag("attack")
  @DisplayName(
      "a caller without credentials learns whether the API server is well, and nothing else")
  void anonymous() throws Exception {
    ControlAccess way = harness.awaitAccess();
    try (KubeClient nobody =
        new KubeClient(
            way.server(),
            Optional::empty,
            KubeKeys.trust(way.keys(), KubernetesNames.SERVER_NAME))) {
      for (String path : List.of("/livez", "/readyz", "/healthz")) {
        assertTrue(nobody.answers(path), path);
      }
      for (String path : List.of("/version", "/api", "/apis", "/openapi/v3", "/readyz/etcd")) {
        assertEquals(401, assertThrows(KubeException.class, () -> nobody.find(path)).code(), path);
      }
    }
  }

  @Test
  @Order(6)
  @Tag("attack")
  @DisplayName("a Pod that could take over the node is refused unless its namespace allows it")
  void podSecurity() throws Exception {
    try (KubeClient api = harness.awaitAccess().open()) {
      api.create(
          "/api/v1/namespaces",
          json(
              "{\"metadata\": {\"name\": \"trusted\", \"labels\": {"
                  + "\"pod-security.kubernetes.io/enforce\": \"privileged\"}}}"));
      for (String namespace : List.of("default", "trusted", "kube-system")) {
        Await.until(
            ControlHarness.PATIENCE,
            "the service account of " + namespace,
            () ->
                api.find("/api/v1/namespaces/" + namespace + "/serviceaccounts/default")
                    .isPresent());
      }
      for (String power :
          List.of(
              "\"hostNetwork\": true",
              "\"hostPID\": true",
              "\"volumes\": [{\"name\": \"v\", \"hostPath\": {\"path\": \"/\"}}]")) {
        JsonObject pod =
            json(
                "{\"metadata\": {\"generateName\": \"p-\"}, \"spec\": {%s, \"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}"
                    .formatted(power));
        KubeException refused =
            assertThrows(
                KubeException.class, () -> api.create("/api/v1/namespaces/default/pods", pod));
        assertEquals(403, refused.code());
        assertTrue(refused.getMessage().contains("PodSecurity \"baseline"), refused.getMessage());
        api.create("/api/v1/namespaces/trusted/pods", pod);
        api.create("/api/v1/namespaces/kube-system/pods", pod);
      }
      api.create(
          "/api/v1/namespaces/default/pods",
          json(
              "{\"metadata\": {\"name\": \"plain\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}"));
    }
  }

  private static String audited() throws IOException {
    return Files.readString(new AuditFiles(harness.folder(AuditFiles.FOLDER).path()).current());
  }

  @Test
  @Order(6)
  @Tag("attack")
  @DisplayName(
      "a log that only this user can read names each caller and request, of any length, without the content")
  void auditLog() throws Exception {
    try (KubeClient api = harness.awaitAccess().open()) {
      api.create(
          "/api/v1/namespaces/default/secrets",
          json("{\"metadata\": {\"name\": \"audited\"}, \"stringData\": {\"a\": \"unsaid\"}}"));
      Await.until("the record of a change", ControlPlaneTest::recorded);
      assertFalse(audited().contains("unsaid"));
      assertFalse(audited().contains("/leases"), "routine, which would fill the log");
      // JSON writes each of them as six bytes: more than an API server records by default.
      String many = "&".repeat(200_000);
      api.find("/api/v1/namespaces/default/secrets/audited?" + many);
      Await.until(
          "the record of a long request",
          () -> audited().contains("/secrets/audited?" + "\\u0026".repeat(200_000)));
    }
    Path folder = harness.folder(AuditFiles.FOLDER).path();
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(
            Files.getPosixFilePermissions(new AuditFiles(folder).current())));
  }

  private static boolean recorded() throws IOException {
    return audited()
        .lines()
        .map(ControlPlaneTest::json)
        .anyMatch(
            event ->
                event.get("verb").getAsString().equals("create")
                    && event.get("requestURI").getAsString().endsWith("/default/secrets")
                    && event
                        .getAsJsonObject("user")
                        .get("username")
                        .getAsString()
                        .equals(KubeIdentity.MASTER.userName())
                    && event.get("level").getAsString().equals("Metadata"));
  }

  @Test
  @Order(6)
  @Tag("attack")
  @DisplayName("strangers write nothing into the audit log: a flood of them pushes no record out")
  void strangersAreNotAudited() throws Exception {
    ControlAccess way = harness.awaitAccess();
    try (KubeClient nobody =
        new KubeClient(
            way.server(),
            Optional::empty,
            KubeKeys.trust(way.keys(), KubernetesNames.SERVER_NAME))) {
      for (int time = 0; time < 20; time++) {
        String path = "/api/v1/namespaces/stranger-%d/secrets".formatted(time);
        assertThrows(KubeException.class, () -> nobody.find(path));
      }
    }
    try (KubeClient api = harness.awaitAccess().open()) {
      api.find("/api/v1/namespaces/member/secrets");
    }
    Await.until("the record of a member", () -> audited().contains("/namespaces/member/"));
    assertFalse(audited().contains("stranger-"), "it would have come before");
  }

  @Test
  @Order(6)
  @DisplayName("a service account's token works through the proxy, with that account's rights")
  void tokens() throws Exception {
    harness.serveUsers();
    URI proxy = ControlPlace.https(harness.address, harness.settings().port());
    TlsTrust trust = TlsTrust.anyNode(TlsTrust.Source.of(harness.authority.certificate()));
    try (KubeClient api = harness.awaitAccess().open();
        HttpClient http =
            HttpClient.newBuilder().sslContext(TlsContexts.anonymous(trust)).build()) {
      String token =
          api.create(
                  "/api/v1/namespaces/default/serviceaccounts/default/token",
                  json("{\"spec\": {}}"))
              .getAsJsonObject("status")
              .get("token")
              .getAsString();
      Await.until(
          ControlHarness.PATIENCE,
          "the refusal of a forbidden read",
          () -> status(http, proxy, token) == 403);
      api.create(
          "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
          json(
              "{\"metadata\": {\"name\": \"reader\"}, \"roleRef\": {\"apiGroup\": \"rbac.authorization.k8s.io\","
                  + " \"kind\": \"ClusterRole\", \"name\": \"view\"}, \"subjects\": [{\"kind\":"
                  + " \"ServiceAccount\", \"namespace\": \"default\", \"name\": \"default\"}]}"));
      Await.until(
          ControlHarness.PATIENCE,
          "the account's permitted read",
          () -> status(http, proxy, token) == 200);
      assertEquals(401, status(http, proxy, token + "x"));
    }
  }

  @Test
  @Order(6)
  @Tag("attack")
  @DisplayName(
      "a node that was removed loses its Node object and its rights at once, and does not come back; other workers keep theirs")
  void removedWorker() throws Exception {
    Node own = member(RoleName.KUBERNETES_CONTROLLER);
    Node kept = member(RoleName.KUBERNETES_WORKER);
    Node removed = member(RoleName.KUBERNETES_WORKER);
    NodeId here = NodeId.parse(own.getId());
    String foreign = WorkerRights.NODES + "/foreign";
    try (EtcdClient etcd =
            EtcdClient.connect(harness.access("kubernetes", EtcdNamespace.of("kubernetes")));
        KubeClient api = harness.awaitAccess().open();
        Worker good = new Worker(etcd, kept);
        Worker thief = new Worker(etcd, removed)) {
      WorkerRights rights = new WorkerRights(api, here, InstantSource.system());
      String former =
          "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/"
              + KubernetesNames.GROUP_NETSERVICES;
      api.apply(former, "polis", json(GROUP_BINDING.formatted(KubernetesNames.GROUP_NETSERVICES)));
      apply(rights, own, kept, removed);
      api.create(WorkerRights.NODES, json(NODE.formatted("foreign")));
      for (Worker each : List.of(good, thief)) {
        each.register();
        Await.until("the rights of " + each.id, each::readsPods);
      }

      apply(rights, own, kept);

      Await.until("the end of the rights of a removed node", () -> !thief.readsPods());
      Await.until(
          "the refusal of its writes", () -> thief.refusal().contains("has removed this node"));
      // It may have registered once more before the refusal; the controllers look again.
      apply(rights, own, kept);
      assertTrue(api.find(thief.path()).isEmpty(), "the Node object of a removed node");
      assertTrue(good.readsPods(), "the rights of another worker");
      assertTrue(api.find(good.path()).isPresent(), "the Node object of another worker");
      good.heartbeat();
      assertTrue(api.find(foreign).isPresent(), "a Node object that is none of the cluster's");

      // Another controller finds the object of a node that was removed while none ran.
      Node lost = member(RoleName.KUBERNETES_WORKER);
      try (Worker old = new Worker(etcd, lost)) {
        old.register();
        apply(new WorkerRights(api, here, InstantSource.system()), own, kept);
        Await.until(
            "the refusal of its writes", () -> old.refusal().contains("has removed this node"));
        apply(rights, own, kept);
        assertTrue(api.find(old.path()).isEmpty(), "the Node object of a removed node");
      }
      // A node that registered while the records were read is none of the removed ones.
      Node late = member(RoleName.KUBERNETES_WORKER);
      try (Worker young = new Worker(etcd, late)) {
        young.register();
        rights.apply(List.of(own, kept), () -> List.of(own, kept, late));
        young.heartbeat();
        // One that was taken for removed gets its place back with its record.
        apply(rights, own, kept);
        Await.until("the refusal of its writes", () -> young.refusal().contains("has removed"));
        apply(rights, own, kept, late);
        Await.until("its writes", () -> young.refusal().isEmpty());
      }
      assertTrue(api.find(former).isEmpty(), "the binding of a former version");
      assertThrows(IOException.class, () -> apply(rights, removed));
      assertTrue(api.find(good.path()).isPresent(), "records without this node remove no other");
    }
  }

  private static void apply(WorkerRights rights, Node... nodes) throws Exception {
    rights.apply(List.of(nodes), () -> List.of(nodes));
  }

  private static final String GROUP_BINDING =
      """
      {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
       "metadata": {"name": "%1$s"},
       "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "%1$s"},
       "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "%1$s"}]}
      """;

  private static final String NODE =
      "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"%s\"}}";

  private static Node member(RoleName role) {
    return Node.newBuilder()
        .setId(NodeId.of(Ed25519.generate().getPublic()).text())
        .setState(NodeState.NODE_STATE_UP)
        .setRoles(RoleRecord.of(List.of(role)))
        .build();
  }

  /** Calls the API server as the programs of a worker, with the certificates that it gets. */
  private static final class Worker implements AutoCloseable {
    private final String id;
    private final KubeClient kubelet;
    private final KubeClient netservices;

    Worker(EtcdClient etcd, Node node) throws Exception {
      id = node.getId();
      PkiAuthority ca =
          new PkiStore(
                  PkiBackend.etcd(etcd, etcd.kv(), KubernetesNames.PKI_PREFIX),
                  InstantSource.system())
              .ensureAuthority(
                  KubernetesNames.ID_CA,
                  CertificateTemplate.authority(KubernetesNames.ID_CA_COMMON_NAME));
      kubelet = client(ca, KubernetesNames.nodeUser(NodeId.parse(id)), KubernetesNames.GROUP_NODES);
      netservices =
          client(
              ca, KubernetesNames.GROUP_NETSERVICES + ":" + id, KubernetesNames.GROUP_NETSERVICES);
    }

    private KubeClient client(PkiAuthority ca, String user, String group) throws Exception {
      KeyPair key = Ed25519.generate();
      X509Certificate certificate =
          ca.ensureExternal(
              group.replace(':', '-') + "-" + id,
              CertificateTemplate.client(user).withOrganizations(List.of(group)),
              key.getPublic());
      TlsIdentity identity = TlsIdentity.of(key.getPrivate(), certificate);
      return new KubeClient(
          harness.awaitAccess().server(),
          () -> Optional.of(identity),
          TlsTrust.server(TlsTrust.Source.of(ca.certificate()), KubernetesNames.SERVER_NAME));
    }

    String path() {
      return WorkerRights.NODES + "/" + id;
    }

    void register() throws Exception {
      kubelet.create(WorkerRights.NODES, json(NODE.formatted(id)));
    }

    void heartbeat() throws Exception {
      kubelet.patch(path(), json("{\"metadata\": {\"annotations\": {\"beat\": \"1\"}}}"));
    }

    /** Returns why the kubelet cannot register its node. */
    String refusal() throws Exception {
      try {
        register();
        return "";
      } catch (KubeException e) {
        // A node that is there is refused before that is looked at.
        return e.code() == HttpURLConnection.HTTP_CONFLICT ? "" : e.getMessage();
      }
    }

    boolean readsPods() throws Exception {
      try {
        netservices.list("/api/v1/pods");
        return true;
      } catch (KubeException e) {
        assertEquals(403, e.code(), e::getMessage);
        return false;
      }
    }

    @Override
    public void close() {
      kubelet.close();
      netservices.close();
    }
  }

  private static int status(HttpClient http, URI proxy, String token) {
    try {
      return http.send(
              HttpRequest.newBuilder(proxy.resolve("/api/v1/namespaces/default/pods"))
                  .header("Authorization", "Bearer " + token)
                  .header("X-Remote-User", "root")
                  .header("X-Remote-Group", "system:masters")
                  .build(),
              BodyHandlers.discarding())
          .statusCode();
    } catch (IOException away) {
      return 0;
    } catch (InterruptedException interrupted) {
      throw new AssertionError("interrupted", interrupted);
    }
  }

  @Test
  @Order(7)
  @DisplayName("new code adopts all programs, and they run undisturbed")
  void adopted() throws Exception {
    Map<String, Long> before = pids();

    harness.stop(StopReason.CODE_REPLACED);
    harness.start();
    awaitAll();

    assertEquals(before, pids());
  }

  @Test
  @Order(7)
  @DisplayName(
      "new code calls the running API server before its own run, and old code after its last one")
  void accessStays() throws Exception {
    awaitAll();
    ControlPlane next = harness.next();
    harness.stop(StopReason.CODE_REPLACED);

    requireReady(harness.awaitAccess());
    next.forgetEnded();
    ControlAccess known = next.access().peek().orElseThrow().orElseThrow();
    requireReady(known);

    harness.run(next);
    awaitAll();
    assertEquals(known, harness.awaitAccess(), "the proxy keeps its connections");
  }

  private static void requireReady(ControlAccess access) throws Exception {
    try (KubeClient api = access.open()) {
      assertTrue(api.answers(KubeClient.READY));
    }
  }

  @Test
  @Order(7)
  @DisplayName(
      "new code has no access to an API server that has ended, until the next one is ready")
  void endedServer() throws Exception {
    awaitAll();
    ControlPlane next = harness.next();
    harness.stop(StopReason.CODE_REPLACED);
    ProcessHandle server = ProcessHandle.of(harness.pid("kube-apiserver")).orElseThrow();
    server.destroyForcibly();
    Await.until(
        ControlHarness.PATIENCE,
        "the end of the API server to be noticed",
        () -> harness.processes.find("kube-apiserver").isEmpty());

    next.forgetEnded();
    assertEquals(Optional.of(Optional.empty()), next.access().peek());

    harness.run(next);
    requireReady(harness.awaitAccess());
    awaitAll();
    assertNotEquals(server.pid(), harness.pid("kube-apiserver"));
  }

  @Test
  @Order(7)
  @Tag("full")
  @DisplayName(
      "ROL-04, D-15 while consensus is replaced all programs run on; a new one elsewhere is the API server's within seconds, with the same objects")
  void consensusMoves() throws Exception {
    awaitAll();
    Map<String, Long> before = pids();
    String namespaces = namespaces();
    AtomicInteger asked = harness.loseConsensus();
    Await.until(
        ControlHarness.PATIENCE,
        "the role to have looked for its consensus twice",
        () -> asked.get() >= 2);
    assertEquals(before, pids());

    harness.moveConsensus();
    Await.until(
        ControlHarness.PATIENCE,
        "the API server to be another process",
        () ->
            harness
                .processes
                .find("kube-apiserver")
                .filter(found -> found.pid() != before.get("kube-apiserver"))
                .isPresent());
    awaitAll();
    assertTrue(
        Files.readString(Path.of("/proc", Long.toString(harness.pid("kube-apiserver")), "cmdline"))
            .contains("localhost:" + harness.etcdWay.port()));
    assertEquals(namespaces, namespaces());
  }

  private static String namespaces() throws Exception {
    try (KubeClient api = harness.awaitAccess().open()) {
      return KubeClient.items(api.list("/api/v1/namespaces")).toString();
    }
  }

  @Test
  @Order(8)
  @DisplayName("each killed program is started again, and the others keep running")
  void killed() throws Exception {
    for (String program : PROGRAMS) {
      Map<String, Long> before = pids();
      ProcessHandle.of(harness.pid(program)).orElseThrow().destroyForcibly();
      Await.until(
          ControlHarness.PATIENCE,
          program + " to be another process",
          () ->
              harness
                  .processes
                  .find(program)
                  .filter(found -> found.pid() != before.get(program))
                  .isPresent());
      awaitAll();
      try (KubeClient api = harness.awaitAccess().open()) {
        Await.until(ControlHarness.PATIENCE, "the API", () -> api.answers("/readyz"));
      }
    }
  }

  @Test
  @Order(9)
  @Tag("full")
  @DisplayName("a program that hangs is named, ended and started again")
  void stopped() throws Exception {
    long before = harness.pid("kube-scheduler");
    assertEquals(0, new ProcessBuilder("kill", "-STOP", Long.toString(before)).start().waitFor());

    Await.until(
        ControlHarness.PATIENCE,
        "the condition that names it",
        () ->
            harness.health.all().peek().orElseThrow().stream()
                .anyMatch(
                    each ->
                        each.code().equals("kubernetes-program-silent")
                            && each.reason().contains("kube-scheduler")));
    Await.until(
        ControlHarness.PATIENCE,
        "another process in its place",
        () ->
            harness
                .processes
                .find("kube-scheduler")
                .filter(found -> found.pid() != before)
                .isPresent());
    awaitAll();
  }

  @Test
  @Order(10)
  @DisplayName("only this user can read the files, and no secret is on a command line")
  void secretsStaySecret() throws Exception {
    Path files = harness.folder(ControlFolder.FOLDER).path();
    String encryption = Files.readString(files.resolve("encryption.json"));
    String key = encryption.replaceAll("(?s).*\"secret\": \"([^\"]+)\".*", "$1");
    try (var found = Files.list(files)) {
      for (Path each : found.filter(Files::isRegularFile).toList()) {
        assertEquals(
            "rw-------",
            PosixFilePermissions.toString(Files.getPosixFilePermissions(each)),
            each.toString());
      }
    }
    for (String program : PROGRAMS) {
      String line = Files.readString(Path.of("/proc/" + harness.pid(program) + "/cmdline"));
      assertFalse(line.contains(key), program);
    }
  }

  @Test
  @Order(10)
  @Tag("attack")
  @DisplayName(
      "on a node that is root, no program runs as root, gains rights, or reads another's key")
  void accounts() throws Exception {
    Needs.root("running a process as another account");
    Map<String, Account> accounts =
        Map.of(
            "kube-apiserver",
            Account.KUBE_APISERVER,
            "kube-controller-manager",
            Account.KUBE_CONTROLLER_MANAGER,
            "kube-scheduler",
            Account.KUBE_SCHEDULER);
    for (String program : PROGRAMS) {
      int number = accounts.get(program).number();
      List<String> status =
          Files.readAllLines(Path.of("/proc/" + harness.pid(program) + "/status"));
      assertTrue(
          status.contains("Uid:" + ("\t" + number).repeat(4)), () -> program + ": " + status);
      assertTrue(
          status.contains("Gid:" + ("\t" + number).repeat(4)), () -> program + ": " + status);
      assertTrue(status.contains("NoNewPrivs:\t1"), status::toString);
      assertTrue(status.contains("CapEff:\t0000000000000000"), status::toString);
    }
    ControlFolder files = new ControlFolder(harness.folder(ControlFolder.FOLDER));
    for (ControlFile each : ControlFile.values()) {
      for (Account account : accounts.values()) {
        assertEquals(
            account.name().equals("KUBE_" + each.reader().name().replace("API_S", "APIS")),
            readable(files.placement(each).path(), account),
            each + " by " + account);
      }
    }
  }

  private static boolean readable(Path file, Account account) throws Exception {
    List<String> cat = Commands.located(List.of("cat", file.toString()));
    return new Commands().run(Duration.ofSeconds(10), RunAs.command(account.text(), cat)).ok();
  }

  @Test
  @Order(11)
  @DisplayName("a removed role leaves no program, no file and no address; the cluster's data stays")
  void removed() throws Exception {
    boolean root = System.getProperty("user.name").equals("root");
    if (root) {
      assertNotNull(NetworkInterface.getByInetAddress(harness.hostAddress()));
    }
    List<RunningProcess> before = pids().values().stream().map(RunningProcess::of).toList();

    harness.stop(StopReason.ROLE_REMOVED);

    assertEquals(List.of(), before.stream().filter(RunningProcess::runs).toList());
    assertEquals(
        null, NetworkInterface.getByInetAddress(harness.hostAddress()), "the host address");
    assertEquals(List.of(), harness.folder(ControlFolder.FOLDER).list());
    assertTrue(recorded(), "the records stay");
    try (EtcdClient etcd = EtcdClient.connect(harness.access("root", EtcdNamespace.ROOT))) {
      assertTrue(etcd.kv().get("/registry/secrets/default/mine").isPresent());
    }
  }

  @Test
  @Order(12)
  @DisplayName(
      "a port that is taken at the start of an added role is named as the reason, and the control plane recovers, with the cluster's data, when it is free")
  void takenPort() throws Exception {
    boolean root = System.getProperty("user.name").equals("root");
    Optional<HostAddress> host =
        root
            ? Optional.of(
                new HostAddress(
                    harness.folder(HostAddress.FOLDER),
                    harness.hostAddress(),
                    Path.of(harness.programs)))
            : Optional.empty();
    if (host.isPresent()) {
      assertEquals(Optional.empty(), host.get().claim("test"));
    }
    try (ServerSocket taken =
        new ServerSocket(6443, 1, root ? harness.hostAddress() : harness.address)) {
      harness.start();
      Await.until(
          ControlHarness.PATIENCE,
          "the reason given by " + taken,
          () ->
              harness.tree.runnables().peek().orElseThrow().stream()
                  .anyMatch(
                      each ->
                          each.dn().endsWith("kube-apiserver")
                              && each.lastError().contains("address already in use")));
    }
    awaitAll();
    try (KubeClient api = harness.awaitAccess().open()) {
      assertTrue(api.find("/api/v1/namespaces/default/secrets/mine").isPresent());
    }
    if (host.isPresent()) {
      host.get().release("test");
      assertNotNull(
          NetworkInterface.getByInetAddress(harness.hostAddress()), "the role still claims it");
    }
  }
}
