package dev.polis.kubernetes.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestPki;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs the proxy as a role does, between real TLS clients and an API server that the test plays.
 */
@Timeout(60)
class AuthProxyTest {

  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Pattern AT = Pattern.compile("at https://([0-9.]+):(\\d+),");

  /** The number of replacements, enough to hit many requests. */
  private static final int SWAPS = 10;

  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final KeyPair nodeKey = Ed25519.generate();
  private final TlsIdentity owner = user("owner");
  private final MutableValue<ClusterStatus> cluster = new MutableValue<>();
  private final MutableValue<NetworkStatus> network =
      new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")));
  private volatile Optional<Crl> revoked = Optional.empty();
  private final AtomicInteger listRead = new AtomicInteger();
  private volatile ProxyBackend backend;
  private FakeApiServer server;
  private Subtree role;
  private InetSocketAddress here;

  @BeforeEach
  void start() throws Exception {
    NodeCredentials credentials =
        new NodeCredentials(
            nodeKey.getPrivate(), ca.issueNode(nodeKey.getPublic()), ca.certificate());
    cluster.set(status(credentials));
    server = new FakeApiServer();
    backend = server.backend();
    role = run(0);
    Await.until(SOON, "the port to be open", () -> !announcements().isEmpty());
    here = announcements().getFirst();
  }

  @AfterEach
  void stop() throws IOException {
    tree.close();
    server.close();
  }

  private Subtree run(int port) {
    Subtree subtree = tree.organ("roles");
    subtree.run(
        "controller",
        new AuthProxy("dev.polis.test", port, cluster, network, this::readList, () -> backend)
            ::run);
    return subtree;
  }

  @Test
  @DisplayName("a proxy that has prepared answers its first request on the connection that it made")
  void prepared() throws Exception {
    try (AuthProxy next =
        new AuthProxy(
            "dev.polis.test", here.getPort(), cluster, network, this::readList, () -> backend)) {
      next.prepare((ProxyBackend.Present) backend);
      Await.until(SOON, "both connections to be made", () -> server.connections.get() == 2);
      assertEquals(
          List.of("GET /readyz HTTP/1.1"),
          server.requests.stream().map(FakeApiServer.Request::line).toList());
      role.close(StopReason.CODE_REPLACED);
      tree.organ("roles").run("controller", next);
      try (Raw client = new Raw()) {
        assertEquals(200, client.send(get("/version")).read().code());
      }
      assertEquals(2, server.connections.get(), "the request needs no connection of its own");
    }
  }

  @Test
  @DisplayName("a proxy that no API server answers while it prepares makes no connection, and runs")
  void preparedWithoutServer() throws Exception {
    ProxyBackend.Present gone = server.backend();
    server.close();
    try (AuthProxy next =
        new AuthProxy(
            "dev.polis.test", here.getPort(), cluster, network, this::readList, () -> gone)) {
      next.prepare(gone);
      role.close(StopReason.CODE_REPLACED);
      tree.organ("roles").run("controller", next);
      try (Raw client = new Raw()) {
        assertEquals(503, client.send(get("/version")).read().code());
      }
    }
  }

  private Optional<Crl> readList() {
    Optional<Crl> read = revoked;
    listRead.incrementAndGet();
    return read;
  }

  private static ClusterStatus status(NodeCredentials credentials) {
    return (ClusterStatus)
        Proxy.newProxyInstance(
            AuthProxyTest.class.getClassLoader(),
            new Class<?>[] {ClusterStatus.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "credentials" -> Optional.of(credentials);
                  case "equals" -> self == arguments[0];
                  case "hashCode" -> System.identityHashCode(self);
                  default -> throw new AssertionError("not to be asked: " + method);
                });
  }

  private List<InetSocketAddress> announcements() {
    return announcements("roles");
  }

  private List<InetSocketAddress> announcements(String organ) {
    try (LogReader reader = logs.read(LogQuery.of("root." + organ + ".controller").backlogAll())) {
      return reader.backlog().stream()
          .map(entry -> AT.matcher(((LogPayload.Leveled) entry.payload()).message()))
          .filter(Matcher::find)
          .map(at -> new InetSocketAddress(at.group(1), Integer.parseInt(at.group(2))))
          .toList();
    }
  }

