package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.containers.Isolation;
import dev.polis.files.FilePlacement;
import dev.polis.fixtures.Needs;
import dev.polis.process.Account;
import dev.polis.process.ProcessSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Writes the configuration files and command lines of the worker's programs. */
class WorkerFilesTest {

  private static final String LOOPBACK = "127.0.3.1";

  /** Derived from 127.0.3.1: (3 × 256 + 1) × 2 = 1538, and the next one is the worker's. */
  private static final String HOST = "198.18.6.2";

  private static final String WORKER = "198.18.6.3";

  /** The flags that the kubelets of 1.34 to 1.36 share and that are not deprecated. */
  private static final List<String> KUBELET_FLAGS =
      List.of(
          "--config",
          "--kubeconfig",
          "--hostname-override",
          "--node-ip",
          "--root-dir",
          "--cert-dir",
          "--v");

  @TempDir Path directory;

  private WorkerFixture isolated(int minor) throws Exception {
    return new WorkerFixture(directory, LOOPBACK, Isolation.NAMESPACES, minor);
  }

  private static JsonObject json(String text) {
    return JsonParser.parseString(text).getAsJsonObject();
  }

  @ParameterizedTest
  @ValueSource(ints = {34, 35, 36})
  @DisplayName(
      "the kubelet of each supported release gets only flags that it knows, and all other settings in its file")
  void kubeletFlags(int minor) throws Exception {
    WorkerFixture worker = isolated(minor);
    KubeletFiles kubelet = new KubeletFiles(worker.plan, worker.files);
    String last = kubelet.script().lines().toList().getLast();
    List<String> flags = Stream.of(last.split("'")).filter(part -> part.startsWith("--")).toList();
    assertEquals(
        KUBELET_FLAGS, flags.stream().map(flag -> flag.replaceFirst("=.*", "")).toList(), last);
    assertTrue(flags.contains("--hostname-override=" + worker.plan.node()), last);
    assertTrue(flags.contains("--node-ip=" + WORKER), last);
    JsonObject configuration = json(kubelet.configuration(worker.runtime()));
    assertFalse(configuration.get("failCgroupV1").getAsBoolean());
    assertEquals("/polis-p1", configuration.get("cgroupRoot").getAsString());
    assertEquals(
        "unix:///run/c/c.sock", configuration.get("containerRuntimeEndpoint").getAsString());
    assertEquals("169.254.77.53", configuration.getAsJsonArray("clusterDNS").get(0).getAsString());
    assertEquals(WORKER, configuration.get("address").getAsString());
    assertEquals("VersionTLS13", configuration.get("tlsMinVersion").getAsString());
    assertEquals(1024, configuration.get("podPidsLimit").getAsInt());
    assertTrue(configuration.get("seccompDefault").getAsBoolean());
    JsonObject eviction = configuration.getAsJsonObject("evictionHard");
    for (String disk : List.of("nodefs", "imagefs")) {
      assertTrue(eviction.get(disk + ".available").getAsString().matches("[1-9]\\d*Mi"));
      assertEquals("1%", eviction.get(disk + ".inodesFree").getAsString());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {34, 35, 36})
  @DisplayName("K8S-06 no feature gate of a worker's program is set, by a flag or in a file")
  void k8s06_noFeatureGates(int minor) throws Exception {
    WorkerFixture worker = isolated(minor);
    KubeletFiles kubelet = new KubeletFiles(worker.plan, worker.files);
    ProxyFiles proxy = new ProxyFiles(worker.plan, worker.files);
    assertFalse(json(kubelet.configuration(worker.runtime())).has("featureGates"));
    assertFalse(json(proxy.configuration()).has("featureGates"));
    String said =
        kubelet.script()
            + kubelet.prepare(worker.runtime()).command()
            + proxy.prepare(worker.runtime()).command();
    assertFalse(said.contains("feature-gates"), said);
  }

  @Test
  @DisplayName("in namespaces, only the kubelet sees files in place of the kernel's settings")
  void kernelFiles() throws Exception {
    WorkerFixture worker = isolated(36);
    KubeletFiles kubelet = new KubeletFiles(worker.plan, worker.files);
    ProcessSpec spec = kubelet.prepare(worker.runtime());
    assertTrue(
        spec.command().containsAll(List.of("--mount", "--propagation", "unchanged")),
        spec.command().toString());
    assertEquals("/usr/bin/nsenter", spec.command().getFirst());
    assertTrue(kubelet.script().contains("mount --make-rprivate /proc\n"), kubelet.script());
    Path panic = worker.files.kernel().resolve("kernel_panic");
    assertTrue(
        kubelet.script().contains("mount --bind '%s' '/proc/sys/kernel/panic'".formatted(panic)),
        kubelet.script());
    assertEquals("10\n", Files.readString(panic));
  }

  @Test
  @DisplayName(
      "on a machine of the node's own, the kubelet starts without wrappers and may evict Pods")
  void machine() throws Exception {
    WorkerFixture worker = new WorkerFixture(directory, "192.0.2.7", Isolation.MACHINE, 36);
    KubeletFiles kubelet = new KubeletFiles(worker.plan, worker.files);
    ProcessSpec spec = kubelet.prepare(worker.runtime());
    assertEquals(worker.plan.programs().program("kubelet").toString(), spec.command().getFirst());
    assertFalse(json(kubelet.configuration(worker.runtime())).has("evictionHard"));
    assertEquals("https://127.0.0.1:6445", worker.plan.balancer().toString());
    String corefile = new DnsFiles(worker.plan, worker.files).corefile();
    assertTrue(corefile.contains("    bind 169.254.77.53\n"), corefile);
    assertTrue(corefile.contains("    forward . /etc/resolv.conf\n"), corefile);
  }

  @Test
  @DisplayName(
      "a second preparation gives the same process; another program under its path gives a new one")
  void adopted() throws Exception {
    WorkerFixture worker = isolated(36);
    for (ChildTask.Preparation preparation :
        List.<ChildTask.Preparation>of(
            new KubeletFiles(worker.plan, worker.files)::prepare,
            new ProxyFiles(worker.plan, worker.files)::prepare,
            runtime -> dns(worker).prepare(runtime, dns(worker).owner()))) {
      ProcessSpec first = preparation.prepare(worker.runtime());
      assertEquals(first.digest(), preparation.prepare(worker.runtime()).digest());
      Files.writeString(worker.plan.programs().program(first.name()), "another build");
      assertNotEquals(first.digest(), preparation.prepare(worker.runtime()).digest());
    }
  }

  private static DnsFiles dns(WorkerFixture worker) {
    return new DnsFiles(worker.plan, worker.files);
  }

  @Test
  @DisplayName(
      "on a node that is root the DNS server gets an account inside the sandbox, port 53, and only its own files")
  void dnsAccount() throws Exception {
    Needs.root("giving a file to another account");
    WorkerFixture worker = isolated(36);
    Path program = worker.plan.programs().program(DnsFiles.NAME);
    WorkerKeys.ensure(worker.files);
    worker.letOthersPass(program);

    ProcessSpec spec = dns(worker).prepare(worker.runtime(), dns(worker).owner());
    new ProxyFiles(worker.plan, worker.files).prepare(worker.runtime());

    assertEquals("", spec.account(), "nsenter needs root");
    List<String> line = spec.command();
    int change = line.indexOf("--reuid=" + Account.COREDNS.number());
    assertTrue(change > line.indexOf("--net=/n"), line::toString);
    assertTrue(change < line.indexOf(program.toString()), line::toString);
    assertTrue(line.contains("--ambient-caps=+net_bind_service"), line::toString);
    assertTrue(line.contains("--no-new-privs"), line::toString);
    for (FilePlacement each :
        List.of(
            worker.files.netservicesKey,
            worker.files.netservicesKubeconfig,
            worker.files.corefile)) {
      assertEquals(Account.COREDNS.number(), Files.getAttribute(each.path(), "unix:uid"));
      assertEquals(
          "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(each.path())));
    }
    assertEquals(0, Files.getAttribute(worker.files.kubeletKey.path(), "unix:uid"));
  }

  @Test
  @DisplayName(
      "programs reach the API server through the load balancer, by a name in the certificates of all servers")
  void kubeconfig() throws Exception {
    WorkerFixture worker = isolated(36);
    new ProxyFiles(worker.plan, worker.files).prepare(worker.runtime());
    JsonObject config = json(Files.readString(worker.files.netservicesKubeconfig.path()));
    JsonObject cluster =
        config.getAsJsonArray("clusters").get(0).getAsJsonObject().getAsJsonObject("cluster");
    assertEquals("https://" + HOST + ":6445", cluster.get("server").getAsString());
    assertEquals("kubernetes.default.svc", cluster.get("tls-server-name").getAsString());
    JsonObject user = config.getAsJsonArray("users").get(0).getAsJsonObject();
    assertEquals(
        worker.files.netservicesKey.toString(),
        user.getAsJsonObject("user").get("client-key").getAsString());
  }

  @Test
  @DisplayName("the service proxy uses nftables and leaves the kernel's connection tracking alone")
  void proxy() throws Exception {
    WorkerFixture worker = isolated(36);
    JsonObject proxy = json(new ProxyFiles(worker.plan, worker.files).configuration());
    assertEquals("nftables", proxy.get("mode").getAsString());
    assertEquals("10.244.0.0/16", proxy.get("clusterCIDR").getAsString());
    assertEquals(0, proxy.getAsJsonObject("conntrack").get("min").getAsInt());
    assertEquals(worker.plan.node().text(), proxy.get("hostnameOverride").getAsString());
  }

  @Test
  @DisplayName("each block of the DNS server's file has its opening and closing lines to itself")
  void corefile() throws Exception {
    WorkerFixture worker = isolated(36);
    String corefile = new DnsFiles(worker.plan, worker.files).corefile();
    assertEquals(
        """
        .:53 {
            errors
            ready %s:10253
            kubernetes cluster.local in-addr.arpa ip6.arpa {
                kubeconfig %s
                pods insecure
                fallthrough in-addr.arpa ip6.arpa
            }
            cache 30
            loadbalance
        }
        """
            .formatted(WORKER, worker.files.netservicesKubeconfig),
        corefile);
  }

  @Test
  @DisplayName("Pods get the node's own range, behind a bridge that masquerades outgoing traffic")
  void podNetwork() throws Exception {
    WorkerFixture worker = isolated(36);
    PodNetworkFiles.write(worker.files.network(), "10.244.3.0/24");
    String text = Files.readString(worker.files.network().resolve("10-polis.conflist"));
    JsonObject bridge = json(text).getAsJsonArray("plugins").get(0).getAsJsonObject();
    assertTrue(bridge.get("ipMasq").getAsBoolean(), text);
    assertTrue(bridge.getAsJsonObject("ipam").toString().contains("10.244.3.0/24"), text);
  }

  @Test
  @DisplayName("keys are made once, 0600, and stay when the role's configuration is deleted")
  void keys() throws Exception {
    WorkerFixture worker = isolated(36);
    WorkerKeys first = WorkerKeys.ensure(worker.files);
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(
            Files.getPosixFilePermissions(worker.files.kubeletKey.path())));
    new KubeletFiles(worker.plan, worker.files).prepare(worker.runtime());
    Path volume = Files.createDirectory(worker.files.volumes().resolve("pvc-1"));
    Files.createDirectories(worker.files.kubelet().resolve("pods/a"));
    worker.files.deleteConfiguration();
    assertEquals(first, WorkerKeys.ensure(worker.files));
    assertFalse(worker.files.kubeletConfiguration.exists());
    assertFalse(Files.exists(worker.files.kubelet().resolve("pods")));
    assertTrue(Files.exists(volume));
  }
}
