package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.cluster.CaStatus;
import dev.polis.wire.cluster.CaStep;
import dev.polis.wire.cluster.ClusterCaGrpc;
import dev.polis.wire.cluster.ClusterCaGrpc.ClusterCaBlockingV2Stub;
import dev.polis.wire.cluster.GetCaRequest;
import dev.polis.wire.cluster.GetEtcdCaRequest;
import dev.polis.wire.cluster.RetireCaRequest;
import dev.polis.wire.cluster.RetireEtcdCaRequest;
import dev.polis.wire.cluster.RotateCaRequest;
import dev.polis.wire.cluster.RotateEtcdCaRequest;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.WatchEvent;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** Replaces the CA of a cluster whose nodes are a leader, a follower and a member without etcd. */
@Timeout(120)
class ClusterCaTest {

  /** The time within which each listener must refuse a certificate of a retired CA. */
  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  /** Enough for several of them to see the same step before one makes it. */
  private static final int OWNERS = 8;

  private static ClusterCaBlockingV2Stub ca(CuratorFixture leader) throws Exception {
    return ClusterCaGrpc.newBlockingV2Stub(leader.asOwner())
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static CaStatus rotate(CuratorFixture leader) throws Exception {
    return ca(leader).rotateCa(RotateCaRequest.getDefaultInstance());
  }

  private static CaStatus retire(CuratorFixture leader) throws Exception {
    return ca(leader).retireCa(RetireCaRequest.getDefaultInstance());
  }

  private static X509Certificate certificate(ByteString der) {
    return Pem.certificate(der.toByteArray());
  }

  /** Reports the CAs that a node trusts, of which the first one issued its certificate. */
  private static void report(CuratorFixture leader, CuratorFixture node, X509Certificate... trusted)
      throws Exception {
    CuratorGrpc.newBlockingV2Stub(leader.as(node.credentials().tls()))
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeStatus(
            UpdateNodeStatusRequest.newBuilder()
                .setNodeId(node.id().text())
                .setStatus(
                    NodeStatus.newBuilder()
                        .setExternalAddress(node.address().getAddress().getHostAddress())
                        .addAllTrustedCas(
                            Stream.of(trusted).map(each -> Fingerprint.of(each).hex()).toList()))
                .build());
  }

  private static void awaitTrust(CuratorFixture node, X509Certificate... trusted) throws Exception {
    Await.value(
        node.host().authorities(),
        new CaBundle(List.of(trusted))::equals,
        CuratorFixture.SOON,
        "node %s to trust %d CAs".formatted(node.id(), trusted.length));
  }

  private static String refusal(Executable call) {
    return CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, call);
  }

  private static CertificateAuthority stolen(CuratorFixture leader) throws Exception {
    try (EtcdClient etcd = leader.records()) {
      return new CuratorPki(etcd, etcd.kv(), InstantSource.system()).authority().authority();
    }
  }

  private static Status.Code read(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            ManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
  }

