package dev.polis.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.RunningProcess;
import dev.polis.health.HealthCondition;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Serves the machine's metrics, from a program in place of Prometheus' node exporter. */
class NodeExporterTest {

  /** The exporter is checked every 5 s, may miss two checks, and a page waits for 5 s. */
  private static final Duration NAMED = Duration.ofSeconds(30);

  @TempDir private Path folder;
  private MetricsFixture node;
  private InetAddress address;

  @BeforeEach
  void open() throws Exception {
    node = new MetricsFixture(folder);
    node.nodeExporter = FakeExporter.install(folder).toString();
    // An address of its own has all ports free.
    ThreadLocalRandom random = ThreadLocalRandom.current();
    address =
        InetAddress.ofLiteral(
            "127.%d.%d.%d"
                .formatted(random.nextInt(64, 128), random.nextInt(256), random.nextInt(1, 255)));
    node.network.set(new NetworkStatus.Up(address));
  }

  @AfterEach
  void close() {
    node.close();
  }

  private HttpResponse<String> page() throws Exception {
    return node.get(node.user(), "/metrics/node");
  }

  /** Two busy cores may take longer to start a program than one scrape waits. */
  private void awaitPage() throws Exception {
    Await.until(MetricsFixture.PATIENCE, "the exporter's page", () -> page().statusCode() == 200);
  }

  private long pid() {
    return node.processes.find("node-exporter").orElseThrow().pid();
  }

  @Test
  @DisplayName("the first request starts the exporter, and its page is passed on")
  void startedWhenAsked() throws Exception {
    node.start();
    assertTrue(node.processes.records().isEmpty(), "started before the first request");

    awaitPage();

    HttpResponse<String> page = page();
    assertEquals("node_uname_info{machine=\"x86_64\"} 1\n", page.body());
    assertEquals("text/plain; version=0.0.4", page.headers().firstValue("Content-Type").orElse(""));
  }

  @Test
  @DisplayName("the next instance of the organ adopts the exporter with the same PID")
  void adopted() throws Exception {
    node.start();
    awaitPage();
    RunningProcess exporter = RunningProcess.of(pid());

    node.stop();
    assertTrue(exporter.runs(), "it ended with the organ");
    node.start();

    awaitPage();
    assertEquals(exporter, RunningProcess.of(pid()));
  }

  @Test
  @DisplayName("the exporter ends when the node goes down for good, with or without a new request")
  void powerOff() throws Exception {
    node.start();
    awaitPage();
    RunningProcess exporter = RunningProcess.of(pid());
    node.stop();
    node.stopReason = StopReason.POWER_OFF;
    node.start();

    node.stop();

    Await.until("the end of the exporter", () -> !exporter.runs());
    assertTrue(node.processes.records().isEmpty());
  }

  @Test
  @DisplayName("a killed exporter is started again")
  void killed() throws Exception {
    node.start();
    awaitPage();
    RunningProcess exporter = RunningProcess.of(pid());

    ProcessHandle.of(exporter.pid()).orElseThrow().destroyForcibly();
    Await.until("the end of the exporter", () -> !exporter.runs());

    awaitPage();
    assertNotEquals(exporter, RunningProcess.of(pid()));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "on a node that is root, the exporter is not root, gains no rights, and reads no key")
  void notRoot() throws Exception {
    Needs.root("running a process as another account");
    Path key = Files.writeString(folder.resolve("key.pem"), "secret");
    Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    Files.writeString(
        Path.of(node.nodeExporter),
        "#!/bin/sh\ncat '%s' && echo it can read it\nexec sleep 600\n".formatted(key));
    node.start();
    page();

    Await.until(
        MetricsFixture.PATIENCE,
        "the program to have tried to read the key",
        () -> Files.readString(node.processes.log("node-exporter")).contains("ermission denied"));
    List<String> status = Files.readAllLines(Path.of("/proc/" + pid() + "/status"));

    assertTrue(status.contains("Uid:\t60901\t60901\t60901\t60901"), status::toString);
    assertTrue(status.contains("Gid:\t60901\t60901\t60901\t60901"), status::toString);
    assertTrue(status.contains("NoNewPrivs:\t1"), status::toString);
    assertTrue(status.contains("CapEff:\t0000000000000000"), status::toString);
    assertFalse(Files.readString(node.processes.log("node-exporter")).contains("it can read"));
  }

