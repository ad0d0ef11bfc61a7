package dev.polis.kubernetes.control;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.NodeId;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import java.io.IOException;
import java.time.Instant;
import java.time.InstantSource;
import java.time.format.DateTimeParseException;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Gives the rights of a worker's programs to the workers of the cluster alone, and takes a removed
 * node out of Kubernetes: its Node object goes, and what its kubelet writes is refused.
 *
 * <p>The API server knows no list of revoked certificates, and those of a removed node are valid
 * until they end. So rights are given to users instead of their group, and for the kubelet, whose
 * rights are built into the API server, a policy of admission reads the names of removed nodes.
 */
final class WorkerRights {

  /** The name of the policy of admission, and of the object that it reads. */
  static final String NAME = "polis-removed-nodes";

  static final String NAMESPACE = "kube-system";

  private static final String REMOVED =
      "/api/v1/namespaces/%s/configmaps/%s".formatted(NAMESPACE, NAME);

  static final String NODES = "/api/v1/nodes";

  private static final String MANAGER = "polis.workers";
  private static final String RBAC = "rbac.authorization.k8s.io";
  private static final String BINDINGS = "/apis/" + RBAC + "/v1/clusterrolebindings/";

  /** The given roles, each with the group by whose name its users are called. */
  private static final Map<String, String> ROLES =
      Map.of(
          KubernetesNames.GROUP_NETSERVICES,
          KubernetesNames.GROUP_NETSERVICES,
          "system:node-proxier",
          KubernetesNames.GROUP_NETSERVICES,
          KubernetesNames.GROUP_CSI_PROVISIONER,
          KubernetesNames.GROUP_CSI_PROVISIONER);

  private final KubeClient api;
  private final NodeId own;
  private final InstantSource clock;

  /** The workers that the bindings name; null before this controller has written them. */
  private Set<String> boundOrNull;

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
   */
  void apply(Collection<Node> nodes) throws IOException, InterruptedException {
    Set<String> members = new TreeSet<>();
    Set<String> workers = new TreeSet<>();
    for (Node node : nodes) {
      // A damaged record has no state, and its node keeps what it has.
      if (node.getState() != NodeState.NODE_STATE_DECOMMISSIONED) {
        members.add(node.getId());
        if (RoleRecord.names(node.getRoles()).contains(RoleName.KUBERNETES_WORKER)) {
          workers.add(node.getId());
        }
      }
    }
    if (!members.contains(own.text())) {
      throw new IOException(
          "the records of the cluster do not name this node, so no other node is removed by them");
    }
    if (!workers.equals(boundOrNull)) {
      bind(workers);
      boundOrNull = workers;
    }
    Set<String> gone = new TreeSet<>(before);
    api.each(NODES, object -> gone.add(new KubeObject(NODES, object).name()));
    gone.removeIf(name -> members.contains(name) || !NodeId.matches(name));
    if (!gone.isEmpty()) {
      refuse(gone);
      for (String node : gone) {
        api.delete(NODES + "/" + node);
      }
    }
    before = members;
  }

  private void bind(Set<String> workers) throws IOException, InterruptedException {
    for (Map.Entry<String, String> each : ROLES.entrySet()) {
      String name = "polis:workers:" + each.getKey();
      api.apply(BINDINGS + name, MANAGER, binding(name, each.getKey(), each.getValue(), workers));
    }
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

  /** Adds nodes to the removed ones, and forgets those whose certificates have ended. */
  private void refuse(Set<String> gone) throws IOException, InterruptedException {
    Map<String, String> removed = new TreeMap<>();
    Optional<JsonObject> present = api.find(REMOVED);
    if (present.isPresent() && present.get().has("data")) {
      present
          .get()
          .getAsJsonObject("data")
          .asMap()
          .forEach((node, since) -> removed.put(node, since.getAsString()));
    }
    Instant now = clock.instant();
    boolean changed = removed.values().removeIf(since -> hasEnded(since, now));
    for (String node : gone) {
      changed |= removed.putIfAbsent(node, now.toString()) == null;
    }
    if (changed) {
      JsonObject data = new JsonObject();
      removed.forEach(data::addProperty);
      JsonObject map = object("v1", "ConfigMap", NAME);
      map.add("data", data);
      api.apply(REMOVED, MANAGER, map);
    }
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
