package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.HealthRoots;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.health.Condition;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import dev.polis.wire.health.Wait;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Holds the health of the nodes of a cluster, and of the organs and roles of each.
 *
 * @param nodes at least one, unless the cluster has none
 * @param note what the operator should know about how this was found out; may be empty
 * @param cluster who keeps the records of several nodes; none for one node
 */
public record HealthReport(List<NodeHealth> nodes, String note, VoterHealth cluster) {

  /** One of several nodes gets so many seconds for its answer: the others are worth reading. */
  private static final int EACH = 5;

  /**
   * The report waits this long for the cluster, once the node that is asked has answered for
   * itself: people read within 2 s what is wrong.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /**
   * One node.
   *
   * @param record what the cluster knows of it; without an id where the cluster was not asked
   * @param id its id, or a word for it where the cluster was not asked
   * @param heartbeats what the cluster says of its heartbeats, as {@code node list} has it
   * @param well whether the cluster takes it for healthy; true where the cluster was not asked
   * @param reason what the cluster says of it
   * @param health what the node says of itself
   * @param asked whether the node could be asked
   * @param unasked why it could not be asked; empty if it could
   * @param left whether it has left the cluster, which then does not need it
   */
  record NodeHealth(
      Node record,
      String id,
      String heartbeats,
      boolean well,
      String reason,
      GetHealthResponse health,
      boolean asked,
      String unasked,
      boolean left) {

    /** Returns whether it is healthy for its cluster, and all of its organs and roles work. */
    boolean works() {
      return well && asked && health.getStatusesList().stream().allMatch(HealthRoots::works);
    }

    /** Returns the worst level of its organs and roles; none where the node was not asked. */
    Optional<Level> level() {
      return health.getStatusesList().stream()
          .map(Status::getLevel)
          .max(Comparator.comparingInt(Level::getNumber));
    }

    /** Returns the first cause of the worst level, without what is UP. */
    String cause() {
      return asked
          ? first().map(each -> "%s: %s".formatted(each.getName(), each.getReason())).orElse("")
          : unasked;
    }

    /** Returns what an operator does about the cause; empty if nothing is known. */
    String remedy() {
      return first().map(Status::getRemedy).orElse("");
    }

    private Optional<Status> first() {
      return HealthRoots.of(health).ordered().stream()
          .filter(status -> status.getLevel() != Level.LEVEL_UP)
          .findFirst();
    }

    /** Returns in one line what is worst about it. */
    String worst() {
      if (!well || !asked) {
        return "%s is %s".formatted(id, reason);
      }
      return HealthRoots.of(health).ordered().stream()
          .filter(status -> !HealthRoots.works(status))
          .findFirst()
          .map(
              status ->
                  "%s of %s is %s: %s"
                      .formatted(
                          status.getName(),
                          id,
                          WireName.shortened(status.getLevel()),
                          status.getReason()))
          .orElse(id + " works");
    }

    /** Returns why it does not work, or what its cluster says of it. */
    String why() {
      return works() || !well || !asked ? reason : worst();
    }
  }

  /** Asks the cluster for its nodes, and each node how it stands. */
  static HealthReport ofCluster(Session session) throws InterruptedException {
    List<Node> listed = NodeRows.fetch(session, "", PATIENCE);
    List<NodeHealth> nodes = asked(session, listed);
    if (nodes.stream().noneMatch(NodeHealth::asked)) {
      return withOwn(nodes, session);
    }
    return new HealthReport(
        nodes, "", nodes.size() > 1 ? VoterHealth.of(session, nodes) : VoterHealth.NONE);
  }

