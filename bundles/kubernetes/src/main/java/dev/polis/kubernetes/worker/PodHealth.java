package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.stream.Collectors;

/** Names in the role's health the Pods that this node prevents from starting. */
final class PodHealth implements Task {

  private static final String NOT_STARTED = "pods-not-started";

  /**
   * The interval of checks: an operator sees the effect of a repair within this time, and a list of
   * waiting Pods is short.
   */
  private static final Duration PAUSE = Duration.ofSeconds(10);

  /**
   * The number of Pods whose events one check reads, the newest first, which a problem of the node
   * also affects. An API server reads events from etcd each time, and a faulty Pod may wait for
   * days.
   */
  private static final int ASKED = 20;

  /**
   * The most events of a Pod: a kubelet writes some 25 in a row, and another client might write
   * very many.
   */
  private static final int EVENTS = 50;

  /** The number of named causes; further ones are only counted. */
  private static final int NAMED = 3;

  /** Passes the objects of a collection to a taker, each as soon as it has come. */
  @FunctionalInterface
  interface Pods {
    void read(String path, KubeClient.Taker taker) throws IOException, InterruptedException;
  }

  /** Reads events of one Pod, which are few. */
  @FunctionalInterface
  interface Events {
    List<JsonObject> read(String path) throws IOException, InterruptedException;
  }

  /**
   * Creates the check. The audit log omits the reads of both users, which would fill it.
   *
   * @param pods a user that may read the node's Pods
   * @param events a user that may read events; a kubelet may only write them
   */
  record Reader(Pods pods, Events events, NodeId node) {

    /** Passes on the Pods that are assigned to this node and have not begun. */
    private void waiting(KubeClient.Taker taker) throws IOException, InterruptedException {
      pods.read(
          "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node + "%2Cstatus.phase%3DPending",
          taker);
    }

    private List<JsonObject> warnings(JsonObject pod) throws IOException, InterruptedException {
      JsonObject metadata = pod.getAsJsonObject("metadata");
      return events.read(
          "/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%s%%2Ctype%%3DWarning&limit=%d"
              .formatted(
                  metadata.get("namespace").getAsString(),
                  metadata.get("uid").getAsString(),
                  EVENTS));
    }
  }

  private final Reader reader;
  private final Value<WorkerCredentials> credentials;
  private final HealthScope health;
  private final Duration patience;
  private final InstantSource clock;

  /** The causes that are already in the log. */
  private Set<String> known = Set.of();

  PodHealth(
      Reader reader,
      Value<WorkerCredentials> credentials,
      HealthScope health,
      Duration patience,
      InstantSource clock) {
    this.reader = reader;
    this.credentials = credentials;
    this.health = health;
    this.patience = patience;
    this.clock = clock;
  }

  @Override
  public void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<WorkerCredentials> certified = credentials.watch()) {
      certified.get();
    }
    try {
      while (true) {
        look(context.log());
        Thread.sleep(PAUSE);
      }
    } finally {
      health.clear(NOT_STARTED);
    }
  }

  /** Checks once; without an answer of the API server, the last result stays. */
  void look(Log log) throws InterruptedException {
    try {
      List<StuckPod> stuck = find();
      stuck.stream()
          .filter(pod -> !known.contains(pod.title() + pod.reason()))
          .forEach(pod -> log.warning("%s (%s)", sentence(List.of(pod)), pod.message()));
      known = stuck.stream().map(pod -> pod.title() + pod.reason()).collect(Collectors.toSet());
      condition(stuck).ifPresentOrElse(health::set, () -> health.clear(NOT_STARTED));
    } catch (IOException away) {
      log.info("the node cannot check its Pods now: %s", away.getMessage());
    }
  }

  /** Judges each Pod as it comes and keeps none, since users determine their size. */
  private List<StuckPod> find() throws IOException, InterruptedException {
    Instant latest = clock.instant().minus(patience);
    List<StuckPod> stuck = new ArrayList<>();
    // The newest ones; the oldest of them is first.
    PriorityQueue<JsonObject> unclear =
        new PriorityQueue<>(Comparator.comparing(PodTrouble::scheduled));
    reader.waiting(
        pod -> {
          if (PodTrouble.scheduled(pod).isAfter(latest)) {
            return;
          }
          if (!PodTrouble.needsEvents(pod)) {
            PodTrouble.of(pod, List.of()).ifPresent(stuck::add);
            return;
          }
          unclear.add(PodTrouble.outline(pod));
          if (unclear.size() > ASKED) {
            unclear.remove();
          }
        });
    for (JsonObject pod : unclear) {
      PodTrouble.of(pod, reader.warnings(pod)).ifPresent(stuck::add);
    }
    return stuck.stream()
        .sorted(Comparator.comparing(StuckPod::since).thenComparing(StuckPod::title))
        .toList();
  }

  /** Returns one condition with all causes, that of the longest-waiting Pod first. */
  private static Optional<HealthCondition> condition(List<StuckPod> stuck) {
    if (stuck.isEmpty()) {
      return Optional.empty();
    }
    Map<String, List<StuckPod>> causes =
        stuck.stream()
            .collect(
                Collectors.groupingBy(StuckPod::reason, LinkedHashMap::new, Collectors.toList()));
    List<List<StuckPod>> named = causes.values().stream().limit(NAMED).toList();
    long more = stuck.size() - named.stream().mapToLong(List::size).sum();
    String reason = named.stream().map(PodHealth::sentence).collect(Collectors.joining("; "));
    String remedy =
        named.stream()
            .map(pods -> pods.getFirst().remedy())
            .filter(each -> !each.isEmpty())
            .distinct()
            .collect(Collectors.joining("; "));
    return Optional.of(
        HealthCondition.degraded(
            NOT_STARTED,
            more == 0
                ? reason
                : "%s; %d more cannot start for other reasons".formatted(reason, more),
            remedy));
  }

  private static String sentence(List<StuckPod> pods) {
    StuckPod first = pods.getFirst();
    return pods.size() == 1
        ? "Pod %s cannot start: %s".formatted(first.title(), first.reason())
        : "%d Pods cannot start, %s the first: %s"
            .formatted(pods.size(), first.title(), first.reason());
  }
}
