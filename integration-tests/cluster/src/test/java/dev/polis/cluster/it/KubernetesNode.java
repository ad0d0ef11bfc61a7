package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.RunningProcess;
import dev.polis.pki.OwnerKey;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * Runs a node with both roles of Kubernetes, and calls its API as the cluster's owner, with
 * kubectl. It needs root and the programs that {@code POLIS_KUBERNETES} names.
 */
final class KubernetesNode implements AutoCloseable {

  /** An API server and its first node take up to a minute on a shared machine. */
  static final Duration PATIENCE = Duration.ofSeconds(180);

  static final List<String> ROLES = List.of("KubernetesController", "KubernetesWorker");

  private static final int PROXY_PORT = 6444;
  private static final int DEBUG_PORT = 7837;

  /** Follows the range of Services, 10.96.0.0/16. */
  private static final int FIRST_PODS = 100;

  private final TestNode node;
  private final Path programs;
  private final List<String> options;

  /** Everything that the worker had made when it was last Ready. */
  private Optional<WorkerTraces> traces = Optional.empty();

  private KubernetesNode(TestNode node, Path programs, List<String> options) {
    this.node = node;
    this.programs = programs;
    this.options = options;
  }

  /** Skips the test with a reason where a worker cannot run. */
  static void assumeSupported() {
    missing().ifPresent(reason -> Assumptions.abort(reason));
  }

  private static Optional<String> missing() {
    if (!"root".equals(System.getProperty("user.name"))) {
      return Optional.of("a Kubernetes worker needs root");
    }
    String folder = System.getenv().getOrDefault("POLIS_KUBERNETES", "");
    if (folder.isEmpty()) {
      return Optional.of(
          "POLIS_KUBERNETES names no folder with Kubernetes' programs; \"polis test\" sets it");
    }
    return Files.isExecutable(Path.of(folder, "bin", "kubelet"))
        ? Optional.empty()
        : Optional.of(folder + "/bin holds no kubelet");
  }

  /**
   * Starts a node, takes ownership, and gives it both roles; the caller awaits the state that it
   * needs.
   */
  static KubernetesNode started(Path state, String address, String... more) throws Exception {
    return started(programs(), state, address, more);
  }

  /** Returns the folder of the programs that tests run. */
  static Path programs() {
    return Path.of(System.getenv("POLIS_KUBERNETES"));
  }

  /** Starts one with programs of the test's own. */
  static KubernetesNode started(Path programs, Path state, String address, String... more)
      throws Exception {
    List<String> options = new ArrayList<>();
    for (String pid : List.of("dev.polis.kubernetes", "dev.polis.containers")) {
      options.addAll(List.of("--set", pid + ".programs=" + programs));
    }
    options.addAll(List.of("--set", "dev.polis.kubernetes.pod.range=" + pods(address)));
    options.addAll(List.of(more));
    KubernetesNode started =
        new KubernetesNode(TestNode.prepared(state, address), programs, List.copyOf(options));
    try {
      started.up();
      started.node.takeOwnership();
      started.addRoles();
      started.writeKubeconfig();
      return started;
    } catch (Exception | AssertionError e) {
      started.close();
      throw e;
    }
  }

  /** Returns a range of Pods of the node's own, since several nodes run at the same time. */
  private static String pods(String address) {
    int third = Integer.parseInt(address.split("\\.")[2]);
    return "10.%d.0.0/16".formatted(FIRST_PODS + third);
  }

  /** Starts the node's process again, after it has ended. */
  void up() throws Exception {
    node.up(options.toArray(String[]::new));
  }

  /** Starts the node's process again with missing programs. */
  void upWithoutPrograms(Path nowhere) throws Exception {
    node.up(
        Stream.concat(
                options.stream(), Stream.of("--set", "dev.polis.kubernetes.programs=" + nowhere))
            .toArray(String[]::new));
  }

  TestNode node() {
    return node;
  }

