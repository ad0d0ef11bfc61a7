package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.LeaderHint;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcRevocations;
import dev.polis.rpc.RpcTrust;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RenewCertificateRequest;
import dev.polis.wire.cluster.TrustLists;
import dev.polis.wire.cluster.TrustedKey;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.curator.CuratorGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Runs the curator of a member that keeps no records beside the one that leads. */
@Timeout(180)
class RemoteCuratorTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static void awaitFollowing(CuratorFixture member, CuratorFixture leader)
      throws Exception {
    Await.value(
        member.present().status(),
        status -> status.equals(following(leader)),
        CuratorFixture.SOON,
        "the member to follow the leader");
  }

  private static CuratorStatus following(CuratorFixture leader) {
    return new CuratorStatus.Following(
        leader.id, leader.address().getAddress().getHostAddress(), leader.address().getPort());
  }

  @Test
  @DisplayName(
      "a member without records follows the leader, and clients find the leader through it")
  void namesTheLeader() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      awaitFollowing(member, leader);

      RpcClients clients =
          RpcClients.authenticated(
              member.credentials().tls(), RpcTrust.cluster(leader.clusterCa()));
      try (LeaderResolver resolver =
          LeaderResolver.fixed(List.of(member.endpoint()), clients, member.logs.log("resolver"))) {
        Await.value(
            resolver.leader(),
            leader.endpoint()::equals,
            CuratorFixture.SOON,
            "the resolver to find the leader through the member");
      }
      StatusException refusal = member.refusalAsOwnerOf(leader);
      assertEquals(Optional.of(leader.endpoint()), LeaderHint.of(refusal));
      assertTrue(refusal.getMessage().contains("keeps no records"), refusal.getMessage());
    }
  }

  @Test
  @DisplayName("a member that gets the records campaigns in place, and leads after the leader")
  void getsTheRecords() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      awaitFollowing(member, leader);

      member.redirectTo(leader);
      member.curator.serve(member.credentials());
      awaitFollowing(member, leader);
      leader.resign();

      Await.value(
          member.curator.status(),
          CuratorStatus.Leading.class::isInstance,
          CuratorFixture.SOON,
          "the member to lead");
      ManagedChannel owner = leader.owner(member.address()).dial(member.address());
      try {
        assertEquals(
            leader.clusterCa(),
            Pem.certificate(
                ManagementGrpc.newBlockingV2Stub(owner)
                    .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                    .getClusterInfo(GetClusterInfoRequest.getDefaultInstance())
                    .getCaCertificate()
                    .toByteArray()));
      } finally {
        owner.shutdownNow();
      }
    }
  }

  @Test
  @DisplayName("a leader that loses the records gives up its lead at once, and follows")
  void losesTheRecords() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture second = CuratorFixture.idle()) {
      second.follow(leader);

      leader.curator.follow(leader.credentials(), Set.of(second.endpoint()));

      Await.value(
          second.curator.status(),
          CuratorStatus.Leading.class::isInstance,
          CuratorFixture.SOON,
          "the second curator to lead");
      awaitFollowing(leader, second);
    }
  }

  @Test
  @DisplayName("a member without records learns revocations and trusted keys from the leader")
  void learnsTrust() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records()) {
      member.followWithoutRecords(leader);
      Await.value(
          member.host().revocations(),
          RpcRevocations.Known.class::isInstance,
          CuratorFixture.SOON,
          "the member to know the revocation list");
      KeyPair key = Ed25519.generate();
      NodeId revoked = NodeId.of(key.getPublic());
      CuratorPki pki = new CuratorPki(etcd, etcd.kv(), InstantSource.system());
      X509Certificate certificate = pki.ensureNode(revoked, key.getPublic());

      pki.authority().revoke("node-" + revoked);

      Await.value(
          member.host().revocations(),
          now -> now instanceof RpcRevocations.Known known && known.list().revokes(certificate),
          CuratorFixture.SOON,
          "the member to know of the revocation");

      PluginTrustGrpc.newBlockingV2Stub(leader.asOwner())
          .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
          .addTrustedKey(
              AddTrustedKeyRequest.newBuilder()
                  .setKey(
                      TrustedKey.newBuilder()
                          .setName("release")
                          .setPublicKey(
                              ByteString.copyFrom(Ed25519.raw(Ed25519.generate().getPublic()))))
                  .build());

      Await.value(
          member.trusted,
          roots -> roots.keys().size() == 1,
          CuratorFixture.SOON,
          "the member to trust the new key");
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a member without the role that reports a curator in its status is not in the cluster directory")
  void impostor() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      leader.reportStatus(CuratorGrpc.newBlockingV2Stub(leader.asNode()), "127.0.0.1");
      member.followWithoutRecords(leader);
      ManagedChannel asMember =
          RpcClients.authenticated(member.credentials().tls(), RpcTrust.cluster(leader.clusterCa()))
              .dial(leader.address());
      try {
        member.reportStatus(CuratorGrpc.newBlockingV2Stub(asMember), "127.0.0.1");
      } finally {
        asMember.shutdownNow();
      }

      assertEquals(
          List.of(leader.id.text()),
          leader
              .management()
              .getClusterInfo(GetClusterInfoRequest.getDefaultInstance())
              .getClusterDirectory()
              .getNodesList()
              .stream()
              .map(ClusterDirectory.Node::getId)
              .toList());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a member without records keeps its revocation list when a leader sends an older one")
  void olderList() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records()) {
      CertificateAuthority authority =
          new CuratorPki(etcd, etcd.kv(), InstantSource.system()).authority().authority();
      Crl newest = authority.revocationList(BigInteger.valueOf(100), List.of(BigInteger.TEN));
      member.followWithoutRecords(leader, new RpcRevocations.Known(newest));

      Await.until(
          CuratorFixture.SOON,
          "the member to refuse the leader's list, whose number is 1",
          () -> logged(member, "this node has the newer one 100"));
      assertEquals(
          new RpcRevocations.Known(newest), member.host().revocations().peek().orElseThrow());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a proof that proves nothing keeps back no revocation that comes with it")
  void brokenProof() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records()) {
      CertificateAuthority authority =
          new CuratorPki(etcd, etcd.kv(), InstantSource.system()).authority().authority();
      Crl newest = authority.revocationList(BigInteger.valueOf(100), List.of(BigInteger.TEN));
      CertificateAuthority stranger = CertificateAuthority.create("Polis cluster CA");
      member.followWithoutRecords(leader);
      RemoteCurator remote =
          new RemoteCurator(
              member.credentials(),
              Set.of(),
              new LocalTrust(member.host(), _ -> {}),
              new MutableValue<>());

      remote.take(
          TrustLists.newBuilder()
              .addCaSuccession(ByteString.copyFrom(Pem.der(stranger.certificate())))
              .setRevocations(ByteString.copyFrom(newest.der()))
              .build(),
          member.logs.log("test"));

      assertEquals(
          new RpcRevocations.Known(newest), member.host().revocations().peek().orElseThrow());
    }
  }

  @Test
  @DisplayName("a proof that was read before a longer one, and comes after it, changes nothing")
  void proofsInTheWrongOrder() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records()) {
      CertificateAuthority first =
          new CuratorPki(etcd, etcd.kv(), InstantSource.system()).authority().authority();
      CertificateAuthority second = CertificateAuthority.create("Polis cluster CA");
      CertificateAuthority third = CertificateAuthority.create("Polis cluster CA");
      List<X509Certificate> former =
          List.of(first.link(second.certificate()), second.certificate());
      List<X509Certificate> newer =
          Stream.concat(
                  former.stream(), Stream.of(second.link(third.certificate()), third.certificate()))
              .toList();
      member.followWithoutRecords(leader);
      LocalTrust trust = new LocalTrust(member.host(), _ -> {});

      trust.succeed(newer);
      member.host().trust(CaBundle.of(third.certificate()));
      trust.succeed(former);

      assertEquals(newer.size(), trust.lists().peek().orElseThrow().getCaSuccessionCount());
      assertEquals(CaBundle.of(third.certificate()), trust.authorities());
    }
  }

  private static boolean logged(CuratorFixture member, String words) {
    try (LogReader reader = member.logs.read(LogQuery.of("root").withChildren().backlogAll())) {
      return reader.backlog().stream().anyMatch(entry -> entry.toString().contains(words));
    }
  }

  @Test
  @DisplayName("a member without records gets its certificate and its unlock key from the leader")
  void asksForItsOwn() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      awaitFollowing(member, leader);
      NodeCredentials own = member.credentials();

      assertEquals(own.certificate(), member.curator.renew(own), "not due yet");
      try (Secret half = member.curator.clusterUnlockKey(own)) {
        assertArrayEquals(
            CuratorFixture.UNLOCK_KEY.getBytes(StandardCharsets.UTF_8), half.reveal());
      }

      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED,
          () ->
              MembershipGrpc.newBlockingV2Stub(leader.asOwner())
                  .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                  .renewCertificate(RenewCertificateRequest.getDefaultInstance()));
    }
  }

  @Test
  @DisplayName("a swap of the curator of a member without records is no loss of the leader")
  void swap() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      awaitFollowing(member, leader);

      member.swap();

      try (Watcher<CuratorStatus> statuses = member.present().status().watch()) {
        assertEquals(following(leader), statuses.get(), "the first status of the successor");
      }
      Await.until(
          CuratorFixture.SOON,
          "the successor to ask the leader for its certificate",
          () -> isRenewed(member));
      assertEquals(following(leader), member.present().status().peek().orElseThrow());
    }
  }

  private static boolean isRenewed(CuratorFixture member) throws InterruptedException {
    try {
      NodeCredentials own = member.credentials();
      return own.certificate().equals(member.present().renew(own));
    } catch (CuratorException notConnected) {
      return false;
    }
  }

  @Test
  @DisplayName("a member without records says that no leader is known once the leader is silent")
  void noLeader() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      awaitFollowing(member, leader);

      leader.resign();

      Await.value(
          member.curator.status(),
          CuratorStatus.Campaigning.class::isInstance,
          RemoteCurator.PATIENCE.plus(CuratorFixture.SOON),
          "the member to miss the leader");
      String reason = member.curator.status().peek().orElseThrow().describe();
      assertTrue(reason.contains(leader.address().getAddress().getHostAddress()), reason);
      assertThrows(CuratorException.class, () -> member.curator.renew(member.credentials()));
    }
  }
}
