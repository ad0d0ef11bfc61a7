package dev.polis.ctl.local;

import com.google.gson.JsonObject;
import dev.polis.ctl.local.LocalNode.Approval;
import dev.polis.ctl.local.Steps.Line;
import dev.polis.ctl.session.ClusterBase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Brings a cluster on this machine from any state to the wanted one: all nodes run, are members and
 * keep the records. Each step is left out if its result is there.
 */
final class LocalCluster {

  private static final String ROLE = "ConsensusMember";

  private final List<LocalNode> nodes;
  private final Path polis;
  private final List<String> options;
  private final Path recoveryKey;
  private final Steps steps;
  private final String again;
  private final Operator operator;
  private final List<NodeStart> starts = new CopyOnWriteArrayList<>();

  /**
   * Makes one.
   *
   * @param nodes all of them, the first one first
   * @param polis the script that starts a node
   * @param options of each start
   * @param recoveryKey the owner's recovery key, if the file exists
   * @param again the command that continues
   */
  LocalCluster(
      ClusterBase base,
      List<LocalNode> nodes,
      Path polis,
      List<String> options,
      Path recoveryKey,
      Steps steps,
      String again) {
    this.nodes = List.copyOf(nodes);
    this.polis = polis;
    this.options = List.copyOf(options);
    this.recoveryKey = recoveryKey;
    this.steps = steps;
    this.again = again;
    this.operator = new Operator(base.folder());
  }

  private LocalNode first() {
    return nodes.getFirst();
  }

  private String remedy() {
    return "repair that, and continue with: " + again;
  }

  /** Goes all the way; returns when every node is a healthy voter. */
  void up() throws StepFailure, InterruptedException {
    List<LocalNode> members = nodes.stream().filter(LocalNode::isMember).toList();
    requireFirst(members);
    // A voter becomes HOME only together with others, so they start at the same time.
    List<LocalNode> present = members.isEmpty() ? List.of(first()) : members;
    List<NodeStart> begun = present.stream().map(this::start).toList();
    eachOf(begun, this::awaitHome);
    takeOwnership();
    eachOf(nodes, this::becomeVoter);
    awaitHealth();
  }

  /** Refuses to found another cluster for members of one whose first node has lost its files. */
  private void requireFirst(List<LocalNode> members) throws StepFailure {
    if (!members.isEmpty() && !first().isMember()) {
      throw new StepFailure(
          "node 1",
          "its state directory %s is not that of a member, but %s are members"
              .formatted(
                  first().state(),
                  members.stream().map(LocalNode::name).collect(Collectors.joining(", "))),
          "restore it from a copy, or stop the cluster, delete all of its folders and start anew");
    }
  }

  private NodeStart start(LocalNode node) {
    List<String> own = new ArrayList<>();
    if (!node.isMember() && node.number() > 1) {
      own.addAll(List.of("--parameters", node.parameters().toString()));
    }
    // The other nodes are off as well after a stop of all, and cannot help to open a volume. The
    // first node finds its own key by itself.
    boolean found = recoveryKey.equals(node.recoveryKey());
    if (!found && Files.exists(recoveryKey)) {
      own.addAll(List.of("--recovery-key", recoveryKey.toString()));
    }
    NodeStart start = NodeStart.of(node, polis, options, own);
    starts.add(start);
    return start;
  }

  private void awaitHome(NodeStart start) throws StepFailure, InterruptedException {
    LocalNode node = start.node();
    steps.await(
        node.name() + " to be HOME",
        (Boolean _) -> Line.of("%s is HOME at %s".formatted(node.name(), node.address())),
        () -> {
          refuseFailed(start);
          return Optional.of(true).filter(_ -> start.isHome());
        },
        node::seen,
        remedy());
  }

  private void refuseFailed(NodeStart start) throws StepFailure {
    Optional<StepFailure> failure = start.failure(remedy());
    if (failure.isPresent()) {
      throw failure.get();
    }
  }

  private void takeOwnership() throws StepFailure, InterruptedException {
    if (!Files.exists(first().ownerCertificate())) {
      command(
          "your certificate",
          (Operator.Answer _) ->
              Line.of(
                  "you own the cluster, with the key in " + first().ownerCertificate().getParent()),
          "takeownership");
    }
  }

