package dev.polis.ctl.kube;

import com.google.gson.JsonObject;
import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.KubeJson;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.api.Node;
import dev.polis.wire.health.Status;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Collects how Kubernetes stands: from the health of nodes, and from Kubernetes itself. */
final class KubeStatus {

  /** A lease is renewed every 2 s and ends after 15 s. */
  private static final Duration LEASE = Duration.ofSeconds(15);

  private static final String UP = "UP";
  private static final String DOWN = "DOWN";
  private static final String UNKNOWN = "UNKNOWN";
  private static final String READY = "Ready";

  /** The organ that runs containerd. */
  private static final String CONTAINERS = "containers";

  /**
   * One line of it.
   *
   * @param kind controller, worker, component or condition
   * @param name of the role, component or condition
   * @param node where; empty for what belongs to the whole cluster
   * @param state UP, DEGRADED, WAITING, DOWN or UNKNOWN
   * @param version of the program; may be empty
   * @param reason one sentence, and what to do; may be empty
   */
  private record Row(
      String kind, String name, String node, String state, String version, String reason) {
    boolean works() {
      return state.equals(UP) || state.equals("DEGRADED");
    }
  }

  /** The state of an organ or a role, and the reason. */
  private record Standing(String state, String reason) {}

  private final Session session;
  private final List<Row> rows = new ArrayList<>();

  private KubeStatus(Session session) {
    this.session = session;
  }

  /** Asks all nodes that have to do with Kubernetes, and the first controller that answers. */
  static KubeStatus of(Session session, List<Node> nodes, int port) throws InterruptedException {
    KubeStatus status = new KubeStatus(session);
    boolean asked = false;
    for (KubeEndpoint each : KubeEndpoint.of(nodes, port)) {
      asked |= status.addController(each, asked ? List.of() : nodes, !asked);
    }
    for (Node node : nodes) {
      if (NodeRows.has(node, KubeEndpoint.WORKER)) {
        status.addRole("worker", KubeEndpoint.WORKER, node.getId(), address(node), "");
      }
    }
    return status;
  }

  private static String address(Node node) {
    return node.getStatus().getExternalAddress();
  }

  boolean isEmpty() {
    return rows.isEmpty();
  }

  boolean works() {
    return rows.stream().allMatch(Row::works);
  }

  Document document() {
    return new Rows<Row>()
        .column("KIND", "kind", Row::kind)
        .column("NAME", "name", Row::name)
        .column("NODE", "node", Row::node)
        .column("STATE", "state", Row::state)
        .column("VERSION", "version", Row::version)
        .column("REASON", "reason", Row::reason)
        .document(rows);
  }

  /**
   * Adds a controller.
   *
   * @param members the nodes of the cluster
   * @param all whether to ask it for the rest of the cluster too
   * @return whether it was asked for the rest
   */
  private boolean addController(KubeEndpoint endpoint, List<Node> members, boolean all)
      throws InterruptedException {
    try (KubeApi api =
        new KubeApi(endpoint, session.credentials(), Duration.ofSeconds(session.timeout()))) {
      String version =
          api.find("/version").map(found -> KubeJson.text(found, "gitVersion")).orElse("");
      addRole("controller", KubeEndpoint.CONTROLLER, endpoint.node(), endpoint.address(), version);
      rows.add(new Row("component", "kube-apiserver", endpoint.node(), UP, version, ""));
      if (all) {
        addLeader(api, "kube-controller-manager", version);
        addLeader(api, "kube-scheduler", version);
        addNodes(api, members);
      }
      return all;
    } catch (CtlException away) {
      addRole("controller", KubeEndpoint.CONTROLLER, endpoint.node(), endpoint.address(), "");
      rows.add(
          new Row("component", "kube-apiserver", endpoint.node(), DOWN, "", away.getMessage()));
      return false;
    }
  }

  private void addRole(String kind, String role, String node, String address, String version)
      throws InterruptedException {
    Standing now =
        standing(
            role, node, address, "the node has reported no address", "the role does not run yet");
    rows.add(new Row(kind, role, node, now.state(), version, now.reason()));
  }

