package dev.polis.kubernetes.control;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.NodeId;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.format.DateTimeParseException;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Gives the rights of a worker's programs to the workers of the cluster alone, and takes a removed
 * node out of Kubernetes: its Node object goes, and what its kubelet writes is refused.
 *
 * <p>The API server knows no list of revoked certificates, and those of a removed node are valid
 * until they end. So rights are given to users instead of their group, and for the kubelet, whose
 * rights are built into the API server, a policy of admission names the removed nodes.
 */
final class WorkerRights {

  static final String NODES = "/api/v1/nodes";

  /**
   * The bindings of former versions, which give the rights to groups. They end when those of the
   * workers are written, so that no worker is without rights meanwhile.
   */
  static final Set<String> FORMER =
      Set.of(
          WorkerRights.BINDINGS + KubernetesNames.GROUP_NETSERVICES,
          WorkerRights.BINDINGS + "polis:node-proxier",
          WorkerRights.BINDINGS + KubernetesNames.GROUP_CSI_PROVISIONER);

  private static final String MANAGER = "polis.workers";
  private static final String RBAC = "rbac.authorization.k8s.io";
  private static final String BINDINGS = "/apis/" + RBAC + "/v1/clusterrolebindings/";
  private static final String ADMISSION = "admissionregistration.k8s.io";
  private static final String NAME = "polis-removed-nodes";
  private static final String POLICY =
      "/apis/" + ADMISSION + "/v1/validatingadmissionpolicies/" + NAME;
  private static final String POLICY_BINDING =
      "/apis/" + ADMISSION + "/v1/validatingadmissionpolicybindings/" + NAME;

  /** The annotation of the policy with the removed nodes, each with the time of its removal. */
  private static final String REMOVED = "polis.dev/removed-nodes";

  /** The given roles, each with the group by whose name its users are called. */
  private static final Map<String, String> ROLES =
      Map.of(
          KubernetesNames.GROUP_NETSERVICES,
          KubernetesNames.GROUP_NETSERVICES,
          "system:node-proxier",
          KubernetesNames.GROUP_NETSERVICES,
          KubernetesNames.GROUP_CSI_PROVISIONER,
          KubernetesNames.GROUP_CSI_PROVISIONER);

  /** The interval after which a changed or lost binding is written again, as other objects are. */
  private static final Duration AGAIN = Duration.ofSeconds(30);

  private final KubeClient api;
  private final NodeId own;
  private final InstantSource clock;

  /** The workers that the bindings name; null before this controller has written all of them. */
  private Set<String> boundOrNull;

  private Instant bound = Instant.MIN;

  /** The members of the last call, of which the next one may lack some. */
  private Set<String> before = Set.of();

  /**
   * @param own the node of this controller
   * @param clock the clock for the ends of removed nodes' certificates
   */
  WorkerRights(KubeClient api, NodeId own, InstantSource clock) {
    this.api = api;
    this.own = own;
    this.clock = clock;
  }

  /**
   * Gives and takes the rights.
   *
   * @param nodes all nodes of the cluster
   * @param again reads them again, before a node counts as removed
   */
  void apply(Collection<Node> nodes, Supplier<? extends Collection<Node>> again)
      throws IOException, InterruptedException {
    Set<String> members = members(nodes);
    if (!members.contains(own.text())) {
      throw new IOException(
          "the records of the cluster do not name this node, so no other node is removed by them");
    }
    Set<String> gone = new TreeSet<>(before);
    api.each(NODES, object -> gone.add(new KubeObject(NODES, object).name()));
    gone.removeIf(name -> members.contains(name) || !NodeId.matches(name));
    if (!gone.isEmpty()) {
      // A worker may have registered since the records were read.
      gone.removeAll(members(again.get()));
    }
    refuse(gone, members);
    for (String node : gone) {
      api.delete(NODES + "/" + node);
    }
    before = members;
    bind(nodes);
  }

