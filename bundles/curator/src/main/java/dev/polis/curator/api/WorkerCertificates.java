package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.curator.record.Refusal;
import dev.polis.etcd.EtcdClient;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiConflictException;
import dev.polis.pki.PkiException;
import dev.polis.pki.PkiStore;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.IssueCertificateRequest;
import dev.polis.wire.curator.IssueCertificateResponse;
import dev.polis.wire.curator.stored.Node;
import java.net.InetAddress;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Issues the certificates of a Kubernetes worker's programs, with the identity CA of Kubernetes.
 *
 * <p>It stores them in the etcd namespace of Kubernetes, where the controllers keep their own. The
 * fence of the curator's leader does not cover that namespace; a separate transaction, safe against
 * a second writer, writes each object.
 */
public final class WorkerCertificates {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Supplier<EtcdClient> connect;
  private final InstantSource clock;

  /**
   * @param connect opens a client of the namespace of Kubernetes; closed after each call
   */
  public WorkerCertificates(Supplier<EtcdClient> connect, InstantSource clock) {
    this.connect = connect;
    this.clock = clock;
  }

  /** Certifies the keys of a node with the role KubernetesWorker. */
  IssueCertificateResponse issue(Node node, IssueCertificateRequest.KubernetesWorker keys)
      throws InterruptedException {
    if (!node.getRoles().hasKubernetesWorker()) {
      throw Refusal.denied(
          "node %s is not a KubernetesWorker; give it the role first: polisctl node role add %s KubernetesWorker",
          node.getId(), node.getId());
    }
    PublicKey kubelet = key("kubelet_pubkey", keys.getKubeletPubkey());
    PublicKey provisioner = key("csi_provisioner_pubkey", keys.getCsiProvisionerPubkey());
    PublicKey netservices = key("netservices_pubkey", keys.getNetservicesPubkey());
    Set<InetAddress> addresses = WorkerAddress.all(node, keys.getWorkerAddress());
    try (EtcdClient etcd = connect.get()) {
      PkiStore store =
          new PkiStore(PkiBackend.etcd(etcd, etcd.kv(), KubernetesNames.PKI_PREFIX), clock);
      PkiAuthority ca =
          store.ensureAuthority(
              KubernetesNames.ID_CA,
              CertificateTemplate.authority(KubernetesNames.ID_CA_COMMON_NAME));
      String id = node.getId();
      var issued =
          IssueCertificateResponse.KubernetesWorker.newBuilder()
              .setIdentityCaCertificate(der(ca.certificate()))
              .setKubeletServerCertificate(
                  external(ca, "kubelet-server-" + id, kubeletServer(id, addresses), kubelet))
              .setKubeletClientCertificate(
                  external(ca, "kubelet-client-" + id, kubeletClient(id), kubelet))
              .setCsiProvisionerCertificate(
                  external(
                      ca,
                      "csi-provisioner-" + id,
                      member(KubernetesNames.GROUP_CSI_PROVISIONER, id),
                      provisioner))
              .setNetservicesCertificate(
                  external(
                      ca,
                      "netservices-" + id,
                      member(KubernetesNames.GROUP_NETSERVICES, id),
                      netservices));
      return IssueCertificateResponse.newBuilder().setKubernetesWorker(issued).build();
    } catch (ConsensusException notRunning) {
      throw RpcException.unavailable(notRunning.getMessage(), RETRY);
    } catch (PkiConflictException busy) {
      throw RpcException.unavailable(busy.getMessage(), RETRY);
    } catch (PkiException refused) {
      throw Refusal.precondition("%s", refused.getMessage());
    }
  }

  private static PublicKey key(String field, ByteString raw) {
    if (raw.size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid(
          "%s has %d bytes; an Ed25519 key has %d", field, raw.size(), Ed25519.KEY_BYTES);
    }
    try {
      return Ed25519.publicKey(raw.toByteArray());
    } catch (PkiException noPoint) {
      throw Refusal.invalid("%s: %s", field, noPoint.getMessage());
    }
  }

  private static ByteString external(
      PkiAuthority ca, String name, CertificateTemplate template, PublicKey key)
      throws InterruptedException {
    return der(ca.ensureExternal(name, template, key));
  }

  private static ByteString der(X509Certificate certificate) {
    return ByteString.copyFrom(Pem.der(certificate));
  }

  private static CertificateTemplate kubeletServer(String id, Set<InetAddress> addresses) {
    return CertificateTemplate.server(nodeUser(id), List.of(id), List.copyOf(addresses))
        .withOrganizations(List.of(KubernetesNames.GROUP_NODES));
  }

  private static CertificateTemplate kubeletClient(String id) {
    return CertificateTemplate.client(nodeUser(id))
        .withOrganizations(List.of(KubernetesNames.GROUP_NODES));
  }

  private static String nodeUser(String id) {
    return KubernetesNames.nodeUser(NodeId.parse(id));
  }

  /** Returns the template of a program that has its group's rights. */
  private static CertificateTemplate member(String group, String id) {
    return CertificateTemplate.client(group + ":" + id).withOrganizations(List.of(group));
  }
}