  /** Asks all nodes at the same time, so that a silent one costs its own time alone. */
  private static List<NodeHealth> asked(Session session, List<Node> listed)
      throws InterruptedException {
    if (listed.size() < 2) {
      List<NodeHealth> single = new ArrayList<>();
      for (Node node : listed) {
        single.add(ofNode(session, node));
      }
      return single;
    }
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<NodeHealth>> answers =
          listed.stream().map(node -> threads.submit(() -> besideOthers(session, node))).toList();
      List<NodeHealth> nodes = new ArrayList<>();
      for (Future<NodeHealth> answer : answers) {
        nodes.add(answer.get());
      }
      return nodes;
    } catch (ExecutionException e) {
      throw new IllegalStateException("a node that cannot be asked is part of the report", e);
    }
  }

  private static NodeHealth besideOthers(Session session, Node node) throws InterruptedException {
    try (Session own = session.beside(EACH)) {
      return ofNode(own, node);
    }
  }

  /** Returns the same report with another note before its own. */
  HealthReport noting(String more) {
    return new HealthReport(nodes, note.isEmpty() ? more : more + ". " + note, cluster);
  }

  /**
   * Returns the report about one node alone.
   *
   * @throws CtlException if this report has no such node
   */
  HealthReport only(String id) {
    List<NodeHealth> found = nodes.stream().filter(node -> node.id().equals(id)).toList();
    if (found.isEmpty()) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "there is no node \"%s\" in the report, only %s"
              .formatted(id, nodes.stream().map(NodeHealth::id).toList()));
    }
    return new HealthReport(found, note, VoterHealth.NONE);
  }

  /**
   * Adds what the node says of itself that answers for its cluster, if the cluster names none that
   * could be asked: its records may be what is damaged.
   */
  private static HealthReport withOwn(List<NodeHealth> nodes, Session session)
      throws InterruptedException {
    String why =
        nodes.isEmpty()
            ? "the cluster lists no node"
            : "the cluster lists no node that reports its organs";
    try {
      List<NodeHealth> more = new ArrayList<>(nodes);
      more.add(
          new NodeHealth(
              Node.getDefaultInstance(),
              "this node",
              "UNKNOWN",
              !nodes.isEmpty(),
              "not in the list of the cluster",
              session.ownHealth(),
              true,
              "",
              false));
      return new HealthReport(
          more,
          "%s. The answering node, %s, reports this about itself.".formatted(why, session.host()),
          VoterHealth.NONE);
    } catch (CtlException unanswered) {
      return new HealthReport(nodes, why + ": " + unanswered.getMessage(), VoterHealth.NONE);
    }
  }

  private static NodeHealth ofNode(Session session, Node node) throws InterruptedException {
    if (node.getState() == NodeState.NODE_STATE_DECOMMISSIONED) {
      return left(node);
    }
    boolean well =
        node.getState() == NodeState.NODE_STATE_UP
            && node.getHealth() == Node.Health.HEALTH_HEALTHY;
    if (node.getStatus().getExternalAddress().isEmpty()) {
      return unasked(node, well, "it has reported no address");
    }
    try {
      return new NodeHealth(
          node,
          node.getId(),
          WireName.shortened(node.getHealth()),
          well,
          reason(node),
          session.healthOf(Place.of(node)),
          true,
          "",
          false);
    } catch (CtlException e) {
      return unasked(node, well, e.getMessage());
    }
  }

  private static NodeHealth unasked(Node node, boolean well, String why) {
    return new NodeHealth(
        node,
        node.getId(),
        WireName.shortened(node.getHealth()),
        well,
        "%s; its organs were not asked: %s".formatted(reason(node), why),
        GetHealthResponse.getDefaultInstance(),
        false,
        why,
        false);
  }

  private static NodeHealth left(Node node) {
    String remedy =
        "it has left the cluster; polisctl node delete %s deletes its record"
            .formatted(node.getId());
    return new NodeHealth(
        node,
        node.getId(),
        WireName.shortened(node.getHealth()),
        false,
        "%s: %s".formatted(reason(node), remedy),
        GetHealthResponse.getDefaultInstance(),
        false,
        remedy,
        true);
  }

  /**
   * Asks a node for itself that the operator has no credentials for, that is no member of a cluster
   * yet, or whose curator does not answer.
   *
   * @param why why the cluster is not asked; one that cannot answer is not well
   */
  static HealthReport ofNode(Session session, CtlException why) throws InterruptedException {
    GetHealthResponse health = session.ownHealth();
    NodeHealth node =
        new NodeHealth(
            Node.getDefaultInstance(),
            "this node",
            "UNKNOWN",
            why.exitCode() != ExitCode.UNREACHABLE,
            "the cluster was not asked",
            health,
            true,
            "",
            false);
    return new HealthReport(
        List.of(node),
        "the cluster was not asked: %s. This is the node's own report, from %s."
            .formatted(why.getMessage(), session.host()),
        VoterHealth.NONE);
  }

  boolean healthy() {
    return !nodes.isEmpty() && nodes.stream().allMatch(node -> node.works() || node.left());
  }

  String worst() {
    return nodes.stream()
        .filter(node -> !node.works() && !node.left())
        .map(NodeHealth::worst)
        .findFirst()
        .orElse("the cluster has no nodes");
  }

  static String reason(Node node) {
    String state = WireName.shortened(node.getState());
    if (node.getState() != NodeState.NODE_STATE_UP) {
      return state;
    }
    return switch (node.getHealth()) {
      case HEALTH_HEALTHY ->
          "UP, heartbeat %d s ago".formatted(node.getTimeSinceHeartbeat().getSeconds());
      case HEALTH_HEARTBEAT_TIMEOUT ->
          node.hasTimeSinceHeartbeat()
              ? "UP, but silent for %d s".formatted(node.getTimeSinceHeartbeat().getSeconds())
              : "UP, but not heard of since the present leader leads";
      case HEALTH_UNKNOWN -> "UP, and the leader is too young to know";
      case HEALTH_INVALID, UNRECOGNIZED -> "UP, health " + node.getHealthValue();
    };
  }

  /** Returns the whole report for scripts. */
  JsonArray json() {
    Rows<Condition> conditions =
        new Rows<Condition>()
            .field("level", condition -> WireName.shortened(condition.getLevel()))
            .field("code", Condition::getCode)
            .field("reason", Condition::getReason)
            .field("remedy", Condition::getRemedy);
    Rows<Status> statuses =
        new Rows<Status>()
            .field("name", Status::getName)
            .field("kind", status -> WireName.words(status.getKind()))
            .field("level", status -> WireName.shortened(status.getLevel()))
            .field("code", Status::getCode)
            .field("reason", Status::getReason)
            .field("remedy", Status::getRemedy)
            .field("since", status -> Instant.ofEpochSecond(status.getSince().getSeconds()))
            .field("conditions", status -> conditions.json(status.getConditionsList()));
    Rows<Wait> waits =
        new Rows<Wait>()
            .field("name", Wait::getName)
            .field("detail", Wait::getDetail)
            .field("seconds", wait -> wait.getLasted().getSeconds());
    return new Rows<NodeHealth>()
        .field("id", NodeHealth::id)
        .field("address", node -> NodeRows.address(node.record()))
        .field("health", NodeHealth::heartbeats)
        .field("works", NodeHealth::works)
        .field("reason", NodeHealth::reason)
        .field("note", _ -> note)
        .field("statuses", node -> statuses.json(node.health().getStatusesList()))
        .field("waits", node -> waits.json(node.health().getWaitsList()))
        .json(nodes);
  }
}
