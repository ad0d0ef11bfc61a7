package dev.polis.kubernetes.pki;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.TestThreads;
import dev.polis.handover.OrganState;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.KeyFactory;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Makes the keys and certificates of Kubernetes in the real etcd. */
class KubePkiTest {

  private static final Duration MONTH = CertificateTemplate.NODE_LIFETIME;

  private static EtcdFixture etcd;

  private Instant now = Instant.now();
  private final List<EtcdClient> clients = new ArrayList<>();

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @BeforeEach
  void empty() throws Exception {
    client().kv().delete(KeyRange.all());
  }

  @AfterEach
  void close() {
    clients.forEach(EtcdClient::close);
  }

  /** Opens a connection of its own, as another process would. */
  private EtcdClient client() {
    EtcdClient client =
        EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub("kubernetes"));
    clients.add(client);
    return client;
  }

  private KubePki pki() {
    return new KubePki(client(), () -> now, KubeLifetimes.STANDARD);
  }

  private static String everything(KubeKeys keys) {
    StringBuilder text = new StringBuilder();
    text.append(Pem.encode(keys.ca())).append(Pem.encode(keys.aggregationCa()));
    for (KubeIdentity each : KubeIdentity.values()) {
      text.append(Pem.encode(keys.identity(each).certificate()));
      text.append(Pem.encode(keys.identity(each).privateKey()));
    }
    return text.append(keys.serviceAccount().privatePem()).append(keys.encryptionKey()).toString();
  }

  @RepeatedTest(20)
  @DisplayName(
      "D-38 two controllers that start at the same instant make one PKI, and neither fails")
  void d38_onePkiOfTwo() throws Exception {
    List<KubePki> controllers = List.of(pki(), pki(), pki());
    CyclicBarrier instant = new CyclicBarrier(controllers.size());
    try (ExecutorService threads = new TestThreads()) {
      List<Future<KubeKeys>> made = new ArrayList<>();
      for (KubePki each : controllers) {
        made.add(
            threads.submit(
                () -> {
                  instant.await();
                  return each.ensure();
                }));
      }
      String first = everything(made.getFirst().get());
      for (Future<KubeKeys> other : made) {
        assertEquals(first, everything(other.get()));
      }
    }
  }

  @Test
  @DisplayName("certificates name the users and groups that Kubernetes knows")
  void subjects() throws Exception {
    KubeKeys keys = pki().ensure();

    assertEquals("CN=polis:master,O=system:masters", subject(keys.identity(KubeIdentity.MASTER)));
    assertEquals("CN=system:kube-scheduler", subject(keys.identity(KubeIdentity.SCHEDULER_CLIENT)));
    assertEquals(
        "CN=system:kube-controller-manager",
        subject(keys.identity(KubeIdentity.CONTROLLER_MANAGER_CLIENT)));
    for (KubeIdentity each : KubeIdentity.values()) {
      keys.identity(each)
          .certificate()
          .verify((each.proxy() ? keys.aggregationCa() : keys.ca()).getPublicKey());
    }
    assertEquals(32, Base64.getDecoder().decode(keys.encryptionKey()).length);
    assertFalse(keys.toString().contains(keys.encryptionKey()), keys::toString);
  }

  @Test
  @DisplayName("another version of the code reads all keys from a state; a missing one is no error")
  void handedOver() throws Exception {
    KubeKeys keys = pki().ensure();
    OrganState told = keys.addTo(OrganState.NONE);

    assertEquals(everything(keys), everything(KubeKeys.find(told).orElseThrow()));
    assertEquals(Optional.empty(), KubeKeys.find(OrganState.NONE));
    assertEquals(
        Optional.empty(),
        KubeKeys.find(
            told.with(
                "identities",
                Map.of(KubeIdentity.MASTER.objectName(), keys.identity(KubeIdentity.MASTER)))));
  }

  private static String subject(TlsIdentity identity) {
    return identity.certificate().getSubjectX500Principal().getName();
  }

  @Test
  @DisplayName("the service account key is of a kind that Kubernetes accepts: EC P-256")
  void serviceAccountKey() throws Exception {
    ServiceAccountKey key = pki().ensure().serviceAccount();

    String body =
        String.join(
            "",
            Arrays.stream(key.publicPem().split("\n")).filter(l -> !l.startsWith("-")).toList());
    byte[] der = Base64.getDecoder().decode(body);
    KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(der));
    assertTrue(key.privatePem().startsWith("-----BEGIN PRIVATE KEY-----"));
    assertFalse(key.toString().contains(key.privatePem().lines().toList().get(1)));
  }

  @Test
  @DisplayName(
      "a certificate with a third of its validity left is issued anew for the same key; the others stay")
  void renewal() throws Exception {
    KubeKeys first = pki().ensure();
    now = now.plus(MONTH.dividedBy(2));
    assertEquals(everything(first), everything(pki().ensure()), "nothing is due yet");

    now = first.renewalDue().plusSeconds(1);
    KubeKeys second = pki().ensure();

    assertEquals(first.ca(), second.ca());
    assertEquals(first.serviceAccount(), second.serviceAccount());
    assertEquals(first.encryptionKey(), second.encryptionKey());
    for (KubeIdentity each : KubeIdentity.values()) {
      assertNotEquals(
          first.identity(each).certificate(), second.identity(each).certificate(), each.name());
      assertEquals(
          first.identity(each).certificate().getPublicKey(),
          second.identity(each).certificate().getPublicKey(),
          each.name());
    }
    assertTrue(second.renewalDue().isAfter(now));
  }

  @Test
  @DisplayName(
      "an authority with a third of its validity left is certified anew for the same key: its signatures stay valid")
  void renewalOfAuthorities() throws Exception {
    KubeKeys first = pki().ensure();
    now = now.plus(CertificateTemplate.AUTHORITY_LIFETIME.dividedBy(4).multipliedBy(3));

    KubeKeys second = pki().ensure();

    assertNotEquals(first.ca(), second.ca());
    assertNotEquals(first.aggregationCa(), second.aggregationCa());
    for (KubeIdentity each : KubeIdentity.values()) {
      first
          .identity(each)
          .certificate()
          .verify((each.proxy() ? second.aggregationCa() : second.ca()).getPublicKey());
    }
    assertEquals(first.ca().getSubjectX500Principal(), second.ca().getSubjectX500Principal());
    assertTrue(second.firstEnd().isAfter(now));
  }

  @Test
  @DisplayName("a client's certificate has the requested groups and validity, and is not stored")
  void ephemeral() throws Exception {
    EtcdClient client = client();
    KubeKeys keys = new KubePki(client, () -> now, KubeLifetimes.STANDARD).ensure();
    long before = client.kv().range(KeyRange.all()).count();

    TlsIdentity made = keys.issue("debugger", List.of("a", "b"), Duration.ofHours(1));

    assertEquals("CN=debugger,O=b,O=a", subject(made));
    assertTrue(
        made.certificate().getNotAfter().toInstant().isBefore(now.plus(Duration.ofMinutes(61))));
    assertEquals(before, client.kv().range(KeyRange.all()).count());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "neither a kubelet, nor another program of the control plane, nor a client passes for an API server")
  void peers() throws Exception {
    KubeKeys keys = pki().ensure();
    SSLContext client = KubeKeys.client(() -> keys, KubeIdentity.AUTH_PROXY_CLIENT);
    String name = KubernetesNames.SERVER_NAME;

    assertTrue(
        accepted(
            client, keys.issue(CertificateTemplate.server("a", List.of("b", name), List.of()))));
    for (TlsIdentity other :
        List.of(
            keys.issue(CertificateTemplate.server("system:node:n", List.of("n"), List.of())),
            keys.issue(CertificateTemplate.server(name, List.of("n"), List.of())),
            keys.issue(CertificateTemplate.client(name)),
            keys.identity(KubeIdentity.SCHEDULER),
            keys.identity(KubeIdentity.MASTER))) {
      assertFalse(accepted(client, other), subject(other));
    }
  }

  /** Returns whether a client completes the handshake with a server of this identity. */
  private static boolean accepted(SSLContext client, TlsIdentity server) throws Exception {
    SSLContext own = TlsContexts.context(TlsKeys.fixed(server), TlsTrust.anyKey());
    try (ServerSocket port =
            own.getServerSocketFactory()
                .createServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ExecutorService threads = new TestThreads();
        SSLSocket socket =
            (SSLSocket)
                client
                    .getSocketFactory()
                    .createSocket(port.getInetAddress(), port.getLocalPort())) {
      threads.submit(
          () -> {
            try (Socket accepted = port.accept()) {
              return accepted.getInputStream().read();
            }
          });
      socket.startHandshake();
      return true;
    } catch (SSLException refused) {
      return false;
    }
  }
}
