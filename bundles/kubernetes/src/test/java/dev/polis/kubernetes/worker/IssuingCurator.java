package dev.polis.kubernetes.worker;

import com.google.protobuf.ByteString;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.IssueCertificateRequest;
import dev.polis.wire.curator.IssueCertificateResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Stands for a curator over TLS: issues or refuses a worker's certificates, as the test sets. */
final class IssuingCurator implements AutoCloseable {

  final LogTree logs = LogTree.create();
  private final CertificateAuthority kubernetes = CertificateAuthority.create("Kubernetes");
  private final NodeCredentials credentials;
  private final LocalRpcHost host;
  private final InetSocketAddress address;
  private volatile boolean refusing;

  IssuingCurator() {
    CertificateAuthority authority = CertificateAuthority.create("test cluster");
    KeyPair pair = Ed25519.generate();
    credentials =
        new NodeCredentials(
            pair.getPrivate(), authority.issueNode(pair.getPublic()), authority.certificate());
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    host.identify(credentials);
    address = host.address(RpcHost.CURATOR);
    host.serve(RpcHost.CURATOR, new Issuer());
    host.serve(RpcHost.CURATOR, new Discovery());
  }

  LeaderConnection connect() {
    return new LeaderConnection(() -> credentials, address, logs.log("test"));
  }

  void refuse(boolean now) {
    refusing = now;
  }

  private final class Issuer extends CuratorGrpc.CuratorImplBase {
    @Override
    public void issueCertificate(
        IssueCertificateRequest request, StreamObserver<IssueCertificateResponse> caller) {
      if (refusing) {
        caller.onError(
            Status.FAILED_PRECONDITION.withDescription("this test refuses").asRuntimeException());
        return;
      }
      IssueCertificateRequest.KubernetesWorker wanted = request.getKubernetesWorker();
      InetAddress worker = InetAddress.ofLiteral(wanted.getWorkerAddress());
      CertificateTemplate server =
          CertificateTemplate.server("kubelet", List.of("kubelet"), List.of(worker));
      CertificateTemplate client = CertificateTemplate.client("a program");
      caller.onNext(
          IssueCertificateResponse.newBuilder()
              .setKubernetesWorker(
                  IssueCertificateResponse.KubernetesWorker.newBuilder()
                      .setIdentityCaCertificate(
                          ByteString.copyFrom(Pem.der(kubernetes.certificate())))
                      .setKubeletServerCertificate(issue(server, wanted.getKubeletPubkey()))
                      .setKubeletClientCertificate(issue(client, wanted.getKubeletPubkey()))
                      .setCsiProvisionerCertificate(issue(client, wanted.getCsiProvisionerPubkey()))
                      .setNetservicesCertificate(issue(client, wanted.getNetservicesPubkey())))
              .build());
      caller.onCompleted();
    }

    private ByteString issue(CertificateTemplate template, ByteString key) {
      return ByteString.copyFrom(
          Pem.der(kubernetes.issue(template, Ed25519.publicKey(key.toByteArray()))));
    }
  }

  private final class Discovery extends CuratorLocalGrpc.CuratorLocalImplBase {
    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      caller.onNext(
          GetCurrentLeaderResponse.newBuilder()
              .setLeaderNodeId(credentials.id().text())
              .setThisNodeId(credentials.id().text())
              .setLeaderHost(address.getAddress().getHostAddress())
              .setLeaderPort(address.getPort())
              .build());
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    host.close();
  }
}
