package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.consensus.CaReports;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdTls;
import dev.polis.etcd.KeyPrefix;
import dev.polis.files.FileException;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import dev.polis.kubernetes.pki.KubeLifetimes;
import dev.polis.kubernetes.pki.KubePki;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.Renewal;
import dev.polis.pki.TlsIdentity;
import java.net.InetAddress;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Makes the keys, certificates and configurations of the control plane's programs, and writes them
 * to files. A second call renews only due certificates.
 */
final class ControlMaterial {

  /**
   * Holds the results.
   *
   * @param keys the present keys
   * @param etcd the way to consensus
   */
  record Made(KubeKeys keys, EtcdWay etcd) {}

  /**
   * Holds what a program needs to reach consensus.
   *
   * @param members the members of consensus
   * @param cas the CAs of consensus; the first one has signed the API server's certificate
   */
  record EtcdWay(List<EtcdEndpoint> members, CaBundle cas) {}

  private final KubernetesSettings settings;
  private final ControlPlace place;
  private final ControlFolder files;
  private final InstantSource clock;
  private final KubeLifetimes lifetimes;

  /**
   * Creates it without any key or file.
   *
   * @param lifetimes the lifetimes of new certificates
   */
  ControlMaterial(
      KubernetesSettings settings,
      ControlPlace place,
      ControlFolder files,
      InstantSource clock,
      KubeLifetimes lifetimes) {
    this.settings = settings;
    this.place = place;
    this.files = files;
    this.clock = clock;
    this.lifetimes = lifetimes;
  }

  /**
   * Makes and writes all keys, certificates and files.
   *
   * @param cluster gives access to etcd
   * @throws dev.polis.api.cluster.ConsensusUnavailableException if this node has none now
   * @throws dev.polis.etcd.EtcdException if etcd does not answer
   * @throws FileException if a file is not readable or writable
   */
  Made refresh(ClusterStatus cluster) throws InterruptedException, FileException {
    EtcdAccess objects = cluster.consensusClient(ConsensusUser.KUBE_APISERVER);
    KubeKeys keys = keys(cluster);
    for (ControlFile each :
        List.of(ControlFile.CA, ControlFile.CONTROLLER_MANAGER_CA, ControlFile.SCHEDULER_CA)) {
      files.write(each, Pem.encode(keys.ca()));
    }
    for (ControlFile each :
        List.of(
            ControlFile.AGGREGATION_CA,
            ControlFile.CONTROLLER_MANAGER_AGGREGATION_CA,
            ControlFile.SCHEDULER_AGGREGATION_CA)) {
      files.write(each, Pem.encode(keys.aggregationCa()));
    }
    for (ControlFile each :
        List.of(ControlFile.SERVICE_ACCOUNT, ControlFile.CONTROLLER_MANAGER_SERVICE_ACCOUNT)) {
      files.write(each, keys.serviceAccount().privatePem());
    }
    files.write(ControlFile.SERVICE_ACCOUNT_PUBLIC, keys.serviceAccount().publicPem());
    files.write(ControlFile.ENCRYPTION, ControlConfigs.encryption(keys.encryptionKey()));
    files.write(ControlFile.AUTHENTICATION, ControlConfigs.authentication());
    files.write(ControlFile.ADMISSION, ControlConfigs.admission());
    files.write(ControlFile.AUDIT_POLICY, settings.audit().policy());
    write(ControlFile.API_SERVER_KUBELET_CLIENT, keys, KubeIdentity.APISERVER_KUBELET_CLIENT);
    write(ControlFile.FRONT_PROXY_CLIENT, keys, KubeIdentity.FRONT_PROXY_CLIENT);
    write(ControlFile.CONTROLLER_MANAGER, keys, KubeIdentity.CONTROLLER_MANAGER);
    write(ControlFile.SCHEDULER, keys, KubeIdentity.SCHEDULER);
    client(
        ControlFile.CONTROLLER_MANAGER_CONFIG,
        ControlFile.CONTROLLER_MANAGER_CLIENT,
        ControlFile.CONTROLLER_MANAGER_CA,
        keys,
        KubeIdentity.CONTROLLER_MANAGER_CLIENT);
    client(
        ControlFile.SCHEDULER_CONFIG,
        ControlFile.SCHEDULER_CLIENT,
        ControlFile.SCHEDULER_CA,
        keys,
        KubeIdentity.SCHEDULER_CLIENT);
    ensureServer(keys);
    ensureEtcd(objects);
    return new Made(keys, etcd(objects));
  }

  /** Returns the way to consensus now, without a read of etcd. */
  static EtcdWay etcd(ClusterStatus cluster) {
    return etcd(cluster.consensusClient(ConsensusUser.KUBE_APISERVER));
  }