  private void becomeVoter(LocalNode node) throws StepFailure, InterruptedException {
    if (!node.isMember()) {
      join(node);
    }
    String id = node.id();
    if (isVoter(id)) {
      return;
    }
    command(
        "the role of " + node.name(),
        (Operator.Answer _) -> Line.of("%s has the role %s".formatted(node.name(), ROLE)),
        "node",
        "role",
        "add",
        id,
        ROLE);
    steps.await(
        node.name() + " to be a voter",
        (Boolean _) -> Line.of(node.name() + " is a voter"),
        () -> Optional.of(true).filter(_ -> isVoter(id)),
        () -> "etcd has the members " + operator.rows("etcd", "members"),
        remedy());
  }

  private void join(LocalNode node) throws StepFailure, InterruptedException {
    command(
        "a ticket for " + node.name(),
        (Operator.Answer _) -> Line.of(node.name() + " has a ticket"),
        "params",
        "make",
        "--register",
        "--owner",
        first().ownerCertificate().getParent().toString(),
        "--to",
        node.parameters().toString());
    NodeStart start = start(node);
    Optional<Approval> shown =
        steps.await(
            node.name() + " to register",
            (Optional<Approval> _) -> Line.of(node.name() + " has registered"),
            () -> {
              refuseFailed(start);
              // A node that was approved before an interruption asks no more.
              return node.isMember()
                  ? Optional.of(Optional.<Approval>empty())
                  : node.approval().map(Optional::of);
            },
            node::seen,
            remedy());
    if (shown.isPresent()) {
      Approval approval = shown.get();
      command(
          "the approval of " + node.name(),
          (Operator.Answer _) ->
              new Line(
                  node.name() + " is approved",
                  ": this command approves for you, by the key %s that the node shows"
                      .formatted(approval.key())),
          "node",
          "approve",
          approval.id(),
          "--key",
          approval.key());
    }
    awaitHome(start);
  }

  private boolean isVoter(String id) {
    return operator.rows("etcd", "members").stream()
        .anyMatch(
            member ->
                member.get("name").getAsString().equals(id)
                    && member.get("role").getAsString().equals("voter"));
  }

  /** Waits until each node has its role and the command "health" finds no fault in it. */
  private void awaitHealth() throws StepFailure, InterruptedException {
    List<String> ids = nodes.stream().map(LocalNode::id).toList();
    steps.await(
        "all nodes to be healthy",
        (Boolean _) -> Line.of("all %d nodes are healthy".formatted(nodes.size())),
        () ->
            // The curator of a new voter starts after its role runs.
            Optional.of(true)
                .filter(
                    _ ->
                        idsOf(row -> Operator.has(row, "rolesRunning", ROLE), "node", "list")
                                .containsAll(ids)
                            && idsOf(row -> row.get("works").getAsBoolean(), "health")
                                .containsAll(ids)),
        () -> "health shows: " + operator.run("health").out(),
        remedy());
  }

  /** Returns the ids of the nodes in some rows that a command prints. */
  private List<String> idsOf(Predicate<JsonObject> which, String... command) {
    return operator.rows(command).stream()
        .filter(which)
        .map(row -> row.get("id").getAsString())
        .toList();
  }

  /** Runs a command of the operator until the cluster answers it. */
  private void command(String what, Steps.Done<Operator.Answer> done, String... words)
      throws StepFailure, InterruptedException {
    steps.await(
        what,
        done,
        () -> {
          Operator.Answer answer = operator.run(words);
          if (!answer.done() && !answer.mayComeLater()) {
            throw new StepFailure(what, answer.reason(), remedy());
          }
          return Optional.of(answer).filter(Operator.Answer::done);
        },
        () -> operator.run(words).reason(),
        remedy());
  }

  /** An action with one node. */
  private interface Action<T> {
    void run(T each) throws StepFailure, InterruptedException;
  }

  /** Runs an action for all at the same time; the first failure ends the others. */
  private static <T> void eachOf(List<T> all, Action<T> action)
      throws StepFailure, InterruptedException {
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    CompletionService<Void> ended = new ExecutorCompletionService<>(threads);
    try {
      all.forEach(each -> ended.submit(callable(action, each)));
      for (int done = 0; done < all.size(); done++) {
        ended.take().get();
      }
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case StepFailure failure -> throw failure;
        case RuntimeException defect -> throw defect;
        default -> throw new IllegalStateException("an action throws nothing else", e.getCause());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static <T> Callable<Void> callable(Action<T> action, T each) {
    return () -> {
      action.run(each);
      return null;
    };
  }

  /** Ends what still waits for nodes; the nodes themselves continue. */
  void abandon() {
    starts.forEach(start -> start.process().destroy());
  }
}