  private TlsIdentity user(String name) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueUser(name, pair.getPublic()));
  }

  private SSLContext as(TlsIdentity who) {
    return TlsContexts.context(
        TlsKeys.fixed(who), TlsTrust.anyNode(TlsTrust.Source.of(ca.certificate())));
  }

  private SSLContext anonymous() {
    return TlsContexts.anonymous(TlsTrust.anyNode(TlsTrust.Source.of(ca.certificate())));
  }

  /** A connection of a client that writes its own bytes. */
  private final class Raw implements AutoCloseable {
    private final SSLSocket socket;
    private final InputStream in;

    Raw(SSLContext context) throws IOException {
      socket =
          (SSLSocket) context.getSocketFactory().createSocket(here.getAddress(), here.getPort());
      socket.setSoTimeout((int) SOON.toMillis());
      in = new BufferedInputStream(socket.getInputStream());
    }

    Raw() throws IOException {
      this(as(owner));
    }

    Raw send(String text) throws IOException {
      OutputStream out = socket.getOutputStream();
      out.write(text.getBytes(StandardCharsets.ISO_8859_1));
      out.flush();
      return this;
    }

    HttpResponse read() throws IOException {
      return new HttpResponse(HttpHead.read(in, HttpHead.MOST_BYTES));
    }

    String body(HttpResponse response) throws IOException {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      HttpBody framing = HttpBody.ofResponse(response.head(), response.code(), "GET");
      if (framing instanceof HttpBody.Sized(long length)) {
        body.write(in.readNBytes((int) length));
      } else {
        framing.copy(in, body, () -> {});
      }
      return body.toString(StandardCharsets.ISO_8859_1);
    }

    String exactly(int bytes) throws IOException {
      return new String(in.readNBytes(bytes), StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private record HttpResponse(HttpHead head) {
    int code() {
      return Integer.parseInt(head.line().substring(9, 12));
    }
  }

  private static JsonObject json(String text) {
    return JsonParser.parseString(text).getAsJsonObject();
  }

  private static String get(String path, String... headers) {
    StringBuilder request = new StringBuilder("GET " + path + " HTTP/1.1\r\nHost: k\r\n");
    for (String header : headers) {
      request.append(header).append("\r\n");
    }
    return request.append("\r\n").toString();
  }

  @Test
  @DisplayName(
      "the API server gets the user's name from the certificate, and none that the user sends")
  void forwardsAsUser() throws Exception {
    try (Raw client = new Raw()) {
      client.send(
          get(
              "/api/v1/nodes?limit=5",
              "X-Remote-User: root",
              "x-remote-group: system:masters",
              "X-Remote-Extra-Scopes: all",
              "X_Remote_User: root",
              "X-Forwarded-For: 10.9.8.7",
              "Authorization: Bearer stolen",
              "Connection: keep-alive, X-Private",
              "X-Private: of this connection",
              "Impersonate-User: jane",
              "Accept: application/json"));
      assertEquals("hello", client.body(client.read()));
    }
    FakeApiServer.Request request = server.last().orElseThrow();
    assertEquals("GET /api/v1/nodes?limit=5 HTTP/1.1", request.line());
    assertEquals(List.of("owner"), request.header("X-Remote-User"));
    assertEquals(List.of("system:authenticated"), request.header("X-Remote-Group"));
    assertEquals(List.of(), request.header("X-Remote-Extra-Scopes"));
    assertEquals(List.of(), request.header("X_Remote_User"));
    assertEquals(List.of("127.0.0.1"), request.header("X-Forwarded-For"));
    assertEquals(List.of(), request.header("Authorization"));
    assertEquals(List.of(), request.header("X-Private"));
    assertEquals(List.of("jane"), request.header("Impersonate-User"), "RBAC decides about it");
    assertEquals(List.of("application/json"), request.header("Accept"));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a caller without a user's certificate gets 401, with a Kubernetes Status that says why")
  void unauthorized() throws Exception {
    TlsIdentity node = TlsIdentity.of(nodeKey.getPrivate(), ca.issueNode(nodeKey.getPublic()));
    KeyPair pair = Ed25519.generate();
    TlsIdentity stranger =
        TlsIdentity.of(
            pair.getPrivate(),
            CertificateAuthority.create("Other cluster").issueUser("owner", pair.getPublic()));
    Map<SSLContext, String> refused =
        Map.of(
            anonymous(), "the client showed neither a certificate nor a token",
            as(node), "which is not a user of Kubernetes",
            as(stranger), "is issued by",
            as(user("system:admin")), "which is reserved for parts of Kubernetes");
    for (Map.Entry<SSLContext, String> each : refused.entrySet()) {
      try (Raw client = new Raw(each.getKey())) {
        HttpResponse response = client.send(get("/api")).read();
        assertEquals(401, response.code());
        JsonObject status = json(client.body(response));
        assertEquals("Status", status.get("kind").getAsString());
        assertEquals("Unauthorized", status.get("reason").getAsString());
        assertEquals(401, status.get("code").getAsInt());
        String message = status.get("message").getAsString();
        assertTrue(message.contains(each.getValue()), message);
        assertTrue(message.contains("polisctl kubeconfig"), message);
      }
    }
    assertEquals(List.of(), server.requests);
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate that cannot be read is answered with 401, and is one log line")
  void unreadable() throws Exception {
    KeyPair pair = Ed25519.generate();
    TlsIdentity unreadable =
        TlsIdentity.of(
            pair.getPrivate(),
            TestPki.unreadable(
                ca.certificate(),
                ca.privateKey(),
                NodeId.of(pair.getPublic()).text(),
                pair.getPublic()));
    try (Raw client = new Raw(as(unreadable))) {
      HttpResponse response = client.send(get("/api")).read();
      assertEquals(401, response.code());
      String message = json(client.body(response)).get("message").getAsString();
      assertTrue(message.contains("is unreadable"), message);
      assertTrue(message.contains("polisctl kubeconfig"), message);
      assertEquals(-1, client.in.read(), "the connection stays open");
    }
    try (LogReader reader = logs.read(LogQuery.of("root.roles.controller").backlogAll())) {
      List<String> said =
          reader.backlog().stream()
              .map(entry -> ((LogPayload.Leveled) entry.payload()).message())
              .filter(line -> line.contains("IPAddress cannot be parsed"))
              .toList();
      assertEquals(1, said.size(), said::toString);
      assertEquals(1, said.getFirst().lines().count(), said::toString);
    }
    assertEquals(List.of(), server.requests);
  }

  @Test
  @Tag("attack")
  @DisplayName("a stranger with a certificate is refused before the head of its request is read")
  void strangersHeadIsNotRead() throws Exception {
    TlsIdentity node = TlsIdentity.of(nodeKey.getPrivate(), ca.issueNode(nodeKey.getPublic()));
    try (Raw client = new Raw(as(node))) {
      HttpResponse response = client.send("G").read();
      assertEquals(401, response.code());
    }
    assertEquals(List.of(), server.requests);
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate that is revoked is refused, and its silent connection closes")
  void revocation() throws Exception {
    try (Raw client = new Raw();
        Raw silent = new Raw()) {
      assertEquals(200, answered(silent, "/api"));
      revokeOwner();
      HttpResponse response = client.send(get("/api")).read();
      assertEquals(401, response.code());
      assertTrue(client.body(response).contains("is revoked"));
      readToTheEnd(silent);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "the whole request of a client without a certificate has a time limit, a user's has none")
  void drippingStranger() throws Exception {
    Duration part = Duration.ofSeconds(2);
    tree.organ("impatient")
        .run(
            "controller",
            new AuthProxy(
                    "dev.polis.test.impatient",
                    0,
                    cluster,
                    network,
                    this::readList,
                    () -> backend,
                    part)
                ::run);
    Await.until(SOON, "the second port to be open", () -> announcements("impatient").size() == 1);
    here = announcements("impatient").getFirst();
    String post = "POST /a HTTP/1.1\r\nHost: k\r\n%sContent-Length: 9999\r\n\r\n";
    try (Raw stranger = new Raw(anonymous());
        Raw user = new Raw()) {
      stranger.send(post.formatted("Authorization: Bearer false\r\n"));
      user.send(post.formatted(""));
      long began = System.nanoTime();
      Await.until(SOON, "the stranger to be cut off", () -> !drips(stranger, user));
      assertTrue(System.nanoTime() - began >= part.toNanos(), "cut off too early");
      user.send("x");
    }
  }

  /** Sends a byte of both bodies; returns whether the first connection lasts. */
  private static boolean drips(Raw stranger, Raw user) throws IOException {
    user.send("x");
    try {
      stranger.send("x");
      return true;
    } catch (IOException cutOff) {
      return false;
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a head of 16 KiB is too large for a client without a certificate, not for a user")
  void headOfStranger() throws Exception {
    String large = "X: " + "x".repeat(HttpHead.MOST_BYTES_OF_STRANGERS);
    try (Raw stranger = new Raw(anonymous());
        Raw user = new Raw()) {
      assertEquals(200, user.send(get("/api", large)).read().code());
      stranger.send(get("/api", "Authorization: Bearer of-a-service-account", large));
      assertEquals(HttpCodes.HEAD_TOO_LARGE, stranger.read().code());
    }
  }

  private void revokeOwner() {
    revoked =
        Optional.of(
            ca.revocationList(BigInteger.ONE, List.of(owner.certificate().getSerialNumber())));
  }

  @Test
  @DisplayName(
      "the groups of a certificate are passed on; groups of Kubernetes' components are refused")
  void groups() throws Exception {
    try (Raw client = new Raw(as(member("jane", List.of("dev", "ops"))))) {
      client.body(client.send(get("/api", "X-Remote-Group: admins")).read());
    }
    assertEquals(
        Set.of("dev", "ops", "system:authenticated"),
        Set.copyOf(server.last().orElseThrow().header("X-Remote-Group")));
    try (Raw client = new Raw(as(member("jane", List.of("system:masters"))))) {
      assertEquals(401, answered(client, "/api"));
    }
  }

  private TlsIdentity member(String name, List<String> groups) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(
        pair.getPrivate(),
        ca.issue(CertificateTemplate.user(name).withOrganizations(groups), pair.getPublic()));
  }

  @Test
  @DisplayName("a token reaches the API server on a connection without a client certificate")
  void tokens() throws Exception {
    try (Raw client = new Raw(anonymous())) {
      client.body(
          client
              .send(get("/api", "Authorization: Bearer of-a-service-account", "X-Remote-User: me"))
              .read());
    }
    FakeApiServer.Request request = server.last().orElseThrow();
    assertEquals(List.of("Bearer of-a-service-account"), request.header("Authorization"));
    assertEquals(List.of(), request.header("X-Remote-User"));
    assertEquals(List.of(), request.header("X-Remote-Group"));
    assertFalse(request.certified(), "the proxy's certificate would let headers name the user");
    try (Raw client = new Raw(anonymous())) {
      assertEquals(401, client.send(get("/api", "Authorization: Basic b3duZXI6")).read().code());
      assertEquals(1, server.requests.size());
    }
  }

  private static final String FORGED =
      "GET /api/v1/secrets HTTP/1.1\r\nHost: k\r\nX-Remote-User: root\r\n"
          + "X-Remote-Group: system:masters\r\nImpersonate-User: system:admin\r\n\r\n";

  @Test
  @Tag("attack")
  @DisplayName("a second request with forged names, behind a watch, reaches no API server")
  void forgedBehindAWatch() throws Exception {
    Semaphore ended = new Semaphore(0);
    StringBuffer behind = new StringBuffer();
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(
              out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n.\r\n");
          try {
            for (int next = in.read(); next >= 0; next = in.read()) {
              behind.append((char) next);
            }
          } finally {
            ended.release();
          }
          return false;
        };
    for (String path : List.of("/api/v1/pods?watch=1", "/api/v1/nodes/n/proxy/?watch=1")) {
      try (Raw client = new Raw()) {
        client.send(get(path)).read();
        client.send(FORGED);
        assertTrue(ended.tryAcquire(SOON.toSeconds(), TimeUnit.SECONDS));
      }
    }
    assertEquals("", behind.toString());
    assertEquals(2, server.requests.size());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "forged names in a second request of a kept connection, or behind a body, have no effect")
  void forgedBehindARequest() throws Exception {
    try (Raw client = new Raw()) {
      client.send(get("/api") + FORGED);
      client.body(client.read());
      client.body(client.read());
      client.send("POST /api HTTP/1.1\r\nHost: k\r\nContent-Length: 2\r\n\r\n{}" + FORGED);
      client.body(client.read());
      client.body(client.read());
    }
    assertEquals(4, server.requests.size());
    for (FakeApiServer.Request request : server.requests) {
      assertEquals(List.of("owner"), request.header("X-Remote-User"));
      assertEquals(List.of("system:authenticated"), request.header("X-Remote-Group"));
    }
    // The API server decides whether this user may act for another one.
    assertEquals(List.of("system:admin"), server.last().orElseThrow().header("Impersonate-User"));
  }

  /** The requests that last until one side ends them; a kubelet handles each in another way. */
  private static final List<String> LASTING =
      List.of(
          "/api/v1/pods?watch=true",
          "/api/v1/namespaces/n/pods/p/log?follow=true",
          "/api/v1/namespaces/n/pods/p/exec",
          "/api/v1/namespaces/n/pods/p/attach",
          "/api/v1/namespaces/n/pods/p/portforward",
          "/api/v1/namespaces/n/services/s/proxy/wait");

  /** Begins an answer that lasts, and counts down when the API server's connection ends. */
  private void goOn(CountDownLatch ended) {
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(
              out,
              request.header("Upgrade").isEmpty()
                  ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n.\r\n"
                  : "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
          try {
            in.read();
          } finally {
            ended.countDown();
          }
          return false;
        };
  }

  /** Makes one of the requests that last, and reads the head of its answer. */
  private static Raw begun(Raw client, String path) throws IOException {
    boolean upgrades = !path.contains("?") && !path.contains("/proxy/");
    client.send(upgrades ? get(path, "Connection: Upgrade", "Upgrade: SPDY/3.1") : get(path));
    assertEquals(upgrades ? 101 : 200, client.read().code(), path);
    return client;
  }

  @ParameterizedTest
  @FieldSource("LASTING")
  @Tag("attack")
  @Tag("alone")
  @DisplayName(
      "a request that lasts ends within a second of the revocation of its user's certificate")
  void revocationEnds(String path) throws Exception {
    CountDownLatch ended = new CountDownLatch(1);
    goOn(ended);
    try (Raw client = begun(new Raw(), path)) {
      revokeOwner();
      long before = System.nanoTime();
      assertTrue(ended.await(SOON.toSeconds(), TimeUnit.SECONDS));
      readToTheEnd(client);
      Duration took = Duration.ofNanos(System.nanoTime() - before);
      assertTrue(took.compareTo(Duration.ofSeconds(1)) < 0, took::toString);
    }
  }

  /** Watches and followed logs that the API server recognizes as such, but the proxy does not. */
  private static final List<String> UNNOTICED =
      List.of(
          "/api/v1/secrets?watch&allowWatchBookmarks=true&timeoutSeconds=31536000",
          "/api/v1/secrets?watch=yes",
          "/api/v1/secrets?w%61tch=1",
          "/api/v1/namespaces/n/pods/p/log?follow=yes",
          "/api/v1/watch/secrets?limit=5");

  @ParameterizedTest
  @FieldSource("UNNOTICED")
  @Tag("attack")
  @Tag("alone")
  @DisplayName(
      "an unfinished answer ends within a second of a revocation, for any form of the request")
  void revocationEndsAnyAnswer(String path) throws Exception {
    goOn(new CountDownLatch(1));
    try (Raw client = begun(new Raw(), path)) {
      requireEndOnRevocation(client);
    }
  }

  private void requireEndOnRevocation(Raw client) {
    revokeOwner();
    long before = System.nanoTime();
    readToTheEnd(client);
    Duration took = Duration.ofNanos(System.nanoTime() - before);
    assertTrue(took.compareTo(Duration.ofSeconds(1)) < 0, took::toString);
  }

  @Test
  @Tag("attack")
  @Tag("alone")
  @DisplayName(
      "an unfinished upload ends within a second of the revocation of its user's certificate")
  void revocationEndsUpload() throws Exception {
    try (Raw client = new Raw()) {
      client.send(
          "POST /a HTTP/1.1\r\nHost: k\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n");
      assertEquals(100, client.read().code());
      requireEndOnRevocation(client);
    }
  }

  @Test
  @Tag("attack")
  @Tag("alone")
  @DisplayName(
      "a certificate that became valid after its handshake loses its watch, too, when it is revoked")
  void revocationOfLateMember() throws Exception {
    goOn(new CountDownLatch(1));
    revokeOwner();
    try (Raw client = new Raw()) {
      client.socket.startHandshake();
      Await.until(SOON, "the port to judge the certificate", () -> listRead.get() > 0);
      revoked = Optional.empty();
      begun(client, LASTING.getFirst());
      requireEndOnRevocation(client);
    }
  }

  private static void readToTheEnd(Raw client) {
    try {
      client.in.readAllBytes();
    } catch (IOException cut) {
      // A reset counts as the end, too.
    }
  }

  @Test
  @Tag("attack")
  @Tag("alone")
  @DisplayName("a request that lasts ends within a second of the end of its user's certificate")
  void endOfCertificate() throws Exception {
    KeyPair pair = Ed25519.generate();
    TlsIdentity brief =
        TlsIdentity.of(
            pair.getPrivate(),
            ca.issue(
                CertificateTemplate.user("jane").withLifetime(Duration.ofSeconds(4)),
                pair.getPublic()));
    CountDownLatch ended = new CountDownLatch(LASTING.size());
    goOn(ended);
    List<Raw> clients = new ArrayList<>();
    try {
      for (String path : LASTING) {
        clients.add(begun(new Raw(as(brief)), path));
      }
      Instant end = brief.certificate().getNotAfter().toInstant();
      assertEquals(LASTING.size(), ended.getCount(), "nothing ends before");
      assertTrue(Instant.now().isBefore(end), "this machine is too slow for this test");
      assertTrue(ended.await(SOON.toSeconds(), TimeUnit.SECONDS));
      clients.forEach(AuthProxyTest::readToTheEnd);
      Duration late = Duration.between(end, Instant.now());
      assertFalse(late.isNegative(), late::toString);
      assertTrue(late.compareTo(Duration.ofSeconds(1)) < 0, late::toString);
    } finally {
      for (Raw each : clients) {
        each.close();
      }
    }
  }

  @Test
  @DisplayName("a long poll through a Service outlives the proxy instance that passed it on")
  void longPoll() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch replaced = new CountDownLatch(1);
    server.answer =
        (request, connection, in, out) -> {
          asked.countDown();
          await(replaced);
          FakeApiServer.text(out, "at last");
          return false;
        };
    try (Raw client = new Raw()) {
      client.send(
          "POST /api/v1/namespaces/n/services/s/proxy/poll?w=1 HTTP/1.1\r\nHost: k\r\n"
              + "Content-Length: 2\r\n\r\nhi");
      assertTrue(asked.await(SOON.toSeconds(), TimeUnit.SECONDS));
      role.close(StopReason.CODE_REPLACED);
      role = run(here.getPort());
      replaced.countDown();
      assertEquals("at last", client.body(client.read()));
    }
    assertEquals("hi", server.last().orElseThrow().body());
    assertEquals(List.of("close"), server.last().orElseThrow().header("Connection"));
  }

  private static int answered(Raw client, String path) throws IOException {
    HttpResponse response = client.send(get(path)).read();
    client.body(response);
    return response.code();
  }

  @Test
  @DisplayName(
      "without an API server the answer is 503 with the reason; one that is away for a moment adds Retry-After")
  void away() throws Exception {
    int nobody;
    try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      nobody = port.getLocalPort();
    }
    backend =
        new ProxyBackend.Present(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), nobody),
            server.backend().tls(),
            server.backend().anonymous());
    try (Raw client = new Raw()) {
      HttpResponse response = client.send(get("/api")).read();
      assertEquals(503, response.code());
      assertEquals(List.of("1"), response.head().values("Retry-After"));
      assertTrue(client.body(response).contains("does not answer at 127.0.0.1:" + nobody));
    }
    backend = new ProxyBackend.Absent("there are no programs of Kubernetes");
    try (Raw client = new Raw(anonymous())) {
      HttpResponse response = client.send(get("/api")).read();
      assertEquals(503, response.code());
      assertEquals(List.of(), response.head().values("Retry-After"));
      assertTrue(client.body(response).contains("there are no programs of Kubernetes"));
    }
  }

  @Test
  @DisplayName(
      "requests of a client share a connection to the API server; when it has ended, a new one is used")
  void keepsConnections() throws Exception {
    try (Raw client = new Raw()) {
      for (int i = 0; i < 20; i++) {
        assertEquals(200, answered(client, "/api/" + i));
      }
      assertEquals(1, server.connections.get());
      server.drop();
      assertEquals(200, answered(client, "/api/after"));
      assertEquals(2, server.connections.get());
    }
  }

  @Test
  @DisplayName("an API server that breaks off gives 502, and the request is not repeated")
  void brokenOff() throws Exception {
    server.answer = (request, connection, in, out) -> false;
    try (Raw client = new Raw()) {
      client.send("POST /api HTTP/1.1\r\nHost: k\r\nContent-Length: 2\r\n\r\nhi");
      HttpResponse response = client.read();
      assertEquals(502, response.code());
      assertTrue(client.body(response).contains("without an answer"));
    }
    assertEquals(1, server.requests.size());
  }

  @Test
  @DisplayName("bodies of any framing reach the API server whole, also after Expect: 100-continue")
  void requestBodies() throws Exception {
    server.answer =
        (request, connection, in, out) ->
            FakeApiServer.text(out, Integer.toString(request.body().length()));
    String long1 = "x".repeat(3_000_000);
    try (Raw client = new Raw()) {
      client.send(
          "POST /a HTTP/1.1\r\nHost: k\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(long1.length(), long1));
      HttpResponse first = client.read();
      assertEquals("3000000", client.body(first));
      client.send(
          "POST /b HTTP/1.1\r\nHost: k\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
      assertEquals("HTTP/1.1 100 Continue", client.read().head().line());
      client.send("12345");
      assertEquals("5", client.body(client.read()));
      client.send(
          "PATCH /c HTTP/1.1\r\nHost: k\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
      client.body(client.read());
      assertEquals(List.of("chunked"), server.last().orElseThrow().header("Transfer-Encoding"));
      assertTrue(server.last().orElseThrow().body().replaceAll("[0-9\r\n]", "").equals("abcde"));
      assertEquals(List.of(), server.last().orElseThrow().header("Expect"));
    }
  }

  @Test
  @DisplayName("an answer without a length, and one in chunks, reach the client whole")
  void responseBodies() throws Exception {
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(out, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
          return false;
        };
    try (HttpClient client = HttpClient.newBuilder().sslContext(as(owner)).build()) {
      assertEquals("until the end", ask(client, "/a"));
      server.answer =
          (request, connection, in, out) -> {
            FakeApiServer.write(
                out,
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            FakeApiServer.write(out, "5\r\nparts\r\n");
            FakeApiServer.write(out, "8\r\n of text\r\n0\r\nX-Trailer: dropped\r\n\r\n");
            return true;
          };
      assertEquals("parts of text", ask(client, "/b"));
      assertEquals("parts of text", ask(client, "/c"));
    }
  }

  private String ask(HttpClient client, String path) throws Exception {
    return client
        .send(
            java.net.http.HttpRequest.newBuilder(uri(path)).timeout(SOON).build(),
            BodyHandlers.ofString())
        .body();
  }

  private URI uri(String path) {
    return URI.create(
        "https://%s:%d%s".formatted(here.getAddress().getHostAddress(), here.getPort(), path));
  }

  @Test
  @DisplayName("an answer that breaks off does not look complete")
  void truncatedAnswer() throws Exception {
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(out, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour");
          return false;
        };
    try (Raw client = new Raw()) {
      client.send(get("/api"));
      assertEquals(200, client.read().code());
      boolean broken = false;
      try {
        broken = client.exactly(10).length() < 10;
      } catch (IOException cut) {
        broken = true;
      }
      assertTrue(broken);
    }
  }

  @Test
  @DisplayName("HEAD is answered with the length and no body, and the connection stays open")
  void head() throws Exception {
    server.answer =
        (request, connection, in, out) -> {
          if (request.line().startsWith("HEAD")) {
            FakeApiServer.write(out, "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n");
            return true;
          }
          return FakeApiServer.text(out, "after");
        };
    try (Raw client = new Raw()) {
      client.send("HEAD /api HTTP/1.1\r\nHost: k\r\n\r\n");
      assertEquals(List.of("77"), client.read().head().values("Content-Length"));
      assertEquals("after", client.body(client.send(get("/api")).read()));
    }
  }

  @Test
  @DisplayName(
      "an upgraded connection carries bytes in both directions, and each direction ends separately")
  void upgrade() throws Exception {
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(
              out,
              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly;");
          String all = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
          FakeApiServer.write(out, "got " + all);
          return false;
        };
    try (Raw client = new Raw()) {
      client.send(
          "POST /exec?command=sh HTTP/1.1\r\nHost: k\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
              + "Content-Length: 0\r\n\r\nalready");
      HttpResponse response = client.read();
      assertEquals(101, response.code());
      assertEquals(List.of("SPDY/3.1"), response.head().values("Upgrade"));
      assertEquals("early;", client.exactly(6));
      client.send(" and more");
      client.socket.shutdownOutput();
      assertEquals("got already and more", client.exactly(20));
      assertEquals(-1, client.in.read());
    }
    assertEquals(List.of("SPDY/3.1"), server.last().orElseThrow().header("Upgrade"));
    assertEquals(List.of("owner"), server.last().orElseThrow().header("X-Remote-User"));
  }

  @Test
  @DisplayName(
      "a refused upgrade is an answer like any other; other protocols are not offered to the server")
  void refusedUpgrade() throws Exception {
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(out, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
          return true;
        };
    try (Raw client = new Raw()) {
      client.send(get("/exec", "Connection: upgrade", "Upgrade: websocket") + FORGED);
      HttpResponse response = client.read();
      assertEquals(403, response.code());
      assertEquals("no", client.body(response));
      assertEquals(-1, client.in.read(), "bytes behind the refused upgrade are not passed on");
    }
    assertEquals(1, server.requests.size());
    assertEquals(List.of("websocket"), server.last().orElseThrow().header("Upgrade"));
    try (Raw client = new Raw()) {
      client.send(
          get("/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x"));
      client.body(client.read());
    }
    assertEquals(List.of(), server.last().orElseThrow().header("Upgrade"));
    assertEquals(List.of(), server.last().orElseThrow().header("Connection"));
    assertEquals(List.of(), server.last().orElseThrow().header("HTTP2-Settings"));
  }

  @Test
  @Tag("attack")
  @DisplayName("an unrequested change of protocol by an API server opens no way around the proxy")
  void unaskedUpgrade() throws Exception {
    StringBuffer behind = new StringBuffer();
    CountDownLatch ended = new CountDownLatch(1);
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(
              out,
              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
          try {
            for (int next = in.read(); next >= 0; next = in.read()) {
              behind.append((char) next);
            }
          } finally {
            ended.countDown();
          }
          return false;
        };
    try (Raw client = new Raw()) {
      assertEquals(502, client.send(get("/api") + FORGED).read().code());
    }
    assertTrue(ended.await(SOON.toSeconds(), TimeUnit.SECONDS));
    assertEquals("", behind.toString());
    assertEquals(1, server.requests.size());
  }

  @Test
  @DisplayName("the events of a watch arrive one by one, also after the code is replaced")
  void watchOutlivesTheCode() throws Exception {
    CountDownLatch replaced = new CountDownLatch(1);
    server.answer =
        (request, connection, in, out) -> {
          FakeApiServer.write(
              out,
              "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n");
          await(replaced);
          FakeApiServer.write(out, "7\r\nsecond\n\r\n0\r\n\r\n");
          return false;
        };
    try (Raw client = new Raw()) {
      client.send(get("/api/v1/pods?watch=true&resourceVersion=7"));
      assertEquals(200, client.read().code());
      assertEquals("6\r\nfirst\n\r\n", client.exactly(11));
      role.close(StopReason.CODE_REPLACED);
      role = run(here.getPort());
      try (Raw another = new Raw()) {
        server.answer = (request, connection, in, out) -> FakeApiServer.text(out, "new code");
        assertEquals("new code", another.body(another.send(get("/api")).read()));
      }
      replaced.countDown();
      assertEquals("7\r\nsecond\n\r\n0\r\n\r\n", client.exactly(17));
      assertEquals(-1, client.in.read());
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      if (!latch.await(SOON.toSeconds(), TimeUnit.SECONDS)) {
        throw new EOFException("the test did not continue");
      }
    } catch (InterruptedException closing) {
      throw new IOException(closing);
    }
  }

  @Test
  @DisplayName("a watcher that disconnects ends the watch at the API server")
  void watcherGoes() throws Exception {
    CountDownLatch ended = new CountDownLatch(1);
    goOn(ended);
    begun(new Raw(), "/log?follow=true").close();
    assertTrue(ended.await(SOON.toSeconds(), TimeUnit.SECONDS));
  }

  @Test
  @DisplayName(
      "no request fails while the code is replaced repeatedly, on kept and new connections")
  void swaps() throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    AtomicInteger answers = new AtomicInteger();
    try (ExecutorService clients = new TestThreads();
        HttpClient keeping = HttpClient.newBuilder().sslContext(as(owner)).build()) {
      List<Future<?>> all =
          List.of(
              clients.submit(
                  () -> {
                    while (!done.get()) {
                      assertEquals("hello", ask(keeping, "/kept"));
                      assertEquals(
                          200,
                          keeping
                              .send(
                                  java.net.http.HttpRequest.newBuilder(uri("/post"))
                                      .timeout(SOON)
                                      .POST(BodyPublishers.ofString("{}"))
                                      .build(),
                                  BodyHandlers.discarding())
                              .statusCode());
                      answers.incrementAndGet();
                    }
                    return null;
                  }),
              clients.submit(
                  () -> {
                    while (!done.get()) {
                      try (Raw client = new Raw()) {
                        assertEquals(200, answered(client, "/new"));
                        answers.incrementAndGet();
                      }
                    }
                    return null;
                  }));
      for (int swap = 0; swap < SWAPS; swap++) {
        int before = answers.get();
        role.close(StopReason.CODE_REPLACED);
        role = run(here.getPort());
        Await.until(
            SOON,
            "requests after a swap",
            () -> answers.get() > before + 5 || all.stream().anyMatch(Future::isDone));
      }
      done.set(true);
      for (Future<?> each : all) {
        each.get(SOON.toSeconds(), TimeUnit.SECONDS);
      }
    }
  }

  /** Requests that two parsers might read differently. */
  static Stream<Arguments> ambiguous() {
    String post = "POST /api HTTP/1.1\r\nHost: k\r\n";
    return Stream.of(
        Arguments.of(
            "two framings",
            400,
            post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Arguments.of("two lengths", 400, post + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n"),
        Arguments.of(
            "two equal lengths", 400, post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        Arguments.of("a list of lengths", 400, post + "Content-Length: 0, 0\r\n\r\n"),
        Arguments.of("a signed length", 400, post + "Content-Length: +5\r\n\r\n"),
        Arguments.of("a negative length", 400, post + "Content-Length: -5\r\n\r\n"),
        Arguments.of(
            "an endless length", 400, post + "Content-Length: 99999999999999999999\r\n\r\n"),
        Arguments.of("a hexadecimal length", 400, post + "Content-Length: 0x5\r\n\r\n"),
        Arguments.of("another encoding", 501, post + "Transfer-Encoding: gzip, chunked\r\n\r\n"),
        Arguments.of(
            "chunked twice",
            400,
            post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Arguments.of("an almost known encoding", 501, post + "Transfer-Encoding: xchunked\r\n\r\n"),
        Arguments.of(
            "an encoding with a vertical tab",
            400,
            post + "Transfer-Encoding: \u000bchunked\r\n\r\n"),
        Arguments.of("a space before the colon", 400, post + "Content-Length : 5\r\n\r\n"),
        Arguments.of("a folded header", 400, post + "X-A: b\r\n Content-Length: 5\r\n\r\n"),
        Arguments.of("a folded first header", 400, "GET / HTTP/1.1\r\n Host: k\r\n\r\n"),
        Arguments.of("a line feed alone", 400, "GET / HTTP/1.1\nHost: k\n\n"),
        Arguments.of(
            "a line feed within a header", 400, post + "X-A: b\nContent-Length: 5\r\n\r\n"),
        Arguments.of("a carriage return alone", 400, post + "X-A: b\rContent-Length: 5\r\n\r\n"),
        Arguments.of("a zero byte", 400, post + "X-A: b\0c\r\n\r\n"),
        Arguments.of("a header without a name", 400, post + ": b\r\n\r\n"),
        Arguments.of("a header without a colon", 400, post + "X-A\r\n\r\n"),
        Arguments.of("a name that is none", 400, post + "X(A): b\r\n\r\n"),
        Arguments.of("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
        Arguments.of("two hosts", 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        Arguments.of("an empty line first", 400, "\r\nGET / HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("two spaces", 400, "GET  / HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("a tab for a space", 400, "GET\t/ HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("a foreign target", 400, "GET https://other/ HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("a fragment", 400, "GET /a#b HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("an old version", 505, "GET / HTTP/1.0\r\nHost: k\r\n\r\n"),
        Arguments.of("an unknown version", 505, "GET / HTTP/1.10\r\nHost: k\r\n\r\n"),
        Arguments.of("no version", 400, "GET /\r\nHost: k\r\n\r\n"),
        Arguments.of("HTTP/2 without being asked", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Arguments.of("CONNECT", 405, "CONNECT k:443 HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("TRACE", 405, "TRACE / HTTP/1.1\r\nHost: k\r\n\r\n"),
        Arguments.of("an unknown expectation", 417, post + "Expect: magic\r\n\r\n"),
        Arguments.of(
            "a body of an upgrade",
            400,
            post + "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc"),
        Arguments.of(
            "an oversized head",
            431,
            "GET / HTTP/1.1\r\nHost: k\r\nX-A: " + "b".repeat(HttpHead.MOST_BYTES) + "\r\n\r\n"),
        Arguments.of(
            "too many headers",
            431,
            "GET / HTTP/1.1\r\nHost: k\r\n" + "X-A: b\r\n".repeat(300) + "\r\n"),
        Arguments.of(
            "an oversized target",
            431,
            "GET /" + "a".repeat(HttpHead.MOST_BYTES) + " HTTP/1.1\r\nHost: k\r\n\r\n"));
  }

  @ParameterizedTest(name = "{0} is refused with {1}")
  @MethodSource("ambiguous")
  @Tag("attack")
  @DisplayName(
      "a request that two parsers might read differently is refused, and the connection is closed")
  void refusesTheAmbiguous(String what, int code, String request) throws Exception {
    try (Raw client = new Raw()) {
      HttpResponse response = client.send(request).read();
      assertEquals(code, response.code());
      assertEquals("Status", json(client.body(response)).get("kind").getAsString());
      assertEquals(-1, client.in.read(), "nothing behind it is taken for a request");
    }
    assertEquals(List.of(), server.requests);
  }

  /** Chunks that two parsers might read differently. */
  static Stream<String> ambiguousChunks() {
    return Stream.of(
        "5;a=b\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\n: d\r\n\r\n",
        "5\r\nhello\r\n0\r\nX-A : d\r\n\r\n");
  }

  @ParameterizedTest
  @MethodSource("ambiguousChunks")
  @DisplayName("chunks that are not well-formed are refused with 400, and the connection is closed")
  void refusesAmbiguousChunks(String chunks) throws Exception {
    try (Raw client = new Raw()) {
      client.send("POST /api HTTP/1.1\r\nHost: k\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks);
      HttpResponse response = client.read();
      assertEquals(400, response.code());
      client.body(response);
      assertEquals(-1, client.in.read());
    }
    assertEquals(List.of(), server.requests);
  }

  @Test
  @DisplayName("pipelined requests are answered in order")
  void pipelining() throws Exception {
    server.answer = (request, connection, in, out) -> FakeApiServer.text(out, request.line());
    try (Raw client = new Raw()) {
      client.send(get("/1") + get("/2") + get("/3"));
      for (int i = 1; i <= 3; i++) {
        assertEquals("GET /%d HTTP/1.1".formatted(i), client.body(client.read()));
      }
    }
  }
}
