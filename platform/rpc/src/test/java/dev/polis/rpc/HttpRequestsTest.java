package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpHandler;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpRequestsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String FAILED = "TLS handshake with ";

  private static final HttpHandler ANSWER =
      exchange -> {
        try (exchange) {
          exchange.sendResponseHeaders(204, -1);
        }
      };

  private final LogTree logs = LogTree.create();
  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final TlsTrust members = TlsTrust.member(TlsTrust.Source.of(ca.certificate()));
  private TlsListener listener;

  @BeforeEach
  void open() throws IOException {
    listener =
        TlsListener.open(
            "dev.polis.test",
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            TlsContexts.context(TlsKeys.fixed(node()), members),
            TlsContexts.serverParameters(),
            new HttpRequests(ANSWER),
            logs.log("test"));
  }

  @AfterEach
  void close() {
    listener.close();
  }

  private TlsIdentity node() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueNode(pair.getPublic()));
  }

  private static TlsIdentity userOf(CertificateAuthority authority) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), authority.issueUser("owner", pair.getPublic()));
  }

  private Socket connect() throws IOException {
    return new Socket(listener.address().getAddress(), listener.address().getPort());
  }

  private SSLSocket tls(SSLContext context) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(listener.address().getAddress(), listener.address().getPort());
    socket.setSoTimeout((int) PATIENCE.toMillis());
    return socket;
  }

  /** In TLS 1.3 a server may refuse after the client has completed its handshake. */
  private static void endsInFailure(SSLSocket socket) {
    try {
      socket.getOutputStream().write(1);
      assertEquals(-1, socket.getInputStream().read());
    } catch (IOException refused) {
      // This is the expected end.
    }
  }

  private List<String> lines() {
    try (LogReader reader = logs.read(LogQuery.of("test").backlogAll())) {
      return reader.backlog().stream()
          .map(entry -> ((LogPayload.Leveled) entry.payload()).message())
          .filter(line -> line.startsWith(FAILED))
          .toList();
    }
  }

  private void awaitLine(Socket peer, String reason) throws Exception {
    String port = "127.0.0.1:" + peer.getLocalPort() + " failed: ";
    Await.until(
        PATIENCE,
        "a line with \"%s\"".formatted(port),
        () -> lines().stream().anyMatch(line -> line.contains(port)));
    List<String> of = lines().stream().filter(line -> line.contains(port)).toList();
    assertEquals(1, of.size(), of::toString);
    assertTrue(of.getFirst().contains(reason), of::toString);
  }

  @Test
  @DisplayName("a member is answered without a log line")
  void member() throws Exception {
    try (HttpClient client =
        HttpClient.newBuilder()
            .sslContext(TlsContexts.context(TlsKeys.fixed(userOf(ca)), members))
            .build()) {
      for (int request = 0; request < 3; request++) {
        HttpResponse<Void> answer =
            client.send(
                HttpRequest.newBuilder(
                        URI.create(
                            "https://%s:%d/"
                                .formatted(
                                    listener.address().getAddress().getHostAddress(),
                                    listener.address().getPort())))
                    .build(),
                HttpResponse.BodyHandlers.discarding());
        assertEquals(204, answer.statusCode());
      }
    }
    assertEquals(List.of(), lines());
  }

  @ParameterizedTest
  @ValueSource(strings = {"\r\n\r\n", "\r\n\r\n\r\n", " \r\n\r\n", "GET /\r\n\r\n"})
  @DisplayName("a request without a request line is refused with 400")
  void noRequestLine(String head) throws Exception {
    try (SSLSocket socket = tls(TlsContexts.context(TlsKeys.fixed(userOf(ca)), members))) {
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertTrue(answer.startsWith("HTTP/1.1 400 Bad Request\r\n"), answer);
    }
  }

  @Test
  @DisplayName("a refused certificate gives one log line with the peer and the reason")
  void foreignCertificate() throws Exception {
    TlsIdentity foreign = userOf(CertificateAuthority.create("another cluster"));
    try (SSLSocket socket = tls(TlsContexts.context(TlsKeys.fixed(foreign), TlsTrust.anyKey()))) {
      endsInFailure(socket);
      awaitLine(socket, "is issued by CN=another cluster");
    }
  }

  @Test
  @DisplayName("a client without a certificate gives one log line that says so")
  void noCertificate() throws Exception {
    try (SSLSocket socket = tls(TlsContexts.anonymous(TlsTrust.anyKey()))) {
      endsInFailure(socket);
      awaitLine(socket, "Empty client certificate chain");
    }
  }

  @Test
  @DisplayName("a client that does not trust the node gives one log line that says so, 10 times")
  void clientRefuses() throws Exception {
    for (int client = 0; client < 10; client++) {
      try (SSLSocket socket = tls(SSLContext.getDefault())) {
        assertThrows(IOException.class, socket::startHandshake);
        awaitLine(socket, "certificate_unknown");
      }
    }
  }

  @Test
  @DisplayName("bytes that are no TLS give one log line with the peer and the reason")
  void garbage() throws Exception {
    try (Socket socket = connect()) {
      socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      awaitLine(socket, "SSL message");
    }
  }

  @Test
  @DisplayName("a peer that connects and leaves without a byte gives no log line")
  void knock() throws Exception {
    connect().close();
    try (Socket socket = connect()) {
      socket
          .getOutputStream()
          .write("no TLS at all, but bytes".getBytes(StandardCharsets.US_ASCII));
      awaitLine(socket, "SSL message");
    }
  }

  // ---- one listener after the other at the same port

  private TlsListener at(InetSocketAddress address, String pid, String text) throws IOException {
    byte[] body = text.getBytes(StandardCharsets.US_ASCII);
    return TlsListener.open(
        pid,
        address,
        TlsContexts.context(TlsKeys.fixed(node()), members),
        TlsContexts.serverParameters(),
        new HttpRequests(
            exchange -> {
              try (exchange) {
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
              }
            }),
        logs.log("test"));
  }

  private HttpClient client() {
    return HttpClient.newBuilder()
        .sslContext(TlsContexts.context(TlsKeys.fixed(userOf(ca)), members))
        .build();
  }

  private String answer(HttpClient client, InetSocketAddress address) throws Exception {
    return client
        .send(
            HttpRequest.newBuilder(
                    URI.create(
                        "https://%s:%d/"
                            .formatted(address.getAddress().getHostAddress(), address.getPort())))
                .timeout(PATIENCE)
                .build(),
            HttpResponse.BodyHandlers.ofString())
        .body();
  }

  @Test
  @DisplayName(
      "a second listener of an organ takes over the requests of the first, and hands them back")
  void secondListener() throws Exception {
    InetSocketAddress here = listener.address();
    try (HttpClient client = client()) {
      TlsListener second = at(here, "dev.polis.test", "second");
      assertEquals("second", answer(client, here));
      second.close();
      assertEquals("", answer(client, here));
      TlsListener third = at(here, "dev.polis.test", "third");
      listener.close();
      assertEquals("third", answer(client, here));
      third.close();
    }
    assertThrows(IOException.class, () -> new Socket(here.getAddress(), here.getPort()).close());
    assertEquals(List.of(), lines());
  }

  @Test
  @DisplayName("the port of another organ is refused with the reason")
  void portOfAnother() throws Exception {
    String refusal =
        assertThrows(IOException.class, () -> at(listener.address(), "dev.polis.other", "other"))
            .getMessage();
    assertTrue(
        refusal.endsWith(
            "this node itself has it, as dev.polis.test.port names the same port: set dev.polis.other.port to another one"),
        refusal);
  }

  @Test
  @DisplayName("requests wait at a port that is kept open for the next listener")
  void keptOpen() throws Exception {
    InetSocketAddress here = listener.address();
    try (HttpClient client = client();
        HttpClient stranger = client()) {
      assertEquals("", answer(client, here));
      listener.close(PATIENCE);
      List<CompletableFuture<String>> waiting =
          List.of(later(() -> answer(client, here)), later(() -> answer(stranger, here)));
      TlsListener next = at(here, "dev.polis.test", "next");
      for (CompletableFuture<String> each : waiting) {
        assertEquals("next", each.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
      }
      next.close();
    }
    assertThrows(IOException.class, () -> new Socket(here.getAddress(), here.getPort()).close());
  }

  @Test
  @DisplayName("a port that is kept open without a next listener closes after its time")
  void keptOpenForNobody() throws Exception {
    InetSocketAddress here = listener.address();
    listener.close(Duration.ofMillis(50));
    Await.until(
        PATIENCE,
        "the port to be closed",
        () -> {
          try {
            new Socket(here.getAddress(), here.getPort()).close();
            return false;
          } catch (IOException refused) {
            return true;
          }
        });
  }

  @Test
  @DisplayName("no request fails while listeners replace one another 50 times")
  void noRequestFails() throws Exception {
    InetSocketAddress here = listener.address();
    AtomicBoolean stopped = new AtomicBoolean();
    AtomicLong answers = new AtomicLong();
    try (HttpClient client = client()) {
      List<CompletableFuture<String>> callers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        callers.add(
            later(
                () -> {
                  while (!stopped.get()) {
                    answer(client, here);
                    answers.incrementAndGet();
                  }
                  return "";
                }));
      }
      TlsListener present = listener;
      for (int swap = 0; swap < 50; swap++) {
        TlsListener next;
        if (swap % 2 == 0) {
          next = at(here, "dev.polis.test", "x");
          present.close();
        } else {
          present.close(PATIENCE);
          next = at(here, "dev.polis.test", "x");
        }
        present = next;
        long before = answers.get();
        Await.until(
            PATIENCE,
            "more answers",
            () ->
                answers.get() > before
                    || callers.stream().anyMatch(CompletableFuture::isCompletedExceptionally));
      }
      stopped.set(true);
      for (CompletableFuture<String> each : callers) {
        each.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
      present.close();
    }
  }

  private static CompletableFuture<String> later(Callable<String> step) {
    CompletableFuture<String> result = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                result.complete(step.call());
              } catch (Exception failed) {
                result.completeExceptionally(failed);
              }
            });
    return result;
  }
}