  private static EtcdWay etcd(EtcdAccess objects) {
    return new EtcdWay(objects.endpoints(), etcdCas(objects));
  }

  private static CaBundle etcdCas(EtcdAccess objects) {
    return new CaBundle(tls(objects).trusted());
  }

  private static EtcdTls tls(EtcdAccess access) {
    if (!(access.security() instanceof EtcdAccess.MutualTls mutual)) {
      throw new IllegalStateException("consensus gave access without certificates");
    }
    return mutual.tls();
  }

  /** Reports the CAs of consensus with which the API server runs; a rotation waits for that. */
  void report(ClusterStatus cluster, CaBundle etcdCas) throws InterruptedException {
    try (EtcdClient etcd = EtcdClient.connect(cluster.consensusClient(ConsensusUser.KUBERNETES))) {
      new CaReports(etcd.kv(), KeyPrefix.of(KubernetesNames.ETCD_TRUST_PREFIX))
          .report(place.node().text(), etcdCas);
    }
  }

  private KubeKeys keys(ClusterStatus cluster) throws InterruptedException {
    EtcdAccess access = cluster.consensusClient(ConsensusUser.KUBERNETES);
    try (EtcdClient etcd = EtcdClient.connect(access)) {
      return new KubePki(etcd, clock, lifetimes).ensure();
    }
  }

  private void write(ControlFile file, KubeKeys keys, KubeIdentity which) throws FileException {
    files.write(file, pem(keys.identity(which)));
  }

  private void client(
      ControlFile config, ControlFile identity, ControlFile ca, KubeKeys keys, KubeIdentity which)
      throws FileException {
    write(identity, keys, which);
    files.write(
        config, ControlConfigs.kubeconfig(place.api(), files.path(ca), files.path(identity)));
  }

  /** Makes the API server's own certificate, unless the certificate on the disk still fits. */
  private void ensureServer(KubeKeys keys) throws FileException {
    CertificateTemplate template = serverTemplate();
    if (fits(ControlFile.API_SERVER, template, keys.ca().getPublicKey())) {
      files.keep(ControlFile.API_SERVER);
    } else {
      files.write(ControlFile.API_SERVER, pem(keys.issue(template)));
    }
  }

  private CertificateTemplate serverTemplate() {
    String service = KubernetesNames.SERVER_NAME;
    List<InetAddress> addresses = new ArrayList<>(place.all());
    addresses.add(settings.services().at(1));
    return CertificateTemplate.server(
            "kube-apiserver",
            List.of(
                "kubernetes",
                "kubernetes.default",
                service,
                service + "." + settings.domain(),
                "localhost",
                place.node().text()),
            addresses)
        .withLifetime(lifetimes.certificates());
  }

  /**
   * Writes the API server's certificate for etcd, unless the one on the disk is still valid. Each
   * process of a node gets another certificate, so a difference requires no change of the file.
   */
  private void ensureEtcd(EtcdAccess access) throws FileException {
    EtcdTls tls = tls(access);
    X509Certificate ca = tls.trusted().getFirst();
    // In an order of their own: the API server starts again when this file changes.
    files.write(ControlFile.ETCD_CA, etcdCas(access).sortedPem());
    CertificateTemplate template =
        CertificateTemplate.client(ConsensusUser.KUBE_APISERVER.userName());
    if (fits(ControlFile.ETCD_CLIENT, template, ca.getPublicKey())) {
      files.keep(ControlFile.ETCD_CLIENT);
    } else {
      files.write(ControlFile.ETCD_CLIENT, pem(new TlsIdentity(tls.key(), tls.chain())));
    }
  }

  private boolean fits(ControlFile file, CertificateTemplate template, PublicKey issuer)
      throws FileException {
    Optional<String> stored = files.read(file);
    if (stored.isEmpty()) {
      return false;
    }
    try {
      TlsIdentity identity =
          TlsIdentity.of(Pem.privateKey(stored.get()), Pem.certificate(stored.get()));
      identity.certificate().verify(issuer);
      Renewal renewal = Renewal.of(identity.certificate());
      return template.describes(identity.certificate())
          && !renewal.due(clock.instant())
          && !renewal.invalid(clock.instant());
    } catch (PkiException | GeneralSecurityException useless) {
      // The authority can always issue another certificate, so the loss does no harm.
      return false;
    }
  }

  private static String pem(TlsIdentity identity) {
    return Pem.encode(identity.chain().toArray(X509Certificate[]::new))
        + Pem.encode(identity.privateKey());
  }
}
