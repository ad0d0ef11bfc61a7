package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.health.HealthLevel;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeLifetimes;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Pem;
import dev.polis.pki.Renewal;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Renews the certificates of a running control plane under calls at a steady rate. The clock for
 * their issue and renewal is slow at first, so that the first certificates end soon. The short form
 * takes one or two of three renewals, by turns.
 */
@Tag("full")
@Tag("longer")
class RotationTest {

  private static final Duration PACE = Duration.ofMillis(100);

  /** The time within which a program of Kubernetes reads its client certificate again. */
  private static final Duration REREAD = Duration.ofMinutes(5);

  private static final List<ControlFile> CERTIFICATES =
      List.of(
          ControlFile.API_SERVER,
          ControlFile.API_SERVER_KUBELET_CLIENT,
          ControlFile.FRONT_PROXY_CLIENT,
          ControlFile.ETCD_CLIENT,
          ControlFile.CONTROLLER_MANAGER,
          ControlFile.CONTROLLER_MANAGER_CLIENT,
          ControlFile.SCHEDULER,
          ControlFile.SCHEDULER_CLIENT);

  /** The delay of the control plane's clock behind the real one. */
  private volatile Duration behind = Duration.ZERO;

  private Instant now() {
    return Instant.now().minus(behind);
  }

  /** A renewal, with its effects. */
  enum Rotated {
    CERTIFICATES(
        "certificates are renewed: each port shows the new one, no call fails, no program restarts"),
    CLIENTS("this code's clients keep working after their first certificates end"),
    AUTHORITIES(
        "authorities are certified anew: no call fails, the API server keeps running, the two others restart");

    private final String words;

    Rotated(String words) {
      this.words = words;
    }

    @Override
    public String toString() {
      return words;
    }
  }

