package dev.polis.kubernetes.control;

import com.google.gson.JsonObject;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.ClusterConfiguration.Kubernetes.NodeLabelsToSynchronize;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.common.NodeState;
import io.grpc.Channel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Copies the roles of the cluster's nodes, and the labels that the cluster's configuration selects,
 * to the Node objects of Kubernetes, and keeps the rights of workers. Each controller does this,
 * with the same result.
 */
final class NodeObjectTask implements Task {

  /** The prefix of a role's label; {@code kubectl get nodes} shows these. */
  private static final String ROLE_LABEL = "node-role.kubernetes.io/";

  /** The field manager of these labels, which removes unwanted ones. */
  private static final String MANAGER = "polis.labels";

  /** The condition of a cluster whose labels the node cannot copy. */
  private static final String FAILED = "kubernetes-labels-not-copied";

  private static final String NODES = WorkerRights.NODES;

  /** The interval of copies: a newly registered node has its labels before a person looks twice. */
  private static final Duration EVERY = Duration.ofSeconds(5);

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final KubeClient api;
  private final WorkerRights rights;
  private final Channel leader;
  private final NodeChanges nodes;
  private final HealthRegistry health;
  private final String role;

  /**
   * The last written labels, by node; a restart corrects the changes of another controller or a
   * person.
   */
  private final Map<String, SortedMap<String, String>> written = new HashMap<>();

  /**
   * Creates a task.
   *
   * @param rights the rights of workers
   * @param leader connects to the curator's leader
   * @param nodes wakes the task at a change of a node's record
   * @param role the role whose health includes it
   */
  NodeObjectTask(
      KubeClient api,
      WorkerRights rights,
      Channel leader,
      NodeChanges nodes,
      HealthRegistry health,
      String role) {
    this.api = api;
    this.rights = rights;
    this.leader = leader;
    this.nodes = nodes;
    this.health = health;
    this.role = role;
  }

  @Override
  public void run(Context context) throws InterruptedException {
    try (HealthScope scope = health.role(role, "")) {
      while (true) {
        try {
          copy();
          scope.clear(FAILED);
        } catch (IOException | StatusRuntimeException | PatternSyntaxException refused) {
          scope.set(
              HealthCondition.degraded(
                  FAILED,
                  "the node cannot copy labels and rights of nodes to Kubernetes: "
                      + refused.getMessage(),
                  "nothing: the node tries again every few seconds"));
        }
        nodes.await(EVERY);
      }
    }
  }

  private void copy() throws IOException, InterruptedException {
    List<Node> listed = nodes();
    // First: a rule for labels that is refused must keep no right back.
    rights.apply(listed, this::nodes);
    Map<String, SortedMap<String, String>> wanted = wanted(listed);
    api.each(NODES, node -> copy(node, wanted));
    written.keySet().retainAll(wanted.keySet());
  }

  private void copy(JsonObject node, Map<String, SortedMap<String, String>> wanted)
      throws IOException, InterruptedException {
    String name = node.getAsJsonObject("metadata").get("name").getAsString();
    SortedMap<String, String> labels = wanted.get(name);
    if (labels != null && !(labels.equals(written.get(name)) && carries(node, labels))) {
      api.apply(NODES + "/" + name, MANAGER, object(name, labels));
      written.put(name, labels);
    }
  }

  private ManagementGrpc.ManagementBlockingStub curator() {
    return ManagementGrpc.newBlockingStub(leader).withDeadlineAfter(PATIENCE);
  }

  /** Returns all nodes of the cluster. */
  private List<Node> nodes() {
    List<Node> all = new ArrayList<>();
    curator().getNodes(GetNodesRequest.getDefaultInstance()).forEachRemaining(all::add);
    return all;
  }

  /** Returns the wanted labels by node. */
  private Map<String, SortedMap<String, String>> wanted(List<Node> listed) {
    List<Pattern> rules =
        rules(
            curator()
                .getClusterInfo(GetClusterInfoRequest.getDefaultInstance())
                .getClusterConfiguration()
                .getKubernetes()
                .getNodeLabelsToSynchronizeList());
    Map<String, SortedMap<String, String>> wanted = new HashMap<>();
    for (Node node : listed) {
      // A damaged record keeps the node's labels.
      if (node.getState() != NodeState.NODE_STATE_INVALID) {
        wanted.put(node.getId(), labels(node, rules));
      }
    }
    return wanted;
  }

  /**
   * Returns the wanted labels of a node in Kubernetes. The time of a match grows with the length of
   * the rule and of the label alone, so that no rule holds this thread.
   */
  static SortedMap<String, String> labels(Node node, List<Pattern> rules) {
    SortedMap<String, String> labels = new TreeMap<>();
    for (NodeLabels.Pair pair : node.getLabels().getPairsList()) {
      String text = pair.getKey() + "=" + pair.getValue();
      if (rules.stream().anyMatch(rule -> rule.matcher(text).find())) {
        labels.put(pair.getKey(), pair.getValue());
      }
    }
    for (RoleName name : RoleRecord.names(node.getRoles())) {
      labels.put(ROLE_LABEL + name.text(), "");
    }
    return labels;
  }

  private static List<Pattern> rules(List<NodeLabelsToSynchronize> configured) {
    return configured.stream().map(each -> Pattern.compile(each.getRegexp())).toList();
  }

  private static boolean carries(JsonObject node, SortedMap<String, String> labels) {
    JsonObject metadata = node.getAsJsonObject("metadata");
    if (!metadata.has("labels")) {
      return labels.isEmpty();
    }
    JsonObject present = metadata.getAsJsonObject("labels");
    return labels.entrySet().stream()
        .allMatch(
            label ->
                present.has(label.getKey())
                    && present.get(label.getKey()).getAsString().equals(label.getValue()));
  }

  private static JsonObject object(String name, SortedMap<String, String> labels) {
    JsonObject texts = new JsonObject();
    labels.forEach(texts::addProperty);
    JsonObject metadata = new JsonObject();
    metadata.addProperty("name", name);
    metadata.add("labels", texts);
    JsonObject node = new JsonObject();
    node.addProperty("apiVersion", "v1");
    node.addProperty("kind", "Node");
    node.add("metadata", metadata);
    return node;
  }
}