  /**
   * Asks a node how one of its organs or roles stands.
   *
   * @param nowhere the reason if there is no address
   * @param absent the reason if the node has none of this name
   */
  private Standing standing(String name, String node, String address, String nowhere, String absent)
      throws InterruptedException {
    if (address.isEmpty()) {
      return new Standing(UNKNOWN, nowhere);
    }
    try {
      return session.healthOf(Place.of(node, address)).getStatusesList().stream()
          .filter(status -> status.getName().equals(name))
          .findFirst()
          .map(status -> new Standing(WireName.shortened(status.getLevel()), why(status)))
          .orElse(new Standing(DOWN, absent));
    } catch (CtlException away) {
      return new Standing(UNKNOWN, away.getMessage());
    }
  }

  private static String why(Status status) {
    return status.getRemedy().isEmpty()
        ? status.getReason()
        : "%s; to do: %s".formatted(status.getReason(), status.getRemedy());
  }

  /** Adds a component of which one instance leads; its lease says whether it lives. */
  private void addLeader(KubeApi api, String name, String version) throws InterruptedException {
    Optional<JsonObject> lease =
        api.find("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + name);
    String holder = lease.map(each -> KubeJson.text(each, "spec", "holderIdentity")).orElse("");
    String renewed = lease.map(each -> KubeJson.text(each, "spec", "renewTime")).orElse("");
    boolean lives = !holder.isEmpty() && fresh(renewed);
    String reason =
        holder.isEmpty()
            ? "none has begun yet"
            : lives ? "" : "%s led last, and reported that at %s".formatted(holder, renewed);
    rows.add(new Row("component", name, "", lives ? UP : DOWN, version, reason));
  }

  private static boolean fresh(String time) {
    try {
      return Instant.parse(time).plus(LEASE).isAfter(Instant.now());
    } catch (DateTimeParseException none) {
      return false;
    }
  }

  private void addNodes(KubeApi api, List<Node> members) throws InterruptedException {
    Optional<JsonObject> list = api.find("/api/v1/nodes");
    if (list.isEmpty()) {
      return;
    }
    for (JsonObject node : KubeJson.list(list.get(), "items")) {
      addNode(node);
      addRuntime(node, members);
    }
  }

  private void addNode(JsonObject node) {
    String name = KubeJson.text(node, "metadata", "name");
    for (JsonObject condition : KubeJson.list(KubeJson.part(node, "status"), "conditions")) {
      String type = KubeJson.text(condition, "type");
      String status = KubeJson.text(condition, "status");
      String reason = KubeJson.text(condition, "message");
      if (type.equals(READY)) {
        rows.add(
            new Row(
                "component",
                "kubelet",
                name,
                status.equals("True") ? UP : DOWN,
                KubeJson.text(node, "status", "nodeInfo", "kubeletVersion"),
                status.equals("True") ? "" : reason));
      } else if (status.equals("True")) {
        // Of a kubelet that reports no more, all are unknown, which its own line says.
        rows.add(new Row("condition", type, name, DOWN, "", reason));
      }
    }
  }

  /**
   * Adds the container runtime of a node, as the node itself says it stands: Kubernetes learns of
   * it from the kubelet alone, which may be the one that does not work.
   */
  private void addRuntime(JsonObject node, List<Node> members) throws InterruptedException {
    String name = KubeJson.text(node, "metadata", "name");
    String version = KubeJson.text(node, "status", "nodeInfo", "containerRuntimeVersion");
    String address =
        members.stream()
            .filter(member -> member.getId().equals(name))
            .map(KubeStatus::address)
            .findFirst()
            .orElse("");
    Standing now =
        standing(
            CONTAINERS,
            name,
            address,
            "no node of this cluster that has reported an address has this name",
            "the node does not run the organ containers");
    rows.add(new Row("component", "container runtime", name, now.state(), version, now.reason()));
  }
}
