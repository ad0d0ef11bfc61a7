package dev.polis.api.kubernetes;

import dev.polis.pki.NodeId;

/** Holds the names that several organs of Kubernetes share. */
public final class KubernetesNames {

  /** The prefix of keys and certificates in the etcd namespace of the user {@code kubernetes}. */
  public static final String PKI_PREFIX = "/kube-pki/";

  /**
   * The prefix of reports in that namespace, each under the id of a node: the fingerprints of
   * etcd's CAs with which the node's API server runs, the one that signed its certificate first.
   */
  public static final String ETCD_TRUST_PREFIX = "/etcd-trust/";

  /**
   * The name of the authority in that store which signs all certificates that the API server
   * accepts.
   */
  public static final String ID_CA = "id-ca";

  /** The common name of that authority. */
  public static final String ID_CA_COMMON_NAME = "Polis Kubernetes ID CA";

  /**
   * The name of the authority of proxies, which pass the identity of their client to API servers.
   */
  public static final String AGGREGATION_CA = "aggregation-ca";

  /** The common name of that authority. */
  public static final String AGGREGATION_CA_COMMON_NAME = "Polis Kubernetes Aggregation CA";

  /** The group of kubelets; Kubernetes gives it its rights. */
  public static final String GROUP_NODES = "system:nodes";

  /** The group with all rights; Kubernetes gives it its rights. */
  public static final String GROUP_MASTERS = "system:masters";

  /** The group of the programs that connect Services on a node: its proxy and its DNS. */
  public static final String GROUP_NETSERVICES = "polis:netservices";

  /** The group of the programs that make persistent volumes on a node. */
  public static final String GROUP_CSI_PROVISIONER = "polis:csi-provisioner";

  /** The name in the API server's certificate that clients expect at each of its addresses. */
  public static final String SERVER_NAME = "kubernetes.default.svc";

  private KubernetesNames() {}

  /** Returns the user name of a node's kubelet; the node's name in Kubernetes is its id. */
  public static String nodeUser(NodeId node) {
    return "system:node:" + node.text();
  }
}