  private static Set<String> members(Collection<Node> nodes) {
    return nodes.stream()
        .filter(node -> node.getState() != NodeState.NODE_STATE_DECOMMISSIONED)
        .map(Node::getId)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private void bind(Collection<Node> nodes) throws IOException, InterruptedException {
    Set<String> workers = new TreeSet<>();
    for (Node node : nodes) {
      boolean worker =
          node.getState() == NodeState.NODE_STATE_INVALID
              // A damaged record has no roles, and its node keeps what it has.
              ? isBound(node.getId())
              : node.getState() != NodeState.NODE_STATE_DECOMMISSIONED
                  && RoleRecord.names(node.getRoles()).contains(RoleName.KUBERNETES_WORKER);
      if (worker) {
        workers.add(node.getId());
      }
    }
    Instant now = clock.instant();
    if (workers.equals(boundOrNull) && now.isBefore(bound.plus(AGAIN))) {
      return;
    }
    boundOrNull = null;
    for (Map.Entry<String, String> each : ROLES.entrySet()) {
      String name = "polis:workers:" + each.getKey();
      api.applyAnew(
          BINDINGS + name, MANAGER, binding(name, each.getKey(), each.getValue(), workers));
    }
    if (bound.equals(Instant.MIN)) {
      for (String former : FORMER) {
        api.delete(former);
      }
    }
    boundOrNull = workers;
    bound = now;
  }

  private boolean isBound(String node) throws IOException, InterruptedException {
    if (boundOrNull != null) {
      return boundOrNull.contains(node);
    }
    return api.find(BINDINGS + "polis:workers:" + KubernetesNames.GROUP_NETSERVICES)
        .filter(binding -> binding.toString().contains(node))
        .isPresent();
  }

  private static JsonObject binding(String name, String role, String group, Set<String> workers) {
    JsonArray subjects = new JsonArray();
    for (String worker : workers) {
      JsonObject user = new JsonObject();
      user.addProperty("apiGroup", RBAC);
      user.addProperty("kind", "User");
      user.addProperty("name", group + ":" + worker);
      subjects.add(user);
    }
    JsonObject given = new JsonObject();
    given.addProperty("apiGroup", RBAC);
    given.addProperty("kind", "ClusterRole");
    given.addProperty("name", role);
    JsonObject binding = object(RBAC + "/v1", "ClusterRoleBinding", name);
    binding.add("roleRef", given);
    binding.add("subjects", subjects);
    return binding;
  }

  /**
   * Adds nodes to the list of removed ones. A node leaves the list when it is a member again, or
   * when its last certificate has ended.
   */
  private void refuse(Set<String> gone, Set<String> members)
      throws IOException, InterruptedException {
    Optional<JsonObject> present = api.find(POLICY);
    Map<String, String> removed = new TreeMap<>(removed(present));
    Instant now = clock.instant();
    removed
        .entrySet()
        .removeIf(each -> members.contains(each.getKey()) || hasEnded(each.getValue(), now));
    gone.forEach(node -> removed.putIfAbsent(node, now.toString()));
    if (present.isEmpty() || !removed.equals(removed(present))) {
      api.applyAnew(POLICY, MANAGER, policy(removed));
    }
    if (api.find(POLICY_BINDING).isEmpty()) {
      api.applyAnew(POLICY_BINDING, MANAGER, policyBinding());
    }
  }

  private static Map<String, String> removed(Optional<JsonObject> policy) {
    Map<String, String> removed = new TreeMap<>();
    policy
        .map(each -> each.getAsJsonObject("metadata").getAsJsonObject("annotations"))
        .filter(annotations -> annotations.has(REMOVED))
        .map(annotations -> annotations.get(REMOVED).getAsString())
        .filter(text -> !text.isEmpty())
        .ifPresent(
            text ->
                Stream.of(text.split(" "))
                    .map(entry -> entry.split("=", 2))
                    .filter(entry -> entry.length == 2)
                    .forEach(entry -> removed.put(entry[0], entry[1])));
    return removed;
  }

  /**
   * Returns the policy. It has the names in itself: an object that it referred to would be followed
   * by an informer of the API server, which can fall behind or refuse the writes of all users.
   */
  private static JsonObject policy(Map<String, String> removed) {
    JsonObject policy = object(ADMISSION + "/v1", "ValidatingAdmissionPolicy", NAME);
    JsonObject annotations = new JsonObject();
    annotations.addProperty(
        REMOVED,
        removed.entrySet().stream()
            .map(each -> each.getKey() + "=" + each.getValue())
            .collect(Collectors.joining(" ")));
    policy.getAsJsonObject("metadata").add("annotations", annotations);
    String users =
        removed.keySet().stream()
            .map(node -> "'%s'".formatted(KubernetesNames.nodeUser(NodeId.parse(node))))
            .collect(Collectors.joining(", ", "[", "]"));
    policy.add(
        "spec",
        JsonParser.parseString(
            """
            {"failurePolicy": "Fail",
             "matchConstraints": {"resourceRules": [
               {"apiGroups": ["*"], "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE", "DELETE", "CONNECT"], "resources": ["*/*"]}]},
             "matchConditions": [
               {"name": "nodes", "expression": "'%s' in request.userInfo.groups"}],
             "validations": [
               {"expression": "!(request.userInfo.username in %s)",
                "message": "the cluster has removed this node"}]}
            """
                .formatted(KubernetesNames.GROUP_NODES, users)));
    return policy;
  }

  private static JsonObject policyBinding() {
    JsonObject binding = object(ADMISSION + "/v1", "ValidatingAdmissionPolicyBinding", NAME);
    binding.add(
        "spec",
        JsonParser.parseString(
            "{\"policyName\": \"%s\", \"validationActions\": [\"Deny\"]}".formatted(NAME)));
    return binding;
  }

  /** Returns whether the last certificate of a node has ended that was removed at this time. */
  private static boolean hasEnded(String since, Instant now) {
    try {
      // Twice, since the clocks of controllers differ, and a node may have renewed just before.
      return Instant.parse(since)
          .plus(CertificateTemplate.NODE_LIFETIME.multipliedBy(2))
          .isBefore(now);
    } catch (DateTimeParseException foreign) {
      return false; // a person has added it
    }
  }

  private static JsonObject object(String version, String kind, String name) {
    JsonObject metadata = new JsonObject();
    metadata.addProperty("name", name);
    JsonObject object = new JsonObject();
    object.addProperty("apiVersion", version);
    object.addProperty("kind", kind);
    object.add("metadata", metadata);
    return object;
  }
}
