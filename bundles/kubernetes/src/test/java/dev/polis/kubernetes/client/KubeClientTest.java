package dev.polis.kubernetes.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpServer;
import dev.polis.fixtures.Await;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsTrust;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class KubeClientTest {

  private final CertificateAuthority authority = CertificateAuthority.create("id-ca");
  private final AtomicReference<TlsIdentity> user = new AtomicReference<>(issue());

  private TlsIdentity issue() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(
        pair.getPrivate(), authority.issue(CertificateTemplate.client("user"), pair.getPublic()));
  }

  @Test
  @DisplayName("a call under way is answered although its certificate is renewed twice meanwhile")
  void callAcrossRenewals() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        KubeClient client =
            new KubeClient(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                () -> Optional.of(user.get()),
                TlsTrust.authority(TlsTrust.Source.of(authority.certificate())))) {
      server.setExecutor(threads);
      server.createContext(
          "/",
          exchange -> {
            if (exchange.getRequestURI().getPath().equals("/slow")) {
              asked.countDown();
              try {
                answer.await(1, TimeUnit.MINUTES);
              } catch (InterruptedException closed) {
                Thread.currentThread().interrupt();
              }
            }
            byte[] body = "{}".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
          });
      server.start();
      Future<Boolean> slow = threads.submit(() -> client.find("/slow").isPresent());
      asked.await(1, TimeUnit.MINUTES);
      for (int renewal = 0; renewal < 3; renewal++) {
        user.set(issue());
        assertTrue(client.find("/quick").isPresent());
      }
      answer.countDown();
      Await.until("the slow call to be answered", slow::isDone);
      assertTrue(slow.get());
    } finally {
      server.stop(0);
    }
  }

  /** Plays an API server that answers each connection with the next text and leaves it open. */
  private static final class Silent implements AutoCloseable {
    final List<String> asked = new CopyOnWriteArrayList<>();
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> open = new CopyOnWriteArrayList<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    Silent(Function<String, String> answer) throws IOException {
      threads.execute(
          () -> {
            while (!server.isClosed()) {
              try {
                Socket socket = server.accept();
                open.add(socket);
                var in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                String line = in.readLine();
                asked.add(line);
                socket.getOutputStream().write(answer.apply(line).getBytes(StandardCharsets.UTF_8));
              } catch (IOException closed) {
                // The loop ends with the server.
              }
            }
          });
    }

    KubeClient client(Duration answer, Duration watch) {
      return new KubeClient(
          URI.create("http://127.0.0.1:" + server.getLocalPort()),
          Optional::empty,
          TlsTrust.anyKey(),
          new KubeDeadlines(answer, watch));
    }

    @Override
    public void close() throws IOException {
      server.close();
      for (Socket each : open) {
        each.close();
      }
      threads.shutdownNow();
    }
  }

  @Test
  @Timeout(30)
  @DisplayName("a call whose answer does not end fails with the path and the time")
  void endlessBody() throws Exception {
    try (Silent server = new Silent(line -> "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
        KubeClient client = server.client(Duration.ofSeconds(1), Duration.ofSeconds(1))) {
      IOException late = assertThrows(IOException.class, () -> client.find("/api/v1/nodes/a"));
      assertTrue(late.getMessage().contains("/api/v1/nodes/a within 1 s"), late.getMessage());
      assertFalse(client.answers("/readyz"));
    }
  }

  @Test
  @Timeout(30)
  @DisplayName("a watch ends after its time if the server falls silent")
  void silentWatch() throws Exception {
    String event = "{\"type\": \"ADDED\", \"object\": {}}\n";
    List<JsonObject> events = new ArrayList<>();
    try (Silent server =
            new Silent(line -> "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + event);
        KubeClient client = server.client(Duration.ofSeconds(1), Duration.ofSeconds(1))) {
      assertThrows(IOException.class, () -> client.watch("/api/v1/nodes", events::add));
      assertEquals(1, events.size());
      assertTrue(server.asked.getFirst().contains("timeoutSeconds=1"), server.asked::toString);
    }
  }

  @Test
  @Timeout(30)
  @DisplayName("calls of a client that is closed say so, under way and afterwards")
  void closed() throws Exception {
    try (Silent server = new Silent(line -> "");
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      KubeClient client = server.client(Duration.ofMinutes(1), Duration.ofMinutes(1));
      Future<IOException> call =
          threads.submit(() -> assertThrows(IOException.class, () -> client.find("/api/v1/a")));
      Await.until("the call to reach the server", () -> !server.asked.isEmpty());

      client.close();

      IOException afterwards = assertThrows(IOException.class, () -> client.find("/api/v1/b"));
      for (IOException each : List.of(call.get(), afterwards)) {
        assertTrue(
            each.getMessage().contains("the client was closed by its owner"), each::toString);
      }
    }
  }

  @Test
  @Timeout(30)
  @DisplayName("a list is requested page by page")
  void pages() throws Exception {
    try (Silent server =
            new Silent(
                line -> {
                  String body =
                      line.contains("continue=to%2Fken")
                          ? "{\"metadata\": {\"resourceVersion\": \"7\"}, \"items\": [{}]}"
                          : "{\"metadata\": {\"resourceVersion\": \"7\", \"continue\": \"to/ken\"},"
                              + " \"items\": [{}, {}]}";
                  return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                      .formatted(body.length(), body);
                });
        KubeClient client = server.client(Duration.ofSeconds(9), Duration.ofSeconds(9))) {
      JsonObject list = client.list("/api/v1/nodes?fieldSelector=a");
      assertEquals(3, KubeClient.items(list).size());
      assertEquals(2, server.asked.size());
      assertTrue(
          server.asked.stream().allMatch(each -> each.contains("fieldSelector=a&limit=")),
          server.asked::toString);
    }
  }

  @Test
  @DisplayName(
      "the client quotes the failed checks of an answer other than 200, and quotes no missing answer")
  void complaint() throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          boolean well = exchange.getRequestURI().getPath().equals("/well");
          byte[] body =
              "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"
                  .getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(well ? 200 : 500, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    try (KubeClient client =
        new KubeClient(
            URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
            () -> Optional.of(user.get()),
            TlsTrust.authority(TlsTrust.Source.of(authority.certificate())))) {
      assertEquals(Optional.empty(), client.complaint("/well"));
      assertEquals(
          Optional.of("it answers with 500, etcd failed: reason withheld"),
          client.complaint("/readyz"));
      server.stop(0);
      assertEquals(Optional.empty(), client.complaint("/readyz"));
    }
  }
}
