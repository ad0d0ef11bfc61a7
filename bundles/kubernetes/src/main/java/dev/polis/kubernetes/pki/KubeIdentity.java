package dev.polis.kubernetes.pki;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.pki.CertificateTemplate;
import java.util.List;

/** Names the identities of the control plane that all controllers share. */
public enum KubeIdentity {
  /** The API server as a client of kubelets. */
  APISERVER_KUBELET_CLIENT("apiserver-kubelet-client", client("polis:apiserver-kubelet-client")),
  /** The controller manager as a client of the API server. */
  CONTROLLER_MANAGER_CLIENT("controller-manager-client", client("system:kube-controller-manager")),
  /** The controller manager as a server, for its health and its metrics. */
  CONTROLLER_MANAGER("controller-manager", server("kube-controller-manager.local")),
  /** The scheduler as a client of the API server. */
  SCHEDULER_CLIENT("scheduler-client", client("system:kube-scheduler")),
  /** The scheduler as a server, for its health and its metrics. */
  SCHEDULER("scheduler", server("kube-scheduler.local")),
  /** This node as a client of the API server with all rights. */
  MASTER(
      "master", client("polis:master").withOrganizations(List.of(KubernetesNames.GROUP_MASTERS))),
  /** The API server as a client of servers that add to its API. */
  FRONT_PROXY_CLIENT("front-proxy-client", client("front-proxy-client")),
  /** The authenticating proxy as a client of the API server. */
  AUTH_PROXY_CLIENT("auth-proxy-client", client("polis-auth-proxy-client"));

  private final String objectName;
  private final CertificateTemplate template;

  KubeIdentity(String objectName, CertificateTemplate template) {
    this.objectName = objectName;
    this.template = template;
  }

  /** Returns the identity's name in the store. */
  String objectName() {
    return objectName;
  }

  /** Returns the template of the identity's certificate. */
  CertificateTemplate template() {
    return template;
  }

  /** Returns the common name of the identity's certificate. */
  public String userName() {
    return template.commonName();
  }

  /** Returns whether the identity tells an API server the user of each request. */
  boolean proxy() {
    return this == FRONT_PROXY_CLIENT || this == AUTH_PROXY_CLIENT;
  }

  private static CertificateTemplate client(String name) {
    return CertificateTemplate.client(name);
  }

  private static CertificateTemplate server(String name) {
    return CertificateTemplate.server(name, List.of(name), List.of());
  }
}
