package dev.polis.kubernetes.control;

import dev.polis.etcd.EtcdEndpoint;
import dev.polis.kubernetes.audit.AuditFiles;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Makes the command lines of the control plane's programs. They are always the same for the same
 * node at the same address, since the node adopts a running program only with the same command
 * line.
 *
 * @param programs the programs and their release
 * @param settings the configuration
 * @param place the addresses at which they listen
 * @param files the files that they read
 * @param audit the file of the API server's audit log
 */
record ControlCommands(
    KubernetesPrograms programs,
    KubernetesSettings settings,
    ControlPlace place,
    ControlFolder files,
    AuditFiles audit) {

  /** The default ports at which the two serve their health and metrics. */
  static final int CONTROLLER_MANAGER_PORT = 10_257;

  static final int SCHEDULER_PORT = 10_259;

  /**
   * The calls of the controller manager per second, and at once. Each of its forty controllers
   * needs a service account and a token first, which takes 5 s with upstream's 20 and 30.
   */
  private static final int CALLS = 100;

  private static final int CALLS_AT_ONCE = 200;

  /** The prefix of a node's Pod addresses: 256 addresses for at most 110 Pods. */
  private static final int NODE_MASK = 24;

  /**
   * Returns the API server's command line.
   *
   * @param etcd the members of consensus
   */
  List<String> apiServer(List<EtcdEndpoint> etcd) {
    List<String> line = new ArrayList<>();
    line.add(programs.program("kube-apiserver").toString());
    line.addAll(serving());
    line.addAll(storage(etcd));
    line.addAll(
        List.of(
            "--kubelet-client-certificate=" + files.path(ControlFile.API_SERVER_KUBELET_CLIENT),
            "--kubelet-client-key=" + files.path(ControlFile.API_SERVER_KUBELET_CLIENT),
            "--kubelet-certificate-authority=" + files.path(ControlFile.CA),
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=" + issuer(),
            "--service-account-key-file=" + files.path(ControlFile.SERVICE_ACCOUNT_PUBLIC),
            "--service-account-signing-key-file=" + files.path(ControlFile.SERVICE_ACCOUNT),
            "--service-cluster-ip-range=" + settings.services(),
            "--authorization-mode=Node,RBAC",
            "--authentication-config=" + files.path(ControlFile.AUTHENTICATION),
            "--enable-admission-plugins=NodeRestriction",
            "--admission-control-config-file=" + files.path(ControlFile.ADMISSION),
            "--allow-privileged=true",
            "--profiling=false"));
    line.addAll(aggregation());
    line.addAll(auditing());
    return List.copyOf(line);
  }

  private List<String> serving() {
    return List.of(
        "--advertise-address=" + place.advertised().getHostAddress(),
        "--bind-address=" + place.server().getHostAddress(),
        "--secure-port=" + place.port(),
        "--client-ca-file=" + files.path(ControlFile.CA),
        "--tls-cert-file=" + files.path(ControlFile.API_SERVER),
        "--tls-private-key-file=" + files.path(ControlFile.API_SERVER),
        "--tls-min-version=VersionTLS13");
  }

  private List<String> storage(List<EtcdEndpoint> etcd) {
    return List.of(
        "--etcd-servers="
            + etcd.stream().map(each -> "https://" + each).collect(Collectors.joining(",")),
        "--etcd-cafile=" + files.path(ControlFile.ETCD_CA),
        "--etcd-certfile=" + files.path(ControlFile.ETCD_CLIENT),
        "--etcd-keyfile=" + files.path(ControlFile.ETCD_CLIENT),
        "--encryption-provider-config=" + files.path(ControlFile.ENCRYPTION),
        "--encryption-provider-config-automatic-reload=true");
  }

  /** Sets the defaults that bound the log's room and differ between releases. */
  private List<String> auditing() {
    return List.of(
        "--audit-policy-file=" + files.path(ControlFile.AUDIT_POLICY),
        "--audit-log-path=" + audit.current(),
        "--audit-log-maxsize=" + settings.audit().fileMebibytes(),
        // The number of files without the present one.
        "--audit-log-maxbackup=" + (settings.audit().files() - 1),
        "--audit-log-maxage=0",
        "--audit-log-truncate-enabled=true",
        "--audit-log-truncate-max-event-size=" + AuditFiles.LONGEST);
  }

  private List<String> aggregation() {
    return List.of(
        "--requestheader-client-ca-file=" + files.path(ControlFile.AGGREGATION_CA),
        "--requestheader-allowed-names="
            + KubeIdentity.FRONT_PROXY_CLIENT.userName()
            + ","
            + KubeIdentity.AUTH_PROXY_CLIENT.userName(),
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--proxy-client-cert-file=" + files.path(ControlFile.FRONT_PROXY_CLIENT),
        "--proxy-client-key-file=" + files.path(ControlFile.FRONT_PROXY_CLIENT),
        "--enable-aggregator-routing=true");
  }

  private String issuer() {
    return "https://kubernetes.default.svc." + settings.domain();
  }

  /** Returns the controller manager's command line. */
  List<String> controllerManager() {
    List<String> line = new ArrayList<>();
    line.add(programs.program("kube-controller-manager").toString());
    line.addAll(
        secondary(
            ControlFile.CONTROLLER_MANAGER_CONFIG,
            CONTROLLER_MANAGER_PORT,
            ControlFile.CONTROLLER_MANAGER,
            ControlFile.CONTROLLER_MANAGER_CA,
            ControlFile.CONTROLLER_MANAGER_AGGREGATION_CA));
    line.addAll(
        List.of(
            "--service-account-private-key-file="
                + files.path(ControlFile.CONTROLLER_MANAGER_SERVICE_ACCOUNT),
            "--root-ca-file=" + files.path(ControlFile.CONTROLLER_MANAGER_CA),
            "--use-service-account-credentials=true",
            "--kube-api-qps=" + CALLS,
            "--kube-api-burst=" + CALLS_AT_ONCE,
            "--allocate-node-cidrs=true",
            "--cluster-cidr=" + settings.pods(),
            "--node-cidr-mask-size=" + NODE_MASK,
            "--service-cluster-ip-range=" + settings.services(),
            // The curator issues certificates; no other program gets the authority's key.
            "--controllers=*,-certificatesigningrequest-signing-controller",
            "--flex-volume-plugin-dir=" + files.flexVolumes()));
    return List.copyOf(line);
  }

  /** Returns the scheduler's command line. */
  List<String> scheduler() {
    List<String> line = new ArrayList<>();
    line.add(programs.program("kube-scheduler").toString());
    line.addAll(
        secondary(
            ControlFile.SCHEDULER_CONFIG,
            SCHEDULER_PORT,
            ControlFile.SCHEDULER,
            ControlFile.SCHEDULER_CA,
            ControlFile.SCHEDULER_AGGREGATION_CA));
    return List.copyOf(line);
  }

  /** Returns the options of both clients of the API server. */
  private List<String> secondary(
      ControlFile kubeconfig,
      int port,
      ControlFile certificate,
      ControlFile ca,
      ControlFile aggregationCa) {
    String config = files.path(kubeconfig);
    return List.of(
        "--kubeconfig=" + config,
        "--authentication-kubeconfig=" + config,
        "--authorization-kubeconfig=" + config,
        "--bind-address=" + place.local().getHostAddress(),
        "--secure-port=" + port,
        "--tls-cert-file=" + files.path(certificate),
        "--tls-private-key-file=" + files.path(certificate),
        "--tls-min-version=VersionTLS13",
        "--client-ca-file=" + files.path(ca),
        "--requestheader-client-ca-file=" + files.path(aggregationCa),
        "--leader-elect=true",
        "--profiling=false");
  }
}
