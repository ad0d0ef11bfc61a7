package dev.polis.api.kubernetes;

import dev.polis.pki.NodeId;

/** Names what the organs that take part in Kubernetes must call the same. */
public final class KubernetesNames {

  /** Where the keys and certificates are, in the etcd namespace of the user {@code kubernetes}. */
  public static final String PKI_PREFIX = "/kube-pki/";

  /** The authority, in that store, that signs all certificates that the API server accepts. */
  public static final String ID_CA = "id-ca";

  /** The common name of that authority. */
  public static final String ID_CA_COMMON_NAME = "Polis Kubernetes ID CA";

  /** The authority of proxies, which tell API servers who their client is. */
  public static final String AGGREGATION_CA = "aggregation-ca";

  /** The common name of that authority. */
  public static final String AGGREGATION_CA_COMMON_NAME = "Polis Kubernetes Aggregation CA";

  /** The group of kubelets; Kubernetes gives it its rights. */
  public static final String GROUP_NODES = "system:nodes";

  /** The group that may do everything; Kubernetes gives it its rights. */
  public static final String GROUP_MASTERS = "system:masters";

  /** The group of the programs that connect Services on a node: its proxy and its DNS. */
  public static final String GROUP_NETSERVICES = "polis:netservices";

  /** The group of those who make persistent volumes on a node. */
  public static final String GROUP_CSI_PROVISIONER = "polis:csi-provisioner";

  /** The name in the API server's certificate that clients expect, wherever they reach it. */
  public static final String SERVER_NAME = "kubernetes.default.svc";

  private KubernetesNames() {}

  /** Returns the user that a node's kubelet is; the node's name in Kubernetes is its id. */
  public static String nodeUser(NodeId node) {
    return "system:node:" + node.text();
  }
}
