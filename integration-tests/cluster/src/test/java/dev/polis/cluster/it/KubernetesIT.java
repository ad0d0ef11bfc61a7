package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.process.Account;
import dev.polis.process.Commands;
import dev.polis.process.RunAs;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs usual workloads of Kubernetes on one node with both roles. {@code ./polis test} runs two of
 * them.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesIT {

  private static final String WEB =
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 3
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            terminationGracePeriodSeconds: 1
            containers:
            - name: web
              image: %1$s
              imagePullPolicy: Never
              env: [{name: EDITION, value: first}]
              command: [sh, -c, "mkdir /www; echo $EDITION edition >/www/index.html; exec httpd -f -p 8080 -h /www"]
              readinessProbe: {httpGet: {path: /index.html, port: 8080}, periodSeconds: 1}
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: web}
      spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: shell}
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: shell
          image: %1$s
          imagePullPolicy: Never
          command: [sh, -c, "echo the shell is up; exec sleep 1000000"]
      """
          .formatted(BusyboxImage.NAME);

  private static final String CLAIM =
      """
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: notes}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 16Mi}}}
      """;

  private static final String WRITER =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: writer}
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: writer
          image: %s
          imagePullPolicy: Never
          command: [sh, -c, "echo a line >> /notes/lines; exec sleep 1000000"]
          volumeMounts: [{name: notes, mountPath: /notes}]
        volumes: [{name: notes, persistentVolumeClaim: {claimName: notes}}]
      """
          .formatted(BusyboxImage.NAME);

  private static final String KEPT_CLASS =
      """
      apiVersion: storage.k8s.io/v1
      kind: StorageClass
      metadata: {name: kept}
      provisioner: polis.dev/local
      reclaimPolicy: Retain
      volumeBindingMode: WaitForFirstConsumer
      """;

  private static final String RECLAIM = "jsonpath={.spec.persistentVolumeReclaimPolicy}";

  private static final String BLOCK_DEVICE = "volumeDevices: [{name: block, devicePath: /dev/b}]";

  private static final String BOMB =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: bomb}
      spec:
        terminationGracePeriodSeconds: 0
        restartPolicy: Never
        containers:
        - name: bomb
          image: %s
          imagePullPolicy: Never
          command: [sh, -c, "while true; do sleep 1000000 & done"]
      """
          .formatted(BusyboxImage.NAME);

  /** The node prevents three of these Pods; the one without its ConfigMap has its own mistake. */
  private static final String STUCK =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: stuck}
      spec:
        terminationGracePeriodSeconds: 0
        containers: [{name: c, image: "example.test/none:1", imagePullPolicy: Never}]
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: unfetched}
      spec:
        terminationGracePeriodSeconds: 0
        containers: [{name: c, image: "127.0.0.1:1/none:1"}]
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: to-blame}
      spec:
        terminationGracePeriodSeconds: 0
        containers:
        - name: c
          image: %1$s
          imagePullPolicy: Never
          envFrom: [{configMapRef: {name: not-there}}]
      ---
      apiVersion: node.k8s.io/v1
      kind: RuntimeClass
      metadata: {name: absent}
      handler: absent
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: unboxed}
      spec:
        terminationGracePeriodSeconds: 0
        runtimeClassName: absent
        containers: [{name: c, image: "%1$s", imagePullPolicy: Never}]
      """
          .formatted(BusyboxImage.NAME);

  private static final String JOB =
      """
      apiVersion: batch/v1
      kind: Job
      metadata: {name: once}
      spec:
        completions: 3
        parallelism: 2
        template:
          spec:
            restartPolicy: Never
            containers: [{name: c, image: "%s", imagePullPolicy: Never, command: [echo, done]}]
      """
          .formatted(BusyboxImage.NAME);

  private static final String CRON_JOB =
      """
      apiVersion: batch/v1
      kind: CronJob
      metadata: {name: each-minute}
      spec:
        schedule: "* * * * *"
        jobTemplate:
          spec:
            template:
              spec:
                restartPolicy: Never
                containers: [{name: c, image: "%s", imagePullPolicy: Never, command: [date]}]
      """
          .formatted(BusyboxImage.NAME);

  private static final String POLICY =
      """
      apiVersion: networking.k8s.io/v1
      kind: NetworkPolicy
      metadata: {name: nobody}
      spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}
      """;

  private static final Pattern FORWARDED = Pattern.compile("127\\.0\\.0\\.1:(\\d+) -> 8080");

  private static final Pattern FIRED = Pattern.compile("each-minute-\\d+=1 ");

  /** A schedule fires on the minute; then its Pod has to start. */
  private static final Duration MINUTES = Duration.ofMinutes(3);

  private static final Duration ANSWER = Duration.ofSeconds(10);

  @TempDir static Path directory;
  private static KubernetesNode node;
  private static KubernetesStreams streams;

  @BeforeAll
  static void start() throws Exception {
    KubernetesNode.assumeSupported();
    node = KubernetesNode.started(directory.resolve("n"), "127.0.44.1");
    node.awaitReady();
    node.loadImages(BusyboxImage.write(node.program("busybox"), directory.resolve("image")));
    node.apply(WEB);
    streams = KubernetesStreams.to(node);
    // Made early, since it fires on the minute: the other tests run until then.
    node.apply(CRON_JOB);
    node.said("rollout", "status", "deployment/web", "--timeout=120s");
    node.said("wait", "--for=condition=Ready", "pod/shell", "--timeout=120s");
    streams.awaitPod();
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  @DisplayName("a Pod of a loaded image runs, its log is read, and commands run in it")
  void podWithLogsAndExec() throws Exception {
    // A Pod without a probe is Ready as soon as it runs.
    Await.until(
        KubernetesNode.PATIENCE,
        "the line that the Pod prints to be in its log",
        () -> node.said("logs", "shell").equals("the shell is up"));
    assertEquals("42", node.said("exec", "shell", "--", "sh", "-c", "echo $((40 + 2))"));
    Finished failing = node.kubectl("exec", "shell", "--", "sh", "-c", "exit 7");
    assertEquals(7, failing.code(), failing.all());
  }

  @Test
  @Tag("full")
  @DisplayName("a port of a Pod is forwarded to this machine")
  void portForward() throws Exception {
    Process forward =
        new ProcessBuilder(node.kubectlCommand("port-forward", "deployment/web", ":8080"))
            .redirectErrorStream(true)
            .start();
    try (BufferedReader said =
        new BufferedReader(
            new InputStreamReader(forward.getInputStream(), StandardCharsets.UTF_8))) {
      String line = String.valueOf(said.readLine());
      Matcher port = FORWARDED.matcher(line);
      assertTrue(port.find(), line);
      try (HttpClient http = HttpClient.newHttpClient()) {
        String page =
            http.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port.group(1) + "/"))
                        .timeout(ANSWER)
                        .build(),
                    BodyHandlers.ofString())
                .body();
        assertTrue(page.endsWith(" edition\n"), page);
      }
    } finally {
      forward.destroyForcibly().waitFor();
    }
  }

  @Test
  @Tag("full")
  @DisplayName("a rollout of a Deployment of three replaces its Pods by a new edition")
  void rolledDeployment() throws Exception {
    Set<String> before = pods("app=web");
    node.said("set", "env", "deployment/web", "EDITION=second");
    node.said("rollout", "status", "deployment/web", "--timeout=120s");
    Await.until(
        KubernetesNode.PATIENCE, "three Pods", () -> pods("app=web").size() == before.size());

    Set<String> after = pods("app=web");
    assertEquals(3, after.size(), after::toString);
    assertTrue(after.stream().noneMatch(before::contains), () -> before + " became " + after);
    Await.until(
        KubernetesNode.PATIENCE,
        "the Service to give the second edition",
        () -> fetched("http://web/").equals("second edition"));
  }

  @Test
  @Tag("full")
  @DisplayName("a Pod reaches a Service by its short name, its full name and its address")
  void serviceByName() throws Exception {
    String address = node.said("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}");
    for (String host : new String[] {"web", "web.default.svc.cluster.local", address}) {
      Await.until(
          KubernetesNode.PATIENCE,
          host + " to answer",
          () -> fetched("http://" + host + "/").endsWith(" edition"));
    }
    String api = node.said("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}");
    String looked =
        node.said("exec", "shell", "--", "nslookup", "kubernetes.default.svc.cluster.local");
    assertTrue(looked.contains(api), looked);
  }

  @Test
  @Tag("full")
  @DisplayName("a claim is bound, and the next Pod finds its data")
  void claimKeepsData() throws Exception {
    node.apply(CLAIM);
    for (int pod = 1; pod <= 2; pod++) {
      int lines = pod;
      node.apply(WRITER);
      node.said("wait", "--for=condition=Ready", "pod/writer", "--timeout=120s");
      assertEquals("Bound", node.said("get", "pvc", "notes", "-o", "jsonpath={.status.phase}"));
      Await.until(
          KubernetesNode.PATIENCE,
          "a line of each of %d Pods".formatted(pod),
          () -> notes().lines().count() == lines);
      node.said("delete", "pod", "writer", "--wait=true");
    }
    node.said("delete", "pvc", "notes", "--wait=false");
  }

  @Test
  @Tag("full")
  @DisplayName("a volume of a class that retains outlives its claim, with its data")
  void retained() throws Exception {
    node.apply(KEPT_CLASS);
    node.apply(
        CLAIM.replace("notes", "kept").replace("spec: {", "spec: {storageClassName: kept, "));
    node.apply(WRITER.replace("notes", "kept").replace("writer", "keeper"));
    node.said("wait", "--for=condition=Ready", "pod/keeper", "--timeout=120s");
    String volume = node.said("get", "pvc", "kept", "-o", "jsonpath={.spec.volumeName}");
    Path data =
        Path.of(node.said("get", "pv", volume, "-o", "jsonpath={.spec.local.path}"), "lines");
    Await.until(KubernetesNode.PATIENCE, "the line of the Pod", () -> Files.exists(data));
    node.said("delete", "pod", "keeper", "--wait=true");
    node.said("delete", "pvc", "kept", "--wait=true");
    Await.until(
        KubernetesNode.PATIENCE,
        "the volume to be released",
        () -> node.said("get", "pv", volume, "-o", "jsonpath={.status.phase}").equals("Released"));
    assertEquals("a line", Files.readString(data).strip());
    assertEquals("Retain", node.said("get", "pv", volume, "-o", RECLAIM));
    node.said("delete", "pv", volume);
  }

  @Test
  @Tag("full")
  @DisplayName("a claim for a block device gets an event that says why it gets none")
  void refusedClaim() throws Exception {
    node.apply(CLAIM.replace("notes", "block").replace("spec: {", "spec: {volumeMode: Block, "));
    node.apply(
        WRITER
            .replace("notes", "block")
            .replace("writer", "blocked")
            .replace("volumeMounts: [{name: block, mountPath: /block}]", BLOCK_DEVICE));
    Await.until(
        KubernetesNode.PATIENCE,
        "the event about the claim",
        () ->
            node.said("get", "events", "--field-selector", "involvedObject.name=block")
                .contains("has the volumeMode Block"));
    node.said("delete", "pod", "blocked", "--wait=true");
    node.said("delete", "pvc", "block", "--wait=false");
  }

  @Test
  @Tag("full")
  @DisplayName("the standard profile filters system calls of a Pod without a profile of its own")
  void seccomp() throws Exception {
    String status = node.said("exec", "shell", "--", "grep", "Seccomp:", "/proc/self/status");
    assertEquals("2", status.replaceAll("\\D", ""), status);
  }

  @Test
  @Tag("full")
  @Tag("attack")
  @DisplayName(
      "the DNS server of a node that is root has an account, one capability, and only its own key")
  void dnsAccount() throws Exception {
    long pid = node.node().children("coredns").getFirst().pid();
    assertEquals(Collections.nCopies(4, "60906"), TestNode.users(pid));
    List<String> status = Files.readAllLines(Path.of("/proc/" + pid + "/status"));
    // CAP_NET_BIND_SERVICE is capability number 10.
    assertTrue(status.contains("CapEff:\t0000000000000400"), status::toString);
    assertTrue(status.contains("NoNewPrivs:\t1"), status::toString);
    Path folder = node.node().state().resolve("data/kubernetes-worker");
    for (String key : List.of("netservices.key", "kubelet.key", "csi-provisioner.key")) {
      List<String> cat = Commands.located(List.of("cat", folder.resolve(key).toString()));
      assertEquals(
          key.startsWith("netservices"),
          new Commands().run(ANSWER, RunAs.command(Account.COREDNS.text(), cat)).ok(),
          key);
    }
  }

  @Test
  @Tag("full")
  @Tag("attack")
  @DisplayName("a Pod that forks without end exhausts only its own processes, and others start")
  void forkBomb() throws Exception {
    node.apply(BOMB);
    Await.until(
        KubernetesNode.PATIENCE,
        "the Pod to be refused another process",
        () -> node.kubectl("logs", "bomb").out().contains("can't fork"));
    assertEquals("up", node.said("exec", "shell", "--", "echo", "up"));
    node.apply(JOB.replace("once", "beside"));
    node.said("wait", "--for=condition=Complete", "job/beside", "--timeout=120s");
    node.said("delete", "pod", "bomb", "--force");
    node.said("delete", "job", "beside");
  }

  @Test
  @Tag("full")
  @DisplayName(
      "health and kube status name the Pods that the node prevents, with the remedy, until they are deleted")
  void stuckPods() throws Exception {
    node.apply(STUCK);
    List<String> named =
        List.of(
            "default/stuck cannot start: the image example.test/none:1 is not on this node",
            "default/unfetched cannot start: the image 127.0.0.1:1/none:1 is not on this node,"
                + " and the node does not reach its registry",
            "default/unboxed cannot start: the runtime makes no sandbox: ");
    for (String[] command : new String[][] {{"health"}, {"kube", "status"}}) {
      await(command, said -> named.stream().allMatch(said::contains));
      String said = node.node().ctl(command).out();
      assertTrue(said.contains("to do"), said);
      assertTrue(said.contains("polisctl image load ARCHIVE"), said);
      assertTrue(!said.contains("to-blame"), said);
    }
    node.said("delete", "pod", "stuck", "unfetched", "to-blame", "unboxed", "--wait=true");
    node.said("delete", "runtimeclass", "absent");
    for (String[] command : new String[][] {{"health"}, {"kube", "status"}}) {
      await(command, said -> said.contains("KubernetesWorker") && !said.contains("cannot start"));
    }
    String audited = node.node().ctl("audit", "--kubernetes").out();
    assertTrue(audited.contains("/pods/unboxed"), "the test's own requests are recorded");
    assertTrue(
        audited.lines().noneMatch(line -> line.contains("involvedObject.uid%3D")),
        "the worker's constant reads are not recorded");
  }

  private static void await(String[] command, Predicate<String> wanted) throws Exception {
    AtomicReference<String> said = new AtomicReference<>("nothing");
    Await.until(
        KubernetesNode.PATIENCE,
        "the output of polisctl %s".formatted(String.join(" ", command)),
        () -> {
          said.set(node.node().ctl(command).out());
          return wanted.test(said.get());
        },
        () -> "it says:\n" + said.get());
  }

  /** Returns the lines that the Pods have written; empty while there is no file. */
  private static String notes() throws Exception {
    return node.kubectl("exec", "writer", "--", "cat", "/notes/lines").out();
  }

  @Test
  @Tag("full")
  @Order(Integer.MAX_VALUE)
  @DisplayName("polis down ends all Pods and leaves nothing behind")
  void down() throws Exception {
    node.requireWholeStop(false);
  }

  @Test
  @Tag("full")
  @Order(Integer.MAX_VALUE - 1)
  @DisplayName("a Job completes, and a CronJob fires")
  void jobs() throws Exception {
    node.apply(JOB);
    node.said("wait", "--for=condition=Complete", "job/once", "--timeout=120s");
    Await.until(
        MINUTES,
        "a Job of the CronJob to complete",
        () ->
            FIRED
                .matcher(
                    node.said(
                        "get",
                        "jobs",
                        "-o",
                        "jsonpath={range .items[*]}{.metadata.name}={.status.succeeded} {end}"))
                .find());
    node.said("delete", "cronjob", "each-minute");
  }

  @Test
  @DisplayName("exec passes input on while the code is replaced, and returns the exit code")
  void execLasts() throws Exception {
    streams.exec();
  }

  @Test
  @Tag("full")
  @DisplayName("a followed log misses no line while the code is replaced")
  void logsLast() throws Exception {
    streams.logs();
  }

  @Test
  @Tag("full")
  @DisplayName("a forwarded port answers, also after the code was replaced")
  void portForwardLasts() throws Exception {
    streams.portForward();
  }

  @Test
  @Tag("full")
  @DisplayName("attach shows a Pod's output")
  void attach() throws Exception {
    streams.attach();
  }

  @Test
  @Tag("full")
  @DisplayName("a user who makes a NetworkPolicy gets a warning that it is not enforced")
  void networkPolicyIsNotEnforced() throws Exception {
    Path file = Files.writeString(directory.resolve("policy.yaml"), POLICY);
    Finished made = node.kubectl("apply", "-f", file.toString()).requireSuccess("a NetworkPolicy");
    assertTrue(made.err().contains("not enforced"), made::all);
    Await.until(
        KubernetesNode.PATIENCE,
        "the Service to answer, as the policy is not enforced",
        () -> fetched("http://web/").endsWith(" edition"));
    node.said("delete", "networkpolicy", "nobody");
  }

  /** Fetches a page from within a Pod; returns the page or the error. */
  private static String fetched(String url) throws Exception {
    // Debian's busybox crashes if wget gets a time limit.
    Finished page = node.kubectl("exec", "shell", "--", "wget", "-q", "-O", "-", url);
    return page.code() == 0 ? page.out().strip() : page.err();
  }

  /** Returns the names of the Pods with a label that are not being deleted. */
  private static Set<String> pods(String label) throws Exception {
    Set<String> names = new TreeSet<>();
    for (JsonElement item : node.json("get", "pods", "-l", label).getAsJsonArray("items")) {
      var metadata = item.getAsJsonObject().getAsJsonObject("metadata");
      if (!metadata.has("deletionTimestamp")) {
        names.add(metadata.get("name").getAsString());
      }
    }
    return names;
  }
}
