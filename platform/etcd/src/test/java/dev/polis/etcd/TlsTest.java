package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.TestPki;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslContextBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLEngine;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Connects with mutual TLS and Ed25519 keys, as users that etcd identifies by their certificates.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TlsTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  @TempDir private static Path folder;
  private static TestPki pki;
  private static EtcdFixture etcd;

  @BeforeAll
  static void startEtcd() throws Exception {
    pki = new TestPki();
    etcd = EtcdFixture.start(1, pki.etcdArguments(folder, pki.issue("server", "node-1")));
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  private static EtcdAccess access(String user, String serverName) {
    TestPki.Identity identity = pki.issue(user);
    EtcdTls tls =
        new EtcdTls(List.of(pki.authority()), identity.key(), List.of(identity.certificate()));
    EtcdEndpoint endpoint = EtcdEndpoint.of(etcd.member(0).endpoint()).named(serverName);
    return EtcdAccess.tls(List.of(endpoint), tls);
  }

  @Test
  @Order(0)
  void oneKeyPairIsMadeForAConnection() throws Exception {
    SSLEngine engine =
        new EtcdSslContext(SslContextBuilder.forClient().build())
            .newEngine(UnpooledByteBufAllocator.DEFAULT);

    assertArrayEquals(new String[] {"x25519"}, engine.getSSLParameters().getNamedGroups());
  }

  @Test
  @Order(1)
  void aServerOfAnotherNameIsNotTalkedTo() throws Exception {
    try (EtcdClient client = EtcdClient.connect(access("somebody", "node-2"))) {
      // A call whose time ends before the first handshake is refused for another reason.
      Await.until(
          Duration.ofMinutes(1),
          "a refusal that contains the name",
          () -> refusal(client).contains("node-2"));
    }
  }

  private static String refusal(EtcdClient client) {
    return assertThrows(
            EtcdUnavailableException.class,
            () -> client.kv().within(Duration.ofSeconds(3)).get("k"))
        .getMessage();
  }

  @Test
  @Order(2)
  void usersMayDoWhatTheirRolesAllow() throws Exception {
    try (EtcdClient root = EtcdClient.connect(access("root", "node-1"));
        EtcdClient curator = EtcdClient.connect(access("curator", "node-1").sub("curator"));
        EtcdClient notRoot = EtcdClient.connect(access("other", "node-1"));
        EtcdClient stranger = EtcdClient.connect(access("stranger", "node-1").sub("curator"))) {
      EtcdAdmin admin = root.admin();
      admin.addUser("root");
      admin.addRole("root");
      admin.grantRole("root", "root");
      admin.addUser("curator");
      admin.addUser("stranger");
      admin.addUser("other");
      admin.addRole("curator");
      admin.grant("curator", EtcdPermission.all(EtcdNamespace.of("curator")));
      admin.grantRole("curator", "curator");
      admin.enableAuth();

      curator.kv().put("/k", "v".getBytes(UTF_8));
      assertEquals("v", curator.kv().get("/k").orElseThrow().text());
      assertThrows(EtcdPermissionException.class, () -> stranger.kv().get("/k"));
      assertThrows(EtcdPermissionException.class, () -> curator.sub("x").kv().get("/k"));
      assertThrows(EtcdPermissionException.class, () -> notRoot.admin().users());

      try (EtcdWatch denied = stranger.watch(KeyRange.single("/k"), WatchOptions.snapshot())) {
        assertThrows(EtcdPermissionException.class, () -> denied.next(SOON));
        admin.grantRole("stranger", "curator");
        awaitSnapshot(denied);
      }
    }
  }

  /** Refusals may be reported until the role has taken effect. */
  private static void awaitSnapshot(EtcdWatch watch) throws Exception {
    while (true) {
      try {
        assertInstanceOf(WatchUpdate.Snapshot.class, watch.next(SOON));
        return;
      } catch (EtcdPermissionException notYet) {
        assertTrue(notYet.getMessage().contains("/k"), notYet.getMessage());
      }
    }
  }
}
