package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.files.layout.Root;
import dev.polis.kubernetes.audit.AuditFiles;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.kubernetes.settings.AuditSettings;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.kubernetes.settings.KubernetesVersion;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.process.ChildOwner;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ControlCommandsTest {

  private static final NodeId NODE = NodeId.of(Ed25519.generate().getPublic());
  private static final List<EtcdEndpoint> ETCD =
      List.of(EtcdEndpoint.of("10.0.0.7:7833"), EtcdEndpoint.of("[fd00::1]:7833"));

  private static final ChildOwner NODE_ITSELF = new ChildOwner("", -1, "", "");
  private static final ControlOwners NODES =
      new ControlOwners(NODE_ITSELF, NODE_ITSELF, NODE_ITSELF);

  @TempDir Path folder;

  private static KubernetesSettings settings() {
    return new KubernetesSettings(
        6444,
        "/programs",
        6443,
        6445,
        AddressRange.of("10.244.0.0/16"),
        AddressRange.of("10.96.0.0/16"),
        "cluster.local",
        AddressRange.of("198.18.0.0/15"),
        "auto",
        AuditSettings.STANDARD);
  }

  private ControlFolder files() throws Exception {
    var placement = Root.at(folder).data().organFolder(ControlFolder.FOLDER);
    placement.create();
    return new ControlFolder(placement);
  }

  private ControlCommands commands(int minor, String address) throws Exception {
    return new ControlCommands(
        new KubernetesPrograms(folder, new KubernetesVersion(1, minor, 0)),
        settings(),
        ControlPlace.of(NODE, InetAddress.ofLiteral(address), settings()),
        files(),
        new AuditFiles(folder.resolve("data/kubernetes-audit")));
  }

  @ParameterizedTest
  @ValueSource(ints = {34, 35, 36})
  @DisplayName("the API server of each supported release gets etcd, keys, ranges and addresses")
  void apiServer(int minor) throws Exception {
    ControlCommands commands = commands(minor, "10.0.0.7");
    List<String> line = commands.apiServer(ETCD);

    assertEquals(folder.resolve("bin/kube-apiserver").toString(), line.getFirst());
    for (String flag :
        List.of(
            "--etcd-servers=https://10.0.0.7:7833,https://[fd00::1]:7833",
            "--advertise-address=10.0.0.7",
            "--bind-address=10.0.0.7",
            "--secure-port=6443",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--requestheader-allowed-names=front-proxy-client,polis-auth-proxy-client",
            "--tls-min-version=VersionTLS13",
            "--encryption-provider-config="
                + folder.resolve("data/kubernetes-controller/encryption.json"))) {
      assertTrue(line.contains(flag), () -> flag + " in " + line);
    }
    assertEquals(line.size(), line.stream().map(flag -> flag.split("=")[0]).distinct().count());
    assertEquals(line, commands(minor, "10.0.0.7").apiServer(ETCD), "the same after a restart");
  }

  @ParameterizedTest
  @ValueSource(ints = {34, 35, 36})
  @DisplayName(
      "the other two programs find the API server by kubeconfig, and serve this node alone")
  void others(int minor) throws Exception {
    ControlCommands commands = commands(minor, "127.0.3.4");
    for (List<String> line : List.of(commands.controllerManager(), commands.scheduler())) {
      assertTrue(line.contains("--bind-address=127.0.3.4"), line::toString);
      assertTrue(line.contains("--leader-elect=true"), line::toString);
    }
    assertTrue(commands.controllerManager().contains("--cluster-cidr=10.244.0.0/16"));
    assertTrue(commands.controllerManager().contains("--allocate-node-cidrs=true"));
    assertTrue(
        commands(minor, "10.0.0.7").scheduler().contains("--bind-address=127.0.0.1"),
        "a node with an address of its own has the loopback address for itself");
    List<String> all = new ArrayList<>(commands.controllerManager());
    all.addAll(commands.scheduler());
    assertFalse(all.stream().anyMatch(each -> each.startsWith("--port")), "gone since 1.24");
  }

  @ParameterizedTest
  @ValueSource(ints = {34, 35, 36})
  @DisplayName(
      "K8S-06 no feature gate is set: each release enables by default all that a node needs")
  void k8s06_noFeatureGates(int minor) throws Exception {
    ControlCommands commands = commands(minor, "10.0.0.7");
    List<String> all = new ArrayList<>(commands.apiServer(ETCD));
    all.addAll(commands.controllerManager());
    all.addAll(commands.scheduler());

    assertFalse(all.stream().anyMatch(each -> each.startsWith("--feature-gates")), all::toString);
  }

  @ParameterizedTest
  @ValueSource(ints = {34, 35, 36})
  @DisplayName(
      "the API server's audit log has 64 MiB in four files, with any defaults of a release")
  void auditLog(int minor) throws Exception {
    List<String> line = commands(minor, "10.0.0.7").apiServer(ETCD);

    for (String flag :
        List.of(
            "--audit-log-path=" + folder.resolve("data/kubernetes-audit/audit.log"),
            "--audit-log-maxsize=16",
            "--audit-log-maxbackup=3",
            "--audit-log-maxage=0",
            "--audit-policy-file="
                + folder.resolve("data/kubernetes-controller/audit-policy.json"))) {
      assertTrue(line.contains(flag), () -> flag + " in " + line);
    }
  }

  @Test
  @DisplayName("a node at a loopback address announces its host address")
  void loopback() throws Exception {
    List<String> line = commands(36, "127.0.3.4").apiServer(ETCD);

    assertTrue(line.contains("--advertise-address=198.18.6.8"), line::toString);
    assertTrue(line.contains("--bind-address=198.18.6.8"), line::toString);
  }

  @Test
  @DisplayName(
      "a change of a file that a program reads only once, and no other change, starts a new process")
  void fingerprint() throws Exception {
    Files.createDirectories(folder.resolve("bin"));
    for (String program : KubernetesPrograms.ofController()) {
      Files.writeString(folder.resolve("bin").resolve(program), program);
    }
    ControlCommands commands = commands(36, "10.0.0.7");
    ControlFolder files = commands.files();
    for (ControlFile each : ControlFile.values()) {
      files.write(each, each.name());
    }
    ControlSpecs first = ControlSpecs.of(commands, files, NODES, ETCD);

    files.write(ControlFile.API_SERVER, "renewed");
    files.write(ControlFile.ETCD_CLIENT, "renewed");
    files.write(ControlFile.CONTROLLER_MANAGER_CLIENT, "renewed");
    files.write(ControlFile.ENCRYPTION, "renewed");
    assertEquals(first, ControlSpecs.of(commands, files, NODES, ETCD));

    files.write(ControlFile.AUDIT_POLICY, "another");
    assertNotEquals(
        first.apiServer().digest(),
        ControlSpecs.of(commands, files, NODES, ETCD).apiServer().digest());
    files.write(ControlFile.AUDIT_POLICY, ControlFile.AUDIT_POLICY.name());

    files.write(ControlFile.SCHEDULER_CONFIG, "another");
    ControlSpecs second = ControlSpecs.of(commands, files, NODES, ETCD);
    assertEquals(first.apiServer(), second.apiServer());
    assertEquals(first.controllerManager(), second.controllerManager());
    assertNotEquals(first.scheduler().digest(), second.scheduler().digest());

    Files.writeString(folder.resolve("bin/kube-apiserver"), "another build");
    assertNotEquals(
        first.apiServer().digest(),
        ControlSpecs.of(commands, files, NODES, ETCD).apiServer().digest());
  }

  @Test
  @DisplayName("configuration files are JSON with the intended content, the same at each start")
  void configurations() {
    JsonObject config =
        JsonParser.parseString(
                ControlConfigs.kubeconfig(URI.create("https://10.0.0.7:6443"), "/a \"b\"", "/c"))
            .getAsJsonObject();
    JsonObject cluster =
        config.getAsJsonArray("clusters").get(0).getAsJsonObject().getAsJsonObject("cluster");
    assertEquals("https://10.0.0.7:6443", cluster.get("server").getAsString());
    assertEquals("/a \"b\"", cluster.get("certificate-authority").getAsString());
    assertEquals("kubernetes.default.svc", cluster.get("tls-server-name").getAsString());
    JsonObject user =
        config.getAsJsonArray("users").get(0).getAsJsonObject().getAsJsonObject("user");
    assertEquals("/c", user.get("client-certificate").getAsString());
    assertEquals("/c", user.get("client-key").getAsString());

    String encryption = ControlConfigs.encryption("AAAA");
    assertEquals(encryption, ControlConfigs.encryption("AAAA"));
    var providers =
        JsonParser.parseString(encryption)
            .getAsJsonObject()
            .getAsJsonArray("resources")
            .get(0)
            .getAsJsonObject()
            .getAsJsonArray("providers");
    assertTrue(providers.get(0).getAsJsonObject().has("secretbox"), "new values are encrypted");
    assertTrue(providers.get(1).getAsJsonObject().has("identity"), "old values can be read");
  }
}
