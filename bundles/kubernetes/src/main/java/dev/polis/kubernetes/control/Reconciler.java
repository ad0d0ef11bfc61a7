package dev.polis.kubernetes.control;

import com.google.gson.JsonObject;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.client.KubeException;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Gives the cluster the objects that every cluster has, again and again: makes those that are
 * missing, corrects those that differ, and deletes those of its label that are not wanted any more.
 * An object with a wanted name and without the label belongs to another owner and stays as it is.
 * Of several controllers only the holder of a lease does this.
 */
final class Reconciler {

  /** Who is noted as the owner of the fields that are set here. */
  private static final String MANAGER = "polis";

  /** The condition of a cluster whose objects cannot be corrected. */
  private static final String FAILED = "kubernetes-objects-not-reconciled";

  /** The reference's pace; a person who has deleted one waits half a minute. */
  private static final Duration EVERY = Duration.ofSeconds(30);

  /** An API server that was started again is ready after a few seconds. */
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(3);

  /**
   * An API server that is ready may need a moment more until it can create in all namespaces, and
   * workers wait for what is made here.
   */
  private static final Duration RETRY = Duration.ofMillis(200);

  private static final String LABELLED = "?labelSelector=polis.dev%2Fbuiltin%3Dtrue";

  /** What the API server says of a field that may not change: 422 of HTTP. */
  private static final int INVALID = 422;

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

  /** Reconciles until cancelled. */
  void run(Context context, HealthRegistry health, String role) throws InterruptedException {
    context.healthy();
    try (HealthScope scope = health.role(role, "")) {
      while (true) {
        Optional<String> problem = attempt(context.log());
        problem.ifPresentOrElse(
            text ->
                scope.set(
                    HealthCondition.degraded(
                        FAILED, text, "nothing: it is tried again every few seconds")),
            () -> scope.clear(FAILED));
        Thread.sleep(problem.isEmpty() ? EVERY : AFTER_FAILURE);
      }
    }
  }

  /** Reconciles once, and repeats that until it works or another controller does it. */
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
      return Optional.of("the cluster's default objects cannot be made: " + refused.getMessage());
    }
  }

  /** Does it once, whichever controller holds the lease. */
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
          "%s exists without the label %s; it is left as it is",
          object.path(), BuiltinObjects.LABEL);
      return;
    }
    try {
      api.apply(object.path(), MANAGER, object.content());
    } catch (KubeException refused) {
      if (refused.code() != INVALID || present.isEmpty()) {
        throw refused;
      }
      log.info("%s is made anew: %s", object.path(), refused.getMessage());
      api.delete(object.path());
      api.apply(object.path(), MANAGER, object.content());
    }
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
      if (!names.contains(found.name())) {
        log.info("%s is not wanted any more and is deleted", found.path());
        api.delete(found.path());
      }
    }
  }
}