  @Test
  @DisplayName("an exporter that other accounts cannot reach runs as root, and the log says why")
  void unreachable() throws Exception {
    Needs.root("running a process as another account");
    node.start();
    awaitPage();

    assertTrue(
        Files.readAllLines(Path.of("/proc/" + pid() + "/status")).contains("Uid:\t0\t0\t0\t0"));
    assertTrue(
        node.logged("root.metrics.node-exporter").stream()
            .anyMatch(
                line ->
                    line.contains(
                        "runs as root: other accounts may not run " + node.nodeExporter)));
  }

  @Test
  @Tag("full")
  @DisplayName("health names an exporter that a signal stopped, until it continues")
  void stoppedIsNamed() throws Exception {
    node.start();
    awaitPage();
    long pid = pid();
    assertEquals(0, new ProcessBuilder("kill", "-STOP", Long.toString(pid)).start().waitFor());

    Await.until(
        NAMED,
        "health names the exporter",
        () -> silence().contains("(pid " + pid + ") has not answered for "));
    assertTrue(silence().contains("a signal has stopped it (state T)"), this::silence);

    assertEquals(0, new ProcessBuilder("kill", "-CONT", Long.toString(pid)).start().waitFor());
    Await.until(NAMED, "health is well", () -> silence().isEmpty());
    assertEquals(pid, pid());
  }

  private String silence() {
    return node.health().stream()
        .filter(condition -> condition.code().equals("node-exporter-silent"))
        .map(HealthCondition::reason)
        .findFirst()
        .orElse("");
  }

  @Test
  @Tag("full")
  @DisplayName(
      "the report on an exporter that crashes at its start quotes the line with the reason")
  void crashed() throws Exception {
    Files.writeString(
        Path.of(node.nodeExporter),
        "#!/bin/sh\nprintf 'panic: no collectors\\n\\ngoroutine 1 [running]:\\nmain.main()\\n'; exit 2\n");
    node.start();

    // A page waits for the exporter as long as its reader would wait.
    Await.until(
        NAMED, "the reason", () -> page().body().contains("exit code 2; see the end of its log"));
    assertTrue(page().body().contains("its log says: panic: no collectors"), page().body());
  }

  @Test
  @DisplayName("without the program the page says how to get it, and each request searches again")
  void missing() throws Exception {
    node.nodeExporter = folder.resolve("later").toString();
    node.start();

    HttpResponse<String> none = page();

    assertEquals(503, none.statusCode());
    assertEquals(
        "this machine has no node exporter: there is no executable at "
            + node.nodeExporter
            + "; install it (apt-get install prometheus-node-exporter), or set node.exporter of"
            + " dev.polis.metrics to its path\n",
        none.body());
    Files.move(folder.resolve("node_exporter"), folder.resolve("later"));
    awaitPage();
  }

  @Test
  @DisplayName(
      "a taken port is named with the process that has it, and that process's page is not passed on")
  void takenPort() throws Exception {
    try (ServerSocket other = new ServerSocket()) {
      other.bind(new InetSocketAddress(address, 7841));
      node.start();

      Await.until(
          MetricsFixture.PATIENCE,
          "the reason as text",
          () ->
              page().body().contains("has it, with its process " + ProcessHandle.current().pid()));

      HttpResponse<String> page = page();
      assertEquals(503, page.statusCode());
      assertTrue(page.body().contains("set dev.polis.metrics.node.exporter.port"), page.body());
    }
  }

  @Test
  @DisplayName("the node exporter of this machine serves its node_* metrics")
  void realProgram() throws Exception {
    node.nodeExporter = "";
    node.start();
    Assumptions.assumeFalse(
        page().body().contains("has no node exporter"),
        "needs Debian's prometheus-node-exporter in PATH");

    awaitPage();

    assertTrue(page().body().contains("\nnode_uname_info{"), "no node_uname_info");
  }
}
