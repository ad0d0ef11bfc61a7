package dev.polis.metrics;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.config.SettingException;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.TlsIdentity;
import dev.polis.supervision.RunnableStatus;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigInteger;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the organ behind real sockets. */
class MetricsTest {
  @TempDir private Path folder;
  private MetricsFixture node;

  @BeforeEach
  void start() {
    node = new MetricsFixture(folder);
  }

  @AfterEach
  void stop() {
    node.close();
  }

  private void assertLine(String text, String pattern) {
    assertTrue(
        text.lines().anyMatch(line -> line.matches(pattern)),
        () -> "no line like " + pattern + " in:\n" + text);
  }

  @Test
  @DisplayName("users and nodes of the cluster read the metrics of every part")
  void membersRead() throws Exception {
    node.start();
    node.logs.log("somewhere").info("an entry");

    HttpResponse<String> asUser = node.get(node.user(), "/metrics");
    HttpResponse<String> asNode = node.get(node.otherNode(), "/metrics");

    String text = asUser.body();
    assertEquals(200, asUser.statusCode());
    assertEquals(200, asNode.statusCode());
    assertTrue(
        asUser.headers().firstValue("Content-Type").orElse("").startsWith("text/plain"),
        asUser.headers().toString());
    assertAll(
        () -> assertLine(text, "jvm_memory_used_bytes\\{area=\"heap\"\\} .*"),
        () -> assertLine(text, "process_open_fds [1-9].*"),
        () -> assertLine(text, "jvm_threads_current [1-9].*"),
        () ->
            assertLine(
                text,
                "polis_supervisor_dn_state\\{dn=\"root.metrics.server\",state=\"HEALTHY\"\\} 1.0"),
        () ->
            assertLine(
                text,
                "polis_supervisor_dn_state\\{dn=\"root.metrics.server\",state=\"DEAD\"\\} 0.0"),
        () ->
            assertLine(
                text,
                "polis_supervisor_dn_state_transitions_total\\{dn=\"root.metrics.server\",new_state=\"HEALTHY\",old_state=\"NEW\"\\} 1.0"),
        () ->
            assertLine(
                text,
                "polis_bundle_state\\{id=\"7\",name=\"dev.polis.sample\",state=\"ACTIVE\",version=\"1.2.3\"\\} 1.0"),
        () ->
            assertLine(
                text,
                "polis_bundle_state\\{id=\"7\",name=\"dev.polis.sample\",state=\"STOPPING\",version=\"1.2.3\"\\} 0.0"),
        () -> assertLine(text, "polis_storage_volume_security\\{security=\"ENCRYPTED\"\\} 1.0"),
        () -> assertLine(text, "polis_storage_volume_security\\{security=\"INSECURE\"\\} 0.0"),
        () -> assertLine(text, "polis_clock_synchronised 1.0"),
        () -> assertLine(text, "polis_clock_offset_seconds -0.25"),
        () -> assertLine(text, "polis_rpc_connections\\{of=\"strangers\",port=\"curator\"\\} 0.0"),
        () -> assertLine(text, "polis_rpc_holding 0.0"),
        () -> assertLine(text, "polis_log_journals [1-9].*"),
        () -> assertLine(text, "polis_log_appended_total [1-9].*"));
  }

  @Test
  @DisplayName("calls are counted by method and code, with their times")
  void callsAreCounted() throws Exception {
    node.start();
    node.refusedCall();
    node.refusedCall();

    String text = node.get(node.user(), "/metrics").body();

    String method = "method=\"metropolis.proto.api.NodeManagement/Logs\"";
    assertAll(
        () ->
            assertLine(
                text,
                "polis_rpc_calls_total\\{code=\"UNAUTHENTICATED\",listener=\"debug\","
                    + method
                    + "\\} 2.0"),
        () ->
            assertLine(
                text,
                "polis_rpc_call_duration_seconds_count\\{listener=\"debug\"," + method + "\\} 2"),
        () ->
            assertLine(
                text,
                "polis_rpc_call_duration_seconds_bucket\\{listener=\"debug\","
                    + method
                    + ",le=\"\\+Inf\"\\} 2"),
        () ->
            assertLine(
                text, "polis_rpc_held_calls_total\\{listener=\"debug\"," + method + "\\} 0.0"),
        () ->
            assertLine(
                text, "polis_rpc_drained_calls_total\\{listener=\"debug\"," + method + "\\} 0.0"));
  }

