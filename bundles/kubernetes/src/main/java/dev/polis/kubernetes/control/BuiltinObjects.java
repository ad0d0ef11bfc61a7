package dev.polis.kubernetes.control;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.kubernetes.pki.KubeIdentity;
import java.util.List;

/** Lists the initial objects of each cluster. */
final class BuiltinObjects {

  /** The label of these objects; the reconciler deletes all others with this label. */
  static final String LABEL = "polis.dev/builtin";

  /** The provisioner of persistent volumes on a node's data volume. */
  static final String PROVISIONER = "polis.dev/local";

  /** The user that has set up the cluster. */
  private static final String OWNER = "owner";

  private static final String NODE_REMOVAL = "polis:node-removal";
  private static final String RBAC = "/apis/rbac.authorization.k8s.io/v1/";
  private static final String ROLES = RBAC + "clusterroles";
  private static final String BINDINGS = RBAC + "clusterrolebindings";
  private static final String STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
  private static final String ADMISSION = "/apis/admissionregistration.k8s.io/v1/";
  private static final String POLICIES = ADMISSION + "validatingadmissionpolicies";
  private static final String POLICY_BINDINGS = ADMISSION + "validatingadmissionpolicybindings";

  /**
   * The name of the warning for authors of network policies, which the cluster does not enforce.
   */
  private static final String UNENFORCED = "polis-network-policies";

  private static final String RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses";

  private BuiltinObjects() {}

  /** Returns the collections of all these objects. */
  static List<String> collections() {
    return List.of(ROLES, BINDINGS, STORAGE_CLASSES, RUNTIME_CLASSES, POLICIES, POLICY_BINDINGS);
  }

  /** Returns the objects, in the order of their creation. */
  static List<KubeObject> all() {
    return List.of(
        netservices(),
        provisioner(),
        nodeRemoval(),
        binding(
            "polis:apiserver-kubelet-client",
            "User",
            KubeIdentity.APISERVER_KUBELET_CLIENT.userName(),
            "system:kubelet-api-admin"),
        binding("polis:owner-admin", "User", OWNER, "cluster-admin"),
        binding(NODE_REMOVAL, "Group", KubernetesNames.GROUP_NODES, NODE_REMOVAL),
        storageClass(),
        runtimeClass(),
        networkPolicyWarning(),
        networkPolicyWarningBinding());
  }

  private static KubeObject netservices() {
    return role(
        KubernetesNames.GROUP_NETSERVICES,
        """
        [
          {"apiGroups": [""], "resources": ["services", "endpoints", "pods", "namespaces", "nodes"],
           "verbs": ["get", "list", "watch"]},
          {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
           "verbs": ["get", "list", "watch"]},
          {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies", "servicecidrs"],
           "verbs": ["get", "list", "watch"]}
        ]
        """);
  }

  private static KubeObject provisioner() {
    return role(
        KubernetesNames.GROUP_CSI_PROVISIONER,
        """
        [
          {"apiGroups": [""], "resources": ["persistentvolumes"],
           "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
          {"apiGroups": [""], "resources": ["persistentvolumes/status"],
           "verbs": ["update", "patch"]},
          {"apiGroups": [""],
           "resources": ["persistentvolumeclaims", "persistentvolumeclaims/status"],
           "verbs": ["get", "list", "watch", "update", "patch"]},
          {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
          {"apiGroups": ["", "events.k8s.io"], "resources": ["events"],
           "verbs": ["list", "watch", "create", "update", "patch"]},
          {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses", "csinodes"],
           "verbs": ["get", "list", "watch"]}
        ]
        """);
  }

  /**
   * Lets a kubelet delete a Node object. NodeRestriction, an admission plugin of the API server,
   * limits this to the kubelet's own object, which a worker deletes when its role ends.
   */
  private static KubeObject nodeRemoval() {
    return role(
        NODE_REMOVAL,
        """
        [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["delete"]}]
        """);
  }

  private static KubeObject role(String name, String rules) {
    return object(
        ROLES,
        """
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
         "metadata": {"name": "%s"}, "rules": %s}
        """
            .formatted(name, rules));
  }

  private static KubeObject binding(String name, String kind, String subject, String role) {
    return object(
        BINDINGS,
        """
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
         "metadata": {"name": "%s"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "%s"},
         "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "%s", "name": "%s"}]}
        """
            .formatted(name, role, kind, subject));
  }

  private static KubeObject storageClass() {
    return object(
        STORAGE_CLASSES,
        """
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
         "metadata": {"name": "local",
                      "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
         "provisioner": "%s", "reclaimPolicy": "Delete",
         "volumeBindingMode": "WaitForFirstConsumer"}
        """
            .formatted(PROVISIONER));
  }

  private static KubeObject runtimeClass() {
    return object(
        RUNTIME_CLASSES,
        """
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
         "metadata": {"name": "runc"}, "handler": "runc"}
        """);
  }

  /**
   * Returns a policy that warns but does not refuse, since an operator may move the objects to
   * another cluster.
   */
  private static KubeObject networkPolicyWarning() {
    return object(
        POLICIES,
        """
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
         "metadata": {"name": "%s"},
         "spec": {
           "failurePolicy": "Ignore",
           "matchConstraints": {"resourceRules": [
             {"apiGroups": ["networking.k8s.io"], "apiVersions": ["*"],
              "operations": ["CREATE", "UPDATE"], "resources": ["networkpolicies"]}]},
           "validations": [
             {"expression": "false",
              "message": "NetworkPolicies are kept, but not enforced: Pods reach each other all the same"}]}}
        """
            .formatted(UNENFORCED));
  }

  private static KubeObject networkPolicyWarningBinding() {
    return object(
        POLICY_BINDINGS,
        """
        {"apiVersion": "admissionregistration.k8s.io/v1",
         "kind": "ValidatingAdmissionPolicyBinding",
         "metadata": {"name": "%1$s"},
         "spec": {"policyName": "%1$s", "validationActions": ["Warn"]}}
        """
            .formatted(UNENFORCED));
  }

  private static KubeObject object(String collection, String json) {
    JsonObject content = JsonParser.parseString(json).getAsJsonObject();
    JsonObject labels = new JsonObject();
    labels.addProperty(LABEL, "true");
    content.getAsJsonObject("metadata").add("labels", labels);
    return new KubeObject(collection, content);
  }
}
