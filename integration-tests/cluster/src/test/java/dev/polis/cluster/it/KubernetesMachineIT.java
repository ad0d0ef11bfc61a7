package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs a worker on a machine that is the node's own, {@code isolation=machine}: no sandbox of the
 * worker, but a whole machine of namespaces around the node. Does not resolve names: there CoreDNS
 * needs its plugin {@code bind}, which its releases have, but not the tests' archives.
 */
@Tag("full")
class KubernetesMachineIT {

  private static final String POD =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: web, labels: {app: web}}
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: web
          image: %s
          imagePullPolicy: Never
          command: [sh, -c, "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"]
          ports: [{containerPort: 8080, hostPort: 18080}]
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: web}
      spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
      """
          .formatted(BusyboxImage.NAME);

  @TempDir Path directory;

  private OwnMachine machine;
  private Path state;

  private String ctl(String... arguments) throws Exception {
    return machine
        .run(Distribution.built().ctl(state, arguments))
        .requireSuccess("polisctl " + String.join(" ", arguments))
        .out()
        .strip();
  }

  private Finished kubectl(String... arguments) throws Exception {
    return machine.run(
        Stream.concat(
                Stream.of(
                    KubernetesNode.programs().resolve("bin/kubectl").toString(),
                    "--kubeconfig=" + state.resolve("kubeconfig-of-test")),
                Stream.of(arguments))
            .toList());
  }

  private String said(String... arguments) throws Exception {
    return kubectl(arguments)
        .requireSuccess("kubectl " + String.join(" ", arguments))
        .out()
        .strip();
  }

  private Process startNode() throws Exception {
    List<String> command =
        new ArrayList<>(
            Distribution.built()
                .launcher(
                    "run",
                    "--state",
                    state.toString(),
                    "--address",
                    OwnMachine.ADDRESS,
                    "--etcd",
                    EtcdBinary.folder().toString()));
    for (String pid : List.of("dev.polis.kubernetes", "dev.polis.containers")) {
      command.addAll(List.of("--set", pid + ".programs=" + KubernetesNode.programs()));
    }
    command.addAll(List.of("--set", "dev.polis.kubernetes.isolation=machine"));
    return new ProcessBuilder(machine.command(command))
        .redirectErrorStream(true)
        .redirectOutput(directory.resolve("node.log").toFile())
        .start();
  }

  private void awaitHome(Process node) throws Exception {
    Path log = directory.resolve("node.log");
    Await.until(
        TestNode.PATIENCE,
        "the node to be home",
        () -> Files.readString(log).contains("HOME after") || !node.isAlive(),
        () -> "it said:\n" + Files.readString(log));
    assertTrue(node.isAlive(), "the node has ended; it said:\n" + Files.readString(log));
  }

  @Test
  @Timeout(value = 8, unit = TimeUnit.MINUTES)
  @DisplayName(
      "a worker on the node's own machine is Ready, a Pod answers, and the removed role leaves"
          + " nothing there")
  void ownMachine() throws Exception {
    KubernetesNode.assumeSupported();
    state = directory.resolve("n");
    TestNode.prepared(state, OwnMachine.ADDRESS);
    machine =
        OwnMachine.started(
            KubernetesNode.programs().resolve("root"),
            Files.createDirectory(directory.resolve("memory")));
    try (OwnMachine own = machine) {
      String mountedAtFirst = own.mounts(directory);
      Process node = startNode();
      awaitHome(node);
      ctl("takeownership");
      String id =
          JsonParser.parseString(ctl("node", "list", "-o", "json"))
              .getAsJsonArray()
              .get(0)
              .getAsJsonObject()
              .get("id")
              .getAsString();
      String network = own.network();
      String firewall = own.firewall();
      String mounted = own.mounts(directory);
      runAndRemove(id, network, firewall);
      awaitSame("mounts", mounted, () -> own.mounts(directory));

      own.run(Distribution.built().launcher("stop", "--state", state.toString()))
          .requireSuccess("stop");
      node.waitFor();
      assertEquals("", own.processes());
      assertEquals(mountedAtFirst, own.mounts(directory));
    }
  }

  private void runAndRemove(String id, String network, String firewall) throws Exception {
    for (String role : KubernetesNode.ROLES) {
      ctl("node", "role", "add", id, role);
    }
    KubernetesNode.writeKubeconfig(
        state.resolve("kubeconfig-of-test"), state.resolve("owner"), OwnMachine.ADDRESS, id);
    Await.until(
        KubernetesNode.PATIENCE,
        "the worker to be Ready",
        () ->
            kubectl(
                    "get",
                    "nodes",
                    "-o",
                    "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}")
                .out()
                .equals("True"),
        () -> ctl("explain", KubernetesNode.ROLES.getLast()));
    Path busybox = KubernetesNode.programs().resolve("bin/busybox");
    ctl("image", "load", BusyboxImage.write(busybox, directory.resolve("image")).toString());
    Path objects = Files.writeString(directory.resolve("objects.yaml"), POD);
    // By default a Pod may not use a port of the host.
    said("label", "namespace", "default", "pod-security.kubernetes.io/enforce=privileged");
    said("apply", "-f", objects.toString());
    said("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
    String service = said("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}");
    for (String place : List.of(service, OwnMachine.ADDRESS + ":18080")) {
      Await.until(
          KubernetesNode.PATIENCE,
          "the Pod to answer at " + place,
          () ->
              machine
                  .run(List.of(busybox.toString(), "wget", "-q", "-O", "-", "http://" + place))
                  .out()
                  .equals("hello\n"));
    }
    // The roles have changed everything that they must restore.
    assertNotEquals(firewall, machine.firewall());
    assertNotEquals(network, machine.network());
    assertTrue(machine.mounts(directory).contains("/run/containerd"), machine.mounts(directory));
    String group = group();
    assertNotEquals("", groups(group));

    for (String role : KubernetesNode.ROLES.reversed()) {
      ctl("node", "role", "remove", id, role);
    }
    awaitSame("network", network, machine::network);
    awaitSame("firewall", firewall, machine::firewall);
    awaitSame("control groups", "", () -> groups(group));
  }

  /** Returns the name of the control group of all containers. */
  private String group() throws Exception {
    Path record = state.resolve("data/containers/sandbox.json");
    return JsonParser.parseString(machine.run(List.of("cat", record.toString())).out())
        .getAsJsonObject()
        .get("cgroup")
        .getAsString();
  }

  private String groups(String name) throws Exception {
    return machine.run(List.of("find", "/sys/fs/cgroup", "-maxdepth", "2", "-name", name)).out();
  }

  private static void awaitSame(String what, String before, Callable<String> look)
      throws Exception {
    Await.until(
        KubernetesNode.PATIENCE,
        what + " after the roles were removed",
        () -> look.call().equals(before),
        () -> "before: %s%nnow: %s".formatted(before, look.call()));
  }
}
