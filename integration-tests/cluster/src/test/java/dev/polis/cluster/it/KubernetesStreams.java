package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks lasting streams through the proxy to a real Pod, also while the roles' code is replaced.
 */
final class KubernetesStreams {

  private static final String BUNDLE = "dev.polis.kubernetes";
  private static final Pattern FORWARDED = Pattern.compile("127\\.0\\.0\\.1:(\\d+) ->");

  private static final String POD =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: talker}
      spec:
        terminationGracePeriodSeconds: 0
        containers:
        - name: talker
          image: %s
          imagePullPolicy: Never
          command: [sh, -c, "mkdir /www; echo hello > /www/index.html; httpd -p 8080 -h /www; n=0; while true; do echo line $n; n=$((n+1)); sleep 1; done"]
      """
          .formatted(BusyboxImage.NAME);

  private final KubernetesNode node;

  private KubernetesStreams(KubernetesNode node) {
    this.node = node;
  }

  /** Runs the Pod on a node that has its image. */
  static KubernetesStreams to(KubernetesNode node) throws Exception {
    node.apply(POD);
    return new KubernetesStreams(node);
  }

  void awaitPod() throws Exception {
    node.said("wait", "--for=condition=Ready", "pod/talker", "--timeout=120s");
  }

  /** A lasting kubectl, with its output so far. */
  private record Lasting(Process process, Queue<String> lines) implements AutoCloseable {

    static Lasting of(KubernetesNode node, String... arguments) throws IOException {
      Process process =
          new ProcessBuilder(node.kubectlCommand(arguments)).redirectErrorStream(true).start();
      Queue<String> lines = new ConcurrentLinkedQueue<>();
      Thread.startVirtualThread(
          () ->
              new BufferedReader(
                      new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
                  .lines()
                  .forEach(lines::add));
      return new Lasting(process, lines);
    }

    void type(String line) throws IOException {
      process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    }

    void awaitLine(String part) throws Exception {
      Await.until(
          KubernetesNode.PATIENCE,
          "a line with \"" + part + "\"",
          () -> lines.stream().anyMatch(line -> line.contains(part)));
    }

    int count(String part) {
      return (int) lines.stream().filter(line -> line.contains(part)).count();
    }

    @Override
    public void close() {
      process.destroyForcibly().onExit().join();
    }
  }

  private void replaceCode() throws Exception {
    node.node().ctl("bundle", "stop", BUNDLE).requireSuccess("stop");
    node.node().ctl("bundle", "start", BUNDLE).requireSuccess("start");
    Await.until(
        KubernetesNode.PATIENCE, "Kubernetes to answer", () -> node.kubectl("version").code() == 0);
  }

  void exec() throws Exception {
    assertEquals("here", node.said("exec", "talker", "--", "echo", "here"));
    assertEquals(7, node.kubectl("exec", "talker", "--", "sh", "-c", "exit 7").code());
    try (Lasting shell = Lasting.of(node, "exec", "-i", "talker", "--", "cat")) {
      shell.type("typed before");
      shell.awaitLine("typed before");
      replaceCode();
      shell.type("typed after");
      shell.awaitLine("typed after");
      shell.process().getOutputStream().close();
      Await.until(
          KubernetesNode.PATIENCE, "the end of input to end it", () -> !shell.process().isAlive());
      assertEquals(0, shell.process().exitValue());
    }
  }

  void logs() throws Exception {
    assertTrue(node.said("logs", "talker").contains("line 0"));
    try (Lasting log = Lasting.of(node, "logs", "-f", "talker")) {
      log.awaitLine("line 0");
      replaceCode();
      int now = log.count("line ");
      log.awaitLine("line " + (now + 2));
      for (int line = 0; line <= now; line++) {
        String wanted = "line " + line;
        assertTrue(log.lines().contains(wanted), wanted);
      }
      assertTrue(log.process().isAlive());
    }
  }

  void portForward() throws Exception {
    try (Lasting forward = Lasting.of(node, "port-forward", "pod/talker", ":8080");
        HttpClient client = HttpClient.newHttpClient()) {
      forward.awaitLine("Forwarding from 127.0.0.1");
      Matcher port = FORWARDED.matcher(String.join("\n", forward.lines()));
      assertTrue(port.find());
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port.group(1) + "/"))
              .timeout(Duration.ofSeconds(30))
              .build();
      assertEquals("hello\n", client.send(request, HttpResponse.BodyHandlers.ofString()).body());
      replaceCode();
      assertEquals("hello\n", client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
  }

  void attach() throws Exception {
    try (Lasting attached = Lasting.of(node, "attach", "talker")) {
      attached.awaitLine("line ");
    }
  }
}