  @Test
  @Tag("attack")
  @DisplayName("a caller without a certificate, or with one of another cluster, gets no connection")
  void strangersAreRefused() throws Exception {
    node.start();
    CertificateAuthority foreign = CertificateAuthority.create("Another cluster");

    assertThrows(IOException.class, () -> node.getAnonymously("/metrics"));
    assertThrows(IOException.class, () -> node.get(MetricsFixture.user(foreign), "/metrics"));
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @Tag("attack")
  @DisplayName("D-18 a revoked certificate reads no metrics, on open connections and on new ones")
  void d18_revocation() throws Exception {
    node.start();
    TlsIdentity user = node.user();
    try (HttpClient open = node.client(user)) {
      assertEquals(200, node.get(open, "/metrics").statusCode());

      node.host.revoke(
          node.ca.revocationList(BigInteger.ONE, List.of(user.certificate().getSerialNumber())));

      HttpResponse<String> refused = node.get(open, "/metrics");
      assertEquals(403, refused.statusCode());
      assertTrue(refused.body().contains("revoked"), refused.body());
    }
    assertThrows(IOException.class, () -> node.get(user, "/metrics"));
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @DisplayName("renewed credentials are presented from the next connection on, without a restart")
  void rotation() throws Exception {
    node.start();
    BigInteger before = node.presented();

    node.renew();

    BigInteger after = node.presented();
    assertEquals(node.credentials().certificate().getSerialNumber(), after);
    assertFalse(before.equals(after));
    assertEquals(1, node.announcements().size());
  }

  @Test
  @DisplayName("the server starts once there are credentials, and not before")
  void waitsForCredentials() throws Exception {
    node.startWithoutCredentials();
    assertEquals(List.of(), node.announcements());

    node.renew();

    node.awaitAnnouncements(1);
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @Tag("full")
  @DisplayName("a connection without a TLS handshake is closed in time")
  void silenceIsClosed() throws Exception {
    node.start();
    try (Socket silent = new Socket();
        Socket begun = new Socket()) {
      silent.connect(node.address());
      begun.connect(node.address());
      begun.getOutputStream().write(0x16);
      // Twice the server's limit: the server must end them, not these time-outs.
      silent.setSoTimeout(20_000);
      begun.setSoTimeout(20_000);

      assertEquals(-1, silent.getInputStream().read());
      // Reads the server's alerts, then the end; a time-out would throw.
      begun.getInputStream().transferTo(OutputStream.nullOutputStream());
    }
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @DisplayName(
      "when the node's address changes, the page is served at the new one and not at the old")
  void followsTheAddress() throws Exception {
    node.start();
    InetSocketAddress old = node.address();

    node.network.set(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.2")));

    node.awaitAnnouncements(2);
    assertEquals("127.0.0.2", node.address().getAddress().getHostAddress());
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
    assertThrows(ConnectException.class, () -> node.getAt(old, node.user(), "/metrics"));
  }

  @Test
  @DisplayName("a port that is taken is named, with the remedy")
  void takenPort() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      node.startAt(taken.getLocalPort());

      Await.until(
          MetricsFixture.PATIENCE,
          "the failure to be reported",
          () ->
              node.runnable("root.metrics.server")
                  .map(RunnableStatus::lastError)
                  .filter(
                      why ->
                          why.contains("127.0.0.1:" + taken.getLocalPort())
                              && why.contains("another port"))
                  .isPresent());
    }
  }

  @Test
  @DisplayName("other paths and methods are refused with the reason")
  void otherRequests() throws Exception {
    node.start();
    try (HttpClient client = node.client(node.user())) {
      HttpResponse<String> elsewhere = node.get(client, "/metrics/moon");
      HttpResponse<String> post =
          client.send(
              node.request("/metrics").POST(HttpRequest.BodyPublishers.ofString("x")).build(),
              HttpResponse.BodyHandlers.ofString());
      HttpResponse<String> head =
          client.send(
              node.request("/metrics").HEAD().build(), HttpResponse.BodyHandlers.ofString());

      HttpResponse<String> large =
          client.send(
              node.request("/metrics")
                  .POST(HttpRequest.BodyPublishers.ofString("x".repeat(100_000)))
                  .build(),
              HttpResponse.BodyHandlers.ofString());

      assertEquals(405, large.statusCode());
      assertEquals(200, node.get(client, "/metrics").statusCode());
      assertEquals(404, elsewhere.statusCode());
      assertEquals(
          "there is no page /metrics/moon; the pages are /metrics, /metrics/core, /metrics/node,"
              + " /discovery\n",
          elsewhere.body());
      assertEquals(405, post.statusCode());
      assertEquals("GET, HEAD", post.headers().firstValue("Allow").orElse(""));
      assertEquals(200, head.statusCode());
      assertEquals("", head.body());
    }
  }

  private static final class Exporter implements MetricsExporter {
    private final String name;
    volatile MetricsAnswer answer;

    Exporter(String name, MetricsAnswer answer) {
      this.name = name;
      this.answer = answer;
    }

    @Override
    public String exporterName() {
      return name;
    }

    @Override
    public MetricsAnswer scrape() {
      return answer;
    }
  }

  private static MetricsAnswer page(String text) {
    return new MetricsAnswer.Page(
        "text/plain; version=0.0.4", text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  @DisplayName(
      "MET-01 the pages of two exporters are passed on; for a missing one the reason is given")
  void met01_exporters() throws Exception {
    node.start();
    Exporter first = new Exporter("test1", page("one 1\n"));
    Exporter second = new Exporter("test2", page("two 2\n"));
    node.organ().addExporter(first);
    node.organ().addExporter(second);

    HttpResponse<String> one = node.get(node.user(), "/metrics/test1");
    HttpResponse<String> two = node.get(node.user(), "/metrics/test2");
    second.answer = new MetricsAnswer.Unavailable("it sleeps");
    HttpResponse<String> none = node.get(node.user(), "/metrics/test2");
    node.organ().removeExporter(first);
    HttpResponse<String> gone = node.get(node.user(), "/metrics/test1");

    assertEquals(200, one.statusCode());
    assertEquals("one 1\n", one.body());
    assertEquals("text/plain; version=0.0.4", one.headers().firstValue("Content-Type").orElse(""));
    assertEquals("two 2\n", two.body());
    assertEquals(503, none.statusCode());
    assertEquals("it sleeps\n", none.body());
    assertEquals(404, gone.statusCode());
    assertTrue(gone.body().contains("/metrics/test2"), gone.body());
  }

  @Test
  @DisplayName("an exporter that fails gives an internal error, and the other pages still work")
  void failingExporter() throws Exception {
    node.start();
    node.organ()
        .addExporter(
            new MetricsExporter() {
              @Override
              public String exporterName() {
                return "broken";
              }

              @Override
              public MetricsAnswer scrape() {
                throw new IllegalStateException("on purpose");
              }
            });

    assertEquals(500, node.get(node.user(), "/metrics/broken").statusCode());
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @DisplayName("/metrics/core shows the node's own metrics, as /metrics does")
  void core() throws Exception {
    node.start();

    HttpResponse<String> core = node.get(node.user(), "/metrics/core");

    assertEquals(200, core.statusCode());
    assertLine(core.body(), "polis_log_journals [1-9].*");
  }

  @Test
  @DisplayName(
      "the states of runnables are shown under the reference system's name, the same numbers")
  void referenceName() throws Exception {
    node.start();

    String text = node.get(node.user(), "/metrics/core").body();

    List<String> own =
        text.lines().filter(line -> line.startsWith("polis_supervisor_dn_state{")).toList();
    List<String> theirs =
        text.lines().filter(line -> line.startsWith("monogon_supervisor_dn_state_total{")).toList();
    assertFalse(own.isEmpty());
    assertEquals(
        own.stream().map(line -> line.substring(line.indexOf('{'))).toList(),
        theirs.stream().map(line -> line.substring(line.indexOf('{'))).toList());
    assertLine(text, "# TYPE monogon_supervisor_dn_state_total gauge");
  }

  @Test
  @DisplayName("an invalid port is refused at the start, with its key and value")
  void wrongSetting() {
    SettingException refusal = assertThrows(SettingException.class, () -> node.startAt(70_000));

    assertEquals(
        "dev.polis.metrics.port is \"70000\", which is not within 0 to 65535",
        refusal.getMessage());
    assertTrue(node.runnable("root.metrics").isEmpty());
  }

  @Test
  @DisplayName(
      "a runnable that was removed is no longer counted; one that died is counted, with its death")
  void runnablesComeAndGo() throws Exception {
    node.start();
    CountDownLatch dead = new CountDownLatch(1);
    var organ = node.tree.organ("fragile");
    organ.run(
        "task",
        context -> {
          dead.countDown();
          throw new IllegalStateException("on purpose");
        });
    dead.await();
    Await.until(
        MetricsFixture.PATIENCE,
        "the death to be counted",
        () ->
            node.get(node.user(), "/metrics")
                .body()
                .contains("{dn=\"root.fragile.task\",new_state=\"DEAD\",old_state=\"NEW\"}"));

    organ.close(StopReason.CODE_REPLACED);

    assertFalse(node.get(node.user(), "/metrics").body().contains("root.fragile"));
  }

  @Test
  @DisplayName(
      "the next instance serves at the same port, and no scrape fails while it is replaced")
  void replaced() throws Exception {
    node.start();
    InetSocketAddress address = node.address();
    AtomicBoolean over = new AtomicBoolean();
    try (HttpClient client = node.client(node.user());
        ExecutorService scraper = new TestThreads()) {
      Future<Integer> scrapes =
          scraper.submit(
              () -> {
                int answered = 0;
                while (!over.get()) {
                  HttpResponse<String> answer =
                      client.send(
                          node.request("/metrics").build(), HttpResponse.BodyHandlers.ofString());
                  assertEquals(200, answer.statusCode());
                  answered++;
                }
                return answered;
              });
      for (int swap = 0; swap < 5; swap++) {
        node.replace(() -> {});
      }
      over.set(true);
      assertTrue(scrapes.get() > 0);
    }
    assertEquals(address, node.address());
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @DisplayName("a stopped organ leaves no port, no runnable and no listener behind")
  void leavesNothing() throws Exception {
    node.start();
    InetSocketAddress address = node.address();
    node.get(node.user(), "/metrics");

    node.stop();

    assertThrows(ConnectException.class, () -> node.getAt(address, node.user(), "/metrics"));
    assertTrue(node.runnable("root.metrics").isEmpty());
    node.start();
    node.awaitAnnouncements(2);
    assertEquals(200, node.get(node.user(), "/metrics").statusCode());
  }

  @Test
  @DisplayName("between two scrapes no thread runs: the library has started none of its own")
  void idle() throws Exception {
    node.start();

    node.get(node.user(), "/metrics");

    assertEquals(
        List.of(),
        Thread.getAllStackTraces().entrySet().stream()
            .filter(
                thread ->
                    Arrays.stream(thread.getValue())
                        .anyMatch(frame -> frame.getClassName().startsWith("io.prometheus")))
            .map(thread -> thread.getKey().getName())
            .toList());
    assertTrue(
        Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().startsWith("prometheus")));
  }
}
