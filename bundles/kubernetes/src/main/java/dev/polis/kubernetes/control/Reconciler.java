package dev.polis.kubernetes.control;

import com.google.gson.JsonObject;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Keeps the initial objects of the cluster as wanted: it creates missing ones, corrects changed
 * ones, and deletes unwanted ones with its label. An object with a wanted name but without the
 * label belongs to another owner and stays unchanged. Only the controller with the lease does this.
 */
final class Reconciler {

  /** The field manager of the reconciler's fields. */
  private static final String MANAGER = "polis";

  /** The condition of a cluster whose objects the node cannot correct. */
  private static final String FAILED = "kubernetes-objects-not-reconciled";

  /** The condition of a cluster that has lost rights which the API server makes at its start. */
  private static final String RIGHTLESS = "kubernetes-rights-missing";

  private static final String BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/";

  /** The bindings without which Pods stay Pending, while all programs answer. */
  private static final List<String> BOOTSTRAP =
      List.of("system:kube-controller-manager", "system:kube-scheduler", "system:discovery");

  /** The interval of the reference system, after which an operator sees a deleted object again. */
  private static final Duration EVERY = Duration.ofSeconds(30);

  /** The pause after a failure; a restarted API server is ready after a few seconds. */
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(3);

  /**
   * The pause of the first attempts: a new API server needs a moment before it can create objects,
   * and workers wait for these objects.
   */
  private static final Duration RETRY = Duration.ofMillis(200);

  private static final String LABELLED = "?labelSelector=polis.dev%2Fbuiltin%3Dtrue";

  private final KubeClient api;
  private final KubeLease lease;
  private final List<KubeObject> wanted;

  Reconciler(KubeClient api, KubeLease lease) {
    this(api, lease, BuiltinObjects.all());
  }

  Reconciler(KubeClient api, KubeLease lease, List<KubeObject> wanted) {
    this.api = api;
    this.lease = lease;
    this.wanted = List.copyOf(wanted);
  }

  /** Reconciles until it is cancelled. */
  void run(Context context, HealthRegistry health, String role) throws InterruptedException {
    context.healthy();
    try (HealthScope scope = health.role(role, "")) {
      while (true) {
        Optional<String> problem = attempt(context.log());
        problem.ifPresentOrElse(
            text ->
                scope.set(
                    HealthCondition.degraded(
                        FAILED, text, "nothing: the node tries again every few seconds")),
            () -> scope.clear(FAILED));
        report(problem.isEmpty() ? missing() : List.of(), scope);
        Thread.sleep(problem.isEmpty() ? EVERY : AFTER_FAILURE);
      }
    }
  }

  private static void report(List<String> missing, HealthScope scope) {
    if (missing.isEmpty()) {
      scope.clear(RIGHTLESS);
      return;
    }
    scope.set(
        HealthCondition.degraded(
            RIGHTLESS,
            "the API server refuses the cluster's own programs what they need, since cluster role bindings that it makes at its start were deleted: "
                + String.join(", ", missing),
            "end the API server on one controller: pkill -x kube-apiserver; the node starts it again, and it makes its bindings anew"));
  }

  /** Returns the deleted bindings of the API server; none while it does not answer. */
  List<String> missing() throws InterruptedException {
    List<String> missing = new ArrayList<>();
    try {
      for (String name : BOOTSTRAP) {
        if (api.find(BINDINGS + name).isEmpty()) {
          missing.add(name);
        }
      }
    } catch (IOException unanswered) {
      return List.of(); // another condition tells it
    }
    return missing;
  }

  /** Reconciles once, with retries until this or another controller succeeds. */
  void first(Log log) throws InterruptedException {
    while (attempt(log).isPresent()) {
      Thread.sleep(RETRY);
    }
  }

  private Optional<String> attempt(Log log) throws InterruptedException {
    try {
      if (lease.hold()) {
        once(log);
      }
      return Optional.empty();
    } catch (IOException refused) {
      return Optional.of(
          "the node cannot make the cluster's default objects: " + refused.getMessage());
    }
  }

  /** Reconciles once, whichever controller holds the lease. */
  void once(Log log) throws IOException, InterruptedException {
    for (KubeObject each : wanted) {
      ensure(each, log);
    }
    for (String collection : BuiltinObjects.collections()) {
      prune(collection, log);
    }
  }

  private void ensure(KubeObject object, Log log) throws IOException, InterruptedException {
    Optional<JsonObject> present = api.find(object.path());
    if (present.filter(each -> !isOurs(each)).isPresent()) {
      log.warning(
          "%s exists without the label %s; the node does not change it",
          object.path(), BuiltinObjects.LABEL);
      return;
    }
    api.applyAnew(object.path(), MANAGER, object.content())
        .ifPresent(why -> log.info("the node has replaced %s: %s", object.path(), why));
  }

  private static boolean isOurs(JsonObject object) {
    JsonObject metadata = object.getAsJsonObject("metadata");
    return metadata.has("labels") && metadata.getAsJsonObject("labels").has(BuiltinObjects.LABEL);
  }

  private void prune(String collection, Log log) throws IOException, InterruptedException {
    Set<String> names = new HashSet<>();
    wanted.stream()
        .filter(each -> each.collection().equals(collection))
        .map(KubeObject::name)
        .forEach(names::add);
    for (JsonObject each : KubeClient.items(api.list(collection + LABELLED))) {
      KubeObject found = new KubeObject(collection, each);
      if (!names.contains(found.name()) && !WorkerRights.FORMER.contains(found.path())) {
        log.info("the node deletes %s, which it no longer needs", found.path());
        api.delete(found.path());
      }
    }
  }
}