  static List<Rotated> renewals() {
    return Slice.of(List.of(Rotated.values()), 2);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("renewals")
  @DisplayName("certificates change under calls")
  void rotated(Rotated rotated) throws Exception {
    switch (rotated) {
      case CERTIFICATES -> renewed();
      case CLIENTS -> clientsOutliveTheirCertificates();
      case AUTHORITIES -> authorities();
    }
  }

  private void renewed() throws Exception {
    behind = Duration.ofMinutes(15);
    try (ControlHarness harness = ControlHarness.open()) {
      // By the slow clock they are not due, by the real one they are.
      harness.etcdLife = life(Duration.ofMinutes(25), Duration.ofMinutes(5));
      startAll(harness, Duration.ofMinutes(20), CertificateTemplate.AUTHORITY_LIFETIME);
      Map<String, Long> pids = pids(harness);
      Map<String, X509Certificate> files = files(harness);
      Map<String, X509Certificate> ports = ports(harness);

      try (Callers callers = new Callers(harness)) {
        callers.awaitMore();
        renewAll(harness);
        Await.until(
            ControlHarness.PATIENCE,
            "each file to hold another certificate",
            () -> allDiffer(files, files(harness)));
        Await.until(
            ControlHarness.PATIENCE,
            "each port to show another certificate",
            () -> allDiffer(ports, ports(harness)));
        callers.awaitMore();
        callers.requireNoFailure();
      }
      assertEquals(pids, pids(harness));
    }
  }

  private void clientsOutliveTheirCertificates() throws Exception {
    behind = Duration.ofHours(10);
    try (ControlHarness harness = ControlHarness.open()) {
      // The programs start slowly, so their certificates are long-lived; the next clock makes them
      // due.
      harness.start(
          new KubeLifetimes(Duration.ofHours(12), CertificateTemplate.AUTHORITY_LIFETIME),
          this::now);
      awaitRunning(harness);
      harness.stop(StopReason.CODE_REPLACED);
      Duration life = Duration.ofMinutes(30);
      behind = life.minusSeconds(50);
      startAll(harness, life, CertificateTemplate.AUTHORITY_LIFETIME);
      ControlAccess access = harness.awaitAccess();
      Instant end =
          Renewal.of(access.keys().get().identity(KubeIdentity.MASTER).certificate())
              .notAfter()
              .plusSeconds(5);
      try (KubeClient api = access.open();
          HttpClient users = HttpClient.newBuilder().sslContext(harness.user("owner")).build();
          SteadyCalls kept = SteadyCalls.every(PACE, "kept", _ -> api.list("/api/v1/namespaces"));
          SteadyCalls user = SteadyCalls.every(PACE, "user", _ -> ask(users, proxy(harness)))) {
        Await.until(
            ControlHarness.PATIENCE,
            "the first calls",
            () -> kept.answered() > 0 && user.answered() > 0);
        renewAll(harness);
        Await.until(
            ControlHarness.PATIENCE,
            "the first certificates to have expired",
            () -> Instant.now().isAfter(end));
        assertEquals(List.of(), kept.failures(), "beside " + kept.answered() + " answered ones");
        assertEquals(List.of(), user.failures(), "beside " + user.answered() + " answered ones");
      }
    }
  }

  @Test
  @Tag("long")
  @DisplayName("every certificate expires and is replaced, no call fails, and no program restarts")
  void expired() throws Exception {
    Duration life = Duration.ofMinutes(30);
    Duration left = REREAD.plusSeconds(100);
    behind = life.minus(left);
    try (ControlHarness harness = ControlHarness.open()) {
      harness.etcdLife = life(behind.plusMinutes(20), left);
      startAll(harness, life, CertificateTemplate.AUTHORITY_LIFETIME);
      Map<String, Long> pids = pids(harness);
      Map<String, X509Certificate> before = files(harness);
      Instant end =
          before.values().stream()
              .map(each -> Renewal.of(each).notAfter())
              .max(Instant::compareTo)
              .orElseThrow();

      try (Callers callers = new Callers(harness)) {
        callers.awaitMore();
        renewAll(harness);
        // Well before this instant, each program has read a certificate that is still valid.
        Instant enough = end.plusSeconds(30);
        Await.until(
            Duration.between(Instant.now(), enough).plusSeconds(10),
            "all former certificates to have expired",
            () -> Instant.now().isAfter(enough));
        callers.requireNoFailure();
        // The former certificate has expired, so new connections to etcd must use a new one.
        harness.etcdWay.reset();
        Await.until(
            ControlHarness.PATIENCE, "the API server to reach etcd again", callers::readsFromEtcd);
        requireController(callers.api);
      }
      assertEquals(pids, pids(harness));
      assertTrue(allDiffer(before, files(harness)));
      assertEquals(
          List.of(),
          harness.health.all().peek().orElseThrow().stream()
              .filter(each -> each.level() != HealthLevel.UP)
              .toList());
    }
  }

  private void authorities() throws Exception {
    behind = Duration.ofMinutes(35);
    try (ControlHarness harness = ControlHarness.open()) {
      // By the real clock the authorities are due, but not the certificates that they signed.
      startAll(harness, Duration.ofMinutes(90), Duration.ofMinutes(40));
      Map<String, Long> pids = pids(harness);
      X509Certificate authority = certificate(harness, ControlFile.CA);
      X509Certificate aggregation = certificate(harness, ControlFile.AGGREGATION_CA);
      Map<String, X509Certificate> files = files(harness);

      try (Callers callers = new Callers(harness)) {
        callers.awaitMore();
        behind = Duration.ZERO;
        Await.until(
            ControlHarness.PATIENCE,
            "the two to be other processes",
            () -> allDifferBut("kube-apiserver", pids, pids(harness)));
        awaitRunning(harness);
        callers.awaitMore();
        if (Tier.isLong()) {
          Instant end = Renewal.of(authority).notAfter().plusSeconds(10);
          Await.until(
              Duration.between(Instant.now(), end).plusSeconds(10),
              "the former certificates of the authorities to have expired",
              () -> Instant.now().isAfter(end));
          callers.awaitMore();
          requireController(callers.api);
        }
        requireRootOfPods(callers.api, certificate(harness, ControlFile.CA));
        callers.requireNoFailure();
      }
      assertNotEquals(authority, certificate(harness, ControlFile.CA));
      assertNotEquals(aggregation, certificate(harness, ControlFile.AGGREGATION_CA));
      assertEquals(pids.get("kube-apiserver"), pids(harness).get("kube-apiserver"));
      assertEquals(
          serials(files), serials(files(harness)), "certificates that the authorities signed stay");
    }
  }

  private static boolean allDifferBut(
      String same, Map<String, Long> before, Map<String, Long> after) {
    return before.keySet().equals(after.keySet())
        && before.entrySet().stream()
            .filter(each -> !each.getKey().equals(same))
            .noneMatch(each -> each.getValue().equals(after.get(each.getKey())));
  }

  /** Waits until the controller manager gives Pods the authority's certificate. */
  private static void requireRootOfPods(KubeClient api, X509Certificate authority)
      throws Exception {
    Await.until(
        ControlHarness.PATIENCE,
        "Pods to be given the authority's new certificate",
        () ->
            api.find("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
                .map(map -> map.getAsJsonObject("data").get("ca.crt").getAsString())
                .filter(pem -> Pem.certificate(pem).equals(authority))
                .isPresent());
  }

  /** Makes calls of four kinds. */
  private static final class Callers implements AutoCloseable {
    final KubeClient api;
    private final HttpClient users;
    private final List<SteadyCalls> calls = new ArrayList<>();

    Callers(ControlHarness harness) throws Exception {
      ControlAccess access = harness.awaitAccess();
      api = access.open();
      users = HttpClient.newBuilder().sslContext(harness.user("owner")).build();
      calls.add(SteadyCalls.every(PACE, "kept connection", _ -> api.list("/api/v1/namespaces")));
      calls.add(SteadyCalls.every(PACE, "write", number -> write(api, number)));
      calls.add(
          SteadyCalls.every(
              PACE.multipliedBy(3),
              "new connection",
              _ -> {
                try (KubeClient fresh = access.open()) {
                  fresh.list("/api/v1/namespaces");
                }
              }));
      calls.add(SteadyCalls.every(PACE, "user", _ -> ask(users, proxy(harness))));
    }

    void awaitMore() throws Exception {
      List<Integer> soFar = calls.stream().map(SteadyCalls::answered).toList();
      Await.until(
          ControlHarness.PATIENCE,
          "more calls to be answered",
          () -> {
            requireNoFailure();
            for (int each = 0; each < calls.size(); each++) {
              if (calls.get(each).answered() < soFar.get(each) + 10) {
                return false;
              }
            }
            return true;
          });
    }

    void requireNoFailure() {
      assertEquals(List.of(), calls.stream().flatMap(each -> each.failures().stream()).toList());
    }

    /** Returns whether a write reaches etcd, which the API server cannot answer from its cache. */
    boolean readsFromEtcd() throws InterruptedException {
      try {
        write(api, 0);
        return true;
      } catch (IOException notYet) {
        return false;
      }
    }

    @Override
    public void close() {
      calls.forEach(SteadyCalls::close);
      api.close();
      users.close();
    }
  }

  private void startAll(ControlHarness harness, Duration certificates, Duration authorities)
      throws Exception {
    harness.start(new KubeLifetimes(certificates, authorities), this::now);
    harness.serveUsers();
    awaitRunning(harness);
    try (HttpClient users = HttpClient.newBuilder().sslContext(harness.user("owner")).build()) {
      Await.until(ControlHarness.PATIENCE, "a user's call", () -> answers(users, proxy(harness)));
    }
  }

  private static boolean answers(HttpClient users, URI uri) throws InterruptedException {
    try {
      ask(users, uri);
      return true;
    } catch (IOException | AssertionError notYet) {
      return false;
    }
  }

  private static void awaitRunning(ControlHarness harness) throws Exception {
    harness.awaitAccess();
    Await.until(
        ControlHarness.PATIENCE,
        "all programs to run and be healthy",
        () ->
            pids(harness).size() == KubernetesPrograms.ofController().size()
                && harness.tree.runnables().peek().orElseThrow().stream()
                    .allMatch(ControlHarness::works));
  }

  /** Sets the clock right, and makes consensus and the cluster issue new certificates. */
  private void renewAll(ControlHarness harness) {
    harness.etcdLife = life(Duration.ofDays(1), Duration.ofDays(1));
    harness.renewNode();
    behind = Duration.ZERO;
  }

  private static Renewal life(Duration before, Duration after) {
    return new Renewal(Instant.now().minus(before), Instant.now().plus(after));
  }

  private static URI proxy(ControlHarness harness) {
    return ControlPlace.https(harness.address, harness.settings().port());
  }

  private static void ask(HttpClient users, URI proxy) throws IOException, InterruptedException {
    HttpResponse<String> answer =
        users.send(
            HttpRequest.newBuilder(proxy.resolve("/api/v1/namespaces")).build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer::body);
  }

  private static void write(KubeClient api, int number) throws IOException, InterruptedException {
    // Running calls write different maps: each change of one makes the API server begin the others
    // anew, up to the end of their time.
    int slot = number % SteadyCalls.MOST;
    JsonObject map =
        JsonParser.parseString(
                "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\":"
                    + " \"calls-%d\"}, \"data\": {\"number\": \"%d\"}}".formatted(slot, number))
            .getAsJsonObject();
    api.apply("/api/v1/namespaces/default/configmaps/calls-" + slot, "test", map);
  }

  /** Requires that the controller manager works: it gives a new namespace a service account. */
  private static void requireController(KubeClient api) throws Exception {
    api.create(
        "/api/v1/namespaces",
        JsonParser.parseString("{\"metadata\": {\"name\": \"later\"}}").getAsJsonObject());
    Await.until(
        ControlHarness.PATIENCE,
        "the controller manager to act",
        () -> api.find("/api/v1/namespaces/later/serviceaccounts/default").isPresent());
    for (String program : List.of("kube-controller-manager", "kube-scheduler")) {
      Await.until(
          ControlHarness.PATIENCE,
          program + " to renew its lease",
          () -> {
            String renewed =
                api.find("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + program)
                    .orElseThrow()
                    .getAsJsonObject("spec")
                    .get("renewTime")
                    .getAsString();
            return Instant.parse(renewed).isAfter(Instant.now().minusSeconds(10));
          });
    }
  }

  private static Map<String, Long> pids(ControlHarness harness) {
    Map<String, Long> pids = new TreeMap<>();
    for (String program : KubernetesPrograms.ofController()) {
      harness.processes.find(program).ifPresent(found -> pids.put(program, found.pid()));
    }
    return pids;
  }

  private static boolean allDiffer(
      Map<String, X509Certificate> before, Map<String, X509Certificate> after) {
    return before.keySet().equals(after.keySet())
        && serials(before).entrySet().stream()
            .noneMatch(each -> each.getValue().equals(serials(after).get(each.getKey())));
  }

  private static Map<String, BigInteger> serials(Map<String, X509Certificate> certificates) {
    Map<String, BigInteger> serials = new TreeMap<>();
    certificates.forEach((name, each) -> serials.put(name, each.getSerialNumber()));
    return serials;
  }

  private static Map<String, X509Certificate> files(ControlHarness harness) throws IOException {
    Map<String, X509Certificate> found = new TreeMap<>();
    for (ControlFile each : CERTIFICATES) {
      found.put(each.fileName(), certificate(harness, each));
    }
    return found;
  }

  private static X509Certificate certificate(ControlHarness harness, ControlFile file)
      throws IOException {
    Path folder = harness.folder(ControlFolder.FOLDER).path();
    return Pem.certificate(Files.readString(folder.resolve(file.fileName())));
  }

  /** Returns the certificate that each port shows in a new handshake. */
  private static Map<String, X509Certificate> ports(ControlHarness harness) throws Exception {
    ControlAccess access = harness.awaitAccess();
    return new TreeMap<>(
        Map.of(
            "API server", shown(InetAddress.getByName(access.server().getHost()), 6443),
            "proxy", shown(harness.address, harness.settings().port()),
            "controller manager", shown(harness.address, ControlCommands.CONTROLLER_MANAGER_PORT),
            "scheduler", shown(harness.address, ControlCommands.SCHEDULER_PORT)));
  }

  private static X509Certificate shown(InetAddress host, int port) throws IOException {
    try (SSLSocket socket =
        (SSLSocket)
            TlsContexts.anonymous(TlsTrust.anyKey()).getSocketFactory().createSocket(host, port)) {
      socket.startHandshake();
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    }
  }
}