  void addRoles() throws Exception {
    for (String role : ROLES) {
      node.ctl("node", "role", "add", node.id(), role).requireSuccess("role add " + role);
    }
  }

  void removeRoles() throws Exception {
    for (String role : ROLES.reversed()) {
      removeRole(role);
    }
  }

  void removeRole(String role) throws Exception {
    node.ctl("node", "role", "remove", node.id(), role).requireSuccess("role remove " + role);
  }

  /** Waits until the API has neither a Node object nor its lease. */
  void awaitNoNodeObject() throws Exception {
    Await.until(
        PATIENCE,
        "the deletion of the Node object and its lease",
        () ->
            json("get", "nodes").getAsJsonArray("items").isEmpty()
                && json("get", "leases", "-n", "kube-node-lease")
                    .getAsJsonArray("items")
                    .isEmpty());
  }

  private void writeKubeconfig() throws Exception {
    writeKubeconfig(kubeconfig(), node.state().resolve("owner"), node.address(), node.id());
  }

  /**
   * Writes the owner's certificate as a file, so that commands need not run a credential program.
   */
  static void writeKubeconfig(Path to, Path owner, String address, String id) throws IOException {
    Path key = to.resolveSibling("owner-key-of-kubectl.pem");
    Files.writeString(
        key,
        OwnerKey.write(
            OwnerKey.read(Files.readString(owner.resolve("owner-key.pem"))), OwnerKey.Form.PKCS8));
    Files.writeString(
        to,
        """
        apiVersion: v1
        kind: Config
        clusters:
        - name: polis
          cluster:
            server: https://%s:%d
            tls-server-name: %s
            certificate-authority: %s
        users:
        - name: owner
          user:
            client-certificate: %s
            client-key: %s
        contexts:
        - name: polis
          context: {cluster: polis, user: owner}
        current-context: polis
        """
            .formatted(
                address, PROXY_PORT, id, owner.resolve("ca.pem"), owner.resolve("owner.pem"), key));
  }

  Path kubeconfig() {
    return node.state().resolve("kubeconfig-of-test");
  }

  /**
   * Writes an administrator's credentials for the API server itself, since Kubernetes' suite does
   * not support a server name that differs from the address. The node was started with {@code
   * dev.polis.debug.kubeconfig=true}.
   */
  Path administrator() throws Exception {
    ManagedChannel channel =
        RpcClients.plaintext(new InetSocketAddress(node.address(), DEBUG_PORT));
    try {
      String credentials =
          NodeDebugServiceGrpc.newBlockingStub(channel)
              .getDebugKubeconfig(
                  GetDebugKubeconfigRequest.newBuilder()
                      .setId("tests")
                      .addGroups("system:masters")
                      .build())
              .getDebugKubeconfig();
      return Files.writeString(node.state().resolve("kubeconfig-of-administrator"), credentials);
    } finally {
      channel.shutdownNow();
    }
  }

  Path program(String name) {
    return programs.resolve("bin").resolve(name);
  }

  /** Runs kubectl to its end. */
  Finished kubectl(String... arguments) throws Exception {
    return Finished.of(kubectlCommand(arguments), Map.of(), PATIENCE);
  }

  /** Returns the command line of kubectl. */
  List<String> kubectlCommand(String... arguments) {
    return Stream.concat(
            Stream.of(program("kubectl").toString(), "--kubeconfig", kubeconfig().toString()),
            Stream.of(arguments))
        .toList();
  }

  /** Runs kubectl, requires success, and returns its output, without surrounding white space. */
  String said(String... arguments) throws Exception {
    return kubectl(arguments)
        .requireSuccess("kubectl " + String.join(" ", arguments))
        .out()
        .strip();
  }

  JsonObject json(String... arguments) throws Exception {
    String[] more =
        Stream.concat(Stream.of(arguments), Stream.of("-o", "json")).toArray(String[]::new);
    return JsonParser.parseString(said(more)).getAsJsonObject();
  }