  private static Status.Code reboot(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            NodeManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .reboot(RebootRequest.getDefaultInstance()));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a CA is replaced in steps that wait for each node; then a certificate of the former one, and its stolen key, open nothing within a second, on open streams too")
  void steps() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle();
        CuratorFixture member = CuratorFixture.idle()) {
      follower.follow(leader);
      member.followWithoutRecords(leader);
      X509Certificate former = leader.clusterCa();
      CertificateAuthority thief = stolen(leader);
      assertEquals(CaStep.CA_STEP_ONE, retire(leader).getStep(), "nothing is to be retired");

      CaStatus prepared = rotate(leader);
      X509Certificate next = certificate(prepared.getOther());

      assertEquals(CaStep.CA_STEP_PREPARED, prepared.getStep());
      assertEquals(former, certificate(prepared.getIssuing()));
      assertTrue(
          prepared
              .getWaitingNodesList()
              .containsAll(Set.of(leader.id().text(), member.id().text())),
          prepared::toString);
      leader.swap();
      assertEquals(prepared, rotate(leader), "a repeated call waits, also at another instance");
      String early = refusal(() -> retire(leader));
      assertTrue(early.contains("polisctl ca rotate"), early);
      for (CuratorFixture each : List.of(leader, follower, member)) {
        awaitTrust(each, former, next);
      }
      report(leader, leader, former, next);
      assertEquals(List.of(member.id().text()), rotate(leader).getWaitingNodesList());
      report(leader, member, former, next);

      TlsIdentity owner = owner(leader);
      CaStatus issuing = rotate(leader);

      assertEquals(CaStep.CA_STEP_ISSUING, issuing.getStep());
      assertEquals(next, certificate(issuing.getIssuing()));
      assertEquals(former, certificate(issuing.getOther()));
      assertEquals(List.of("owner"), issuing.getWaitingUsersList());
      for (CuratorFixture each : List.of(leader, follower, member)) {
        awaitTrust(each, next, former);
      }
      String waits = refusal(() -> retire(leader));
      assertTrue(waits.contains(leader.id().text()) && waits.contains(member.id().text()), waits);
      assertTrue(waits.contains("--force"), waits);
      assertTrue(
          CaBundle.of(next).issued(member.present().renew(member.credentials())),
          "the member gets a certificate of the new CA");
      report(leader, leader, next, former);
      report(leader, member, next, former);

      Map<String, Callable<Status.Code>> open = new LinkedHashMap<>();
      for (CuratorFixture each : List.of(leader, follower, member)) {
        ManagedChannel management = each.nodeManagementAs(owner);
        open.put("the node service of " + each.id(), () -> reboot(management));
      }
      ManagedChannel curator = leader.as(owner);
      open.put("the curator of the leader", () -> read(curator));
      for (Map.Entry<String, Callable<Status.Code>> each : open.entrySet()) {
        Await.until(
            CuratorFixture.SOON,
            each.getKey() + " to accept the former certificate",
            () -> each.getValue().call() != Status.Code.UNAUTHENTICATED);
      }
      BlockingClientCall<?, WatchEvent> stream = CuratorFixture.watchNodes(leader.as(owner));
      assertNotNull(stream.read(), "the backlog of the watch");
      TlsIdentity renewed = owner(leader);
      ClusterCaBlockingV2Stub present =
          ClusterCaGrpc.newBlockingV2Stub(leader.as(renewed))
              .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
      assertEquals(
          List.of(), present.getCa(GetCaRequest.getDefaultInstance()).getWaitingUsersList());

      MachineSpeed speed = MachineSpeed.measure();
      long began = System.nanoTime();
      CaStatus after = present.retireCa(RetireCaRequest.getDefaultInstance());

      for (Map.Entry<String, Callable<Status.Code>> each : open.entrySet()) {
        Await.until(
            CuratorFixture.SOON,
            each.getKey() + " to refuse the former certificate",
            () -> each.getValue().call() == Status.Code.UNAUTHENTICATED);
      }
      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      speed.assertWithin("all of them refused the former certificate", PROPAGATION, took);
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode(), ended.toString());
      assertEquals(CaStep.CA_STEP_ONE, after.getStep());
      assertEquals(Status.Code.OK, read(leader.as(renewed)));
      for (CuratorFixture each : List.of(leader, follower, member)) {
        awaitTrust(each, next);
        opensNothing(thief, leader, each);
      }
      assertFalse(CaBundle.of(next).issued(owner.certificate()));
    }
  }

  @Test
  @DisplayName(
      "rotations of several owners at once are one rotation, and each owner hears its step")
  void atOnce() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        ExecutorService owners = Executors.newVirtualThreadPerTaskExecutor()) {
      X509Certificate former = leader.clusterCa();
      ClusterCaBlockingV2Stub stub = ca(leader);
      for (CaStep atLeast : List.of(CaStep.CA_STEP_PREPARED, CaStep.CA_STEP_ISSUING)) {
        Callable<CaStatus> rotation =
            () -> stub.rotateCa(RotateCaRequest.newBuilder().setForce(true).build());
        for (Future<CaStatus> answer : owners.invokeAll(Collections.nCopies(OWNERS, rotation))) {
          CaStatus status = answer.get();
          assertTrue(status.getStep().compareTo(atLeast) >= 0, status.toString());
        }
      }
      CaStatus after = ca(leader).getCa(GetCaRequest.getDefaultInstance());
      assertEquals(CaStep.CA_STEP_ISSUING, after.getStep());
      assertEquals(former, certificate(after.getOther()), "not a second rotation");
    }
  }

  @Test
  @DisplayName("a curator that has not read the proof of its CA yet names no CA")
  void justStarted() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      leader.resign();
      member.swap();
      ManagedChannel stranger = RpcClients.anonymous(RpcTrust.anybody()).dial(member.address());
      try {
        String refusal =
            CuratorFixture.refused(
                Status.Code.UNAVAILABLE,
                () ->
                    CuratorLocalGrpc.newBlockingV2Stub(stranger)
                        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                        .getCACertificate(GetCACertificateRequest.getDefaultInstance()));
        assertTrue(refusal.contains("has not read yet which CAs"), refusal);
      } finally {
        stranger.shutdownNow();
      }
    }
  }

  @Test
  @DisplayName("a step of etcd's CA waits for the API servers that have run, and for no other node")
  void apiServers() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        EtcdClient kubernetes = EtcdClient.connect(leader.access("kubernetes"))) {
      String node = leader.id().text();
      X509Certificate first = CertificateAuthority.create("the first CA").certificate();
      leader.members.ca = new ConsensusCa(ConsensusCa.Step.ONE, CaBundle.of(first), List.of());
      leader
          .management()
          .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
          .updateNodeRoles(
              UpdateNodeRolesRequest.newBuilder()
                  .setId(node)
                  .setKubernetesController(true)
                  .build());

      CaStatus prepared = rotateEtcd(leader);

      assertEquals(CaStep.CA_STEP_PREPARED, prepared.getStep());
      assertEquals(List.of(), prepared.getWaitingNodesList());
      X509Certificate next = certificate(prepared.getOther());
      reportApiServer(kubernetes, node, first);
      assertEquals(List.of(node), rotateEtcd(leader).getWaitingNodesList());
      String early =
          refusal(() -> ca(leader).retireEtcdCa(RetireEtcdCaRequest.getDefaultInstance()));
      assertTrue(early.contains("polisctl ca rotate --of etcd"), early);
      reportApiServer(kubernetes, node, first, next);
      CaStatus issuing = rotateEtcd(leader);
      assertEquals(CaStep.CA_STEP_ISSUING, issuing.getStep());
      assertEquals(next, certificate(issuing.getIssuing()));
      String waits =
          refusal(() -> ca(leader).retireEtcdCa(RetireEtcdCaRequest.getDefaultInstance()));
      assertTrue(waits.contains(node), waits);
      reportApiServer(kubernetes, node, next, first);
      CaStatus retired = ca(leader).retireEtcdCa(RetireEtcdCaRequest.getDefaultInstance());
      assertEquals(CaStep.CA_STEP_ONE, retired.getStep());
      assertEquals(List.of(node), retired.getWaitingNodesList());
      reportApiServer(kubernetes, "a-node-without-the-role", first);
      reportApiServer(kubernetes, node, next);
      assertEquals(
          List.of(),
          ca(leader).getEtcdCa(GetEtcdCaRequest.getDefaultInstance()).getWaitingNodesList());
    }
  }

  private static CaStatus rotateEtcd(CuratorFixture leader) throws Exception {
    return ca(leader).rotateEtcdCa(RotateEtcdCaRequest.getDefaultInstance());
  }

  private static void reportApiServer(
      EtcdClient kubernetes, String node, X509Certificate... trusted) throws Exception {
    kubernetes
        .kv()
        .put(
            KubernetesNames.ETCD_TRUST_PREFIX + node,
            String.join(" ", new CaBundle(List.of(trusted)).fingerprints())
                .getBytes(StandardCharsets.UTF_8));
  }

  private static TlsIdentity owner(CuratorFixture leader) throws Exception {
    return TlsIdentity.of(
        leader.ownerKey.getPrivate(),
        CuratorFixture.escrow(leader.asKey(leader.ownerKey), "owner", leader.ownerKey));
  }

  private static void opensNothing(
      CertificateAuthority thief, CuratorFixture leader, CuratorFixture node) throws Exception {
    KeyPair own = Ed25519.generate();
    for (X509Certificate forged :
        List.of(
            thief.issueNode(own.getPublic()),
            thief.issueUser("owner", leader.ownerKey.getPublic()),
            thief.issueUser("owner", own.getPublic()))) {
      KeyPair key = forged.getPublicKey().equals(own.getPublic()) ? own : leader.ownerKey;
      TlsIdentity stranger = TlsIdentity.of(key.getPrivate(), forged);
      assertEquals(Status.Code.UNAUTHENTICATED, read(leader.as(stranger)));
      assertEquals(Status.Code.UNAUTHENTICATED, reboot(node.nodeManagementAs(stranger)));
    }
    assertThrows(
        RuntimeException.class,
        () -> node.host().revoke(thief.revocationList(BigInteger.valueOf(1000), List.of())));
  }
}