  /** Makes the objects of a YAML text. */
  void apply(String yaml) throws Exception {
    Path file = Files.createTempFile("polis-objects", ".yaml");
    try {
      Files.writeString(file, yaml);
      said("apply", "-f", file.toString());
    } finally {
      Files.delete(file);
    }
  }

  /** Waits until the one node is Ready. */
  void awaitReady() throws Exception {
    Await.until(
        PATIENCE,
        "the Kubernetes node to be Ready",
        () -> condition("True"),
        () -> "this is how it is:\n" + describe());
    traces = Optional.of(WorkerTraces.of(node));
  }

  private boolean condition(String wanted) throws Exception {
    Finished found =
        kubectl(
            "get",
            "nodes",
            "-o",
            "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}");
    return found.code() == 0 && found.out().strip().equals(wanted);
  }

  /** Returns the state of the node and the API, for the message of a failure. */
  private String describe() {
    try {
      return kubectl("get", "nodes,pods", "-A").all() + "\n" + node.ctl("health").all();
    } catch (Exception e) {
      return "nothing: " + e.getMessage();
    }
  }

  /** Loads an archive of images into the node. */
  void loadImages(Path archive) throws Exception {
    node.ctl("image", "load", archive.toString()).requireSuccess("image load");
  }

  /** Waits until all network devices, addresses, cgroups and mounts of the worker are removed. */
  void awaitNothingLeft() throws Exception {
    AtomicReference<List<String>> left = new AtomicReference<>(List.of());
    Await.until(
        PATIENCE,
        "nothing to be left of the roles",
        () -> {
          left.set(left());
          return left.get().isEmpty();
        },
        () -> "they left this behind: " + left.get());
  }

  private List<String> left() throws Exception {
    List<String> left = new ArrayList<>(traces.orElseThrow().left());
    node.mounts().stream().filter(mount -> mount.contains("containers")).forEach(left::add);
    return left;
  }

  /** Returns the processes of all Pods, without short-lived ones. */
  Set<RunningProcess> podProcesses() throws Exception {
    Set<RunningProcess> found = new HashSet<>();
    for (JsonElement item : json("get", "pods", "-A").getAsJsonArray("items")) {
      String uid = item.getAsJsonObject().getAsJsonObject("metadata").get("uid").getAsString();
      for (ProcessHandle handle : ProcessHandle.allProcesses().toList()) {
        if (cgroups(handle.pid()).contains(uid) && !isSleep(handle.pid())) {
          RunningProcess.find(handle.pid()).ifPresent(found::add);
        }
      }
    }
    return found;
  }

  /**
   * Stops the node, and requires that no process of a Pod remains, nothing that its worker has
   * made, and nothing of the node itself.
   *
   * @param killed whether the node's process is killed before
   */
  void requireWholeStop(boolean killed) throws Exception {
    WorkerTraces made = WorkerTraces.of(node);
    Set<RunningProcess> pods = podProcesses();
    assertFalse(pods.isEmpty(), "no process of a Pod is seen");
    if (killed) {
      node.killJvm();
      assertEquals(pods, alive(pods), "Pods outlive the node's process");
    }

    node.stop();

    assertEquals(Set.of(), alive(pods));
    assertEquals(List.of(), made.left());
    assertEquals(List.of(), node.leftovers());
  }

  private static Set<RunningProcess> alive(Set<RunningProcess> processes) {
    return processes.stream().filter(RunningProcess::runs).collect(Collectors.toSet());
  }

  private static String cgroups(long pid) {
    return read(Path.of("/proc/" + pid + "/cgroup")).orElse("");
  }

  private static boolean isSleep(long pid) {
    return read(Path.of("/proc/" + pid + "/comm")).orElse("").strip().equals("sleep");
  }

  private static Optional<String> read(Path file) {
    try {
      return Optional.of(Files.readString(file));
    } catch (IOException gone) {
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    node.close();
  }
}
