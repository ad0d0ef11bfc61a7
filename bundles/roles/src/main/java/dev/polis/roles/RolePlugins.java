package dev.polis.roles;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.handover.OrganState;
import dev.polis.handover.SwapDeadline;
import dev.polis.logtree.Log;
import dev.polis.supervision.Subtree;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Runs one plugin for each wanted role that has one. Thread-safe.
 *
 * <p>Another instance of this organ may continue the runs: it gets them with their subtree, and
 * neither stops nor starts them.
 */
final class RolePlugins {

  /** Name of a plugin's runnable, in the subtree of its role. */
  static final String RUNNABLE = "plugin";

  /**
   * How long a role may take to end. Its programs end one after the other and have ten seconds
   * each; supervision keeps that order for half of this time, which is enough for three of them.
   */
  static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Leaves room for a number in the 64 characters of a name in the tree. */
  private static final int LONGEST_NODE_NAME = 60;

  // Names of what one instance gives to the next.
  private static final String PLACE = "runs";
  private static final String SUBTREES = "run-of-role";
  private static final String PLUGINS = "plugin-of-role";
  private static final String RANKINGS = "ranking-of-role";
  private static final String SERVICES = "service-of-role";

  private static final Comparator<Offer> BEST =
      Comparator.comparingInt(Offer::ranking).thenComparingLong(Offer::serviceId);

  /** A plugin that a bundle has registered. */
  private record Offer(RolePlugin plugin, RoleName role, int ranking, long serviceId) {}

  /** A plugin that runs. */
  private record Started(Offer offer, Subtree subtree) {}

  private final ReentrantLock lock = new ReentrantLock();
  private final Subtree organ;
  private final Log log;
  private final Supplier<StopReason> codeGoes;
  // Guarded by lock.
  private Subtree parent;
  private final Map<RolePlugin, Offer> offers = new HashMap<>();

  /** Plugins of runs that were taken over, which the framework has not shown here yet. */
  private final Set<RolePlugin> expected = new HashSet<>();

  private final SortedMap<RoleName, Started> started = new TreeMap<>();
  private final MutableValue<SortedMap<RoleName, String>> subtrees =
      new MutableValue<>(Collections.emptySortedMap());
  private Set<RoleName> wanted = Set.of();
  private int twins;
  private boolean closed;

  /**
   * @param organ the subtree of the organ; each role gets one of its own below it
   * @param codeGoes why a plugin that goes is stopped at that moment
   * @param taken what another instance gave; nothing if there is none
   */
  RolePlugins(Subtree organ, Log log, Supplier<StopReason> codeGoes, OrganState taken) {
    this.organ = organ;
    this.log = log;
    this.codeGoes = codeGoes;
    adopt(taken);
  }

  // ---- one instance after the other

  /** Takes the runs of another instance, or begins with none. */
  private void adopt(OrganState taken) {
    Optional<Subtree> place = taken.find(PLACE, Subtree.class);
    place.ifPresent(given -> given.moveTo(organ));
    parent = place.orElseGet(() -> organ.subtree("plugins"));
    Map<RoleName, Subtree> runs = map(taken, SUBTREES);
    Map<RoleName, RolePlugin> plugins = map(taken, PLUGINS);
    Map<RoleName, Integer> rankings = map(taken, RANKINGS);
    Map<RoleName, Long> services = map(taken, SERVICES);
    runs.forEach(
        (role, subtree) -> {
          RolePlugin plugin = plugins.get(role);
          Offer offer = new Offer(plugin, role, rankings.get(role), services.get(role));
          if (offers.putIfAbsent(plugin, offer) == null) {
            expected.add(plugin);
          }
          started.put(role, new Started(offers.get(plugin), subtree));
        });
    wanted = Set.copyOf(runs.keySet());
    publish();
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // what give() has put there
  private static <V> Map<RoleName, V> map(OrganState taken, String name) {
    return taken.find(name, Map.class).map(found -> (Map<RoleName, V>) found).orElse(Map.of());
  }

  /**
   * Says that all plugins of this moment have been added: a run whose plugin is not among them
   * ends.
   */
  void expectNoMore() {
    locked(
        () -> {
          offers.keySet().removeAll(expected);
          expected.clear();
          converge();
        });
  }

  /**
   * Ends starting and stopping, and returns the runs for another instance. What is published stays.
   *
   * @throws InterruptedException if a role that ends just now takes too long; nothing has changed
   */
  OrganState give() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      closed = true;
      return OrganState.NONE
          .with(PLACE, parent)
          .with(SUBTREES, ofRoles(Started::subtree))
          .with(PLUGINS, ofRoles(each -> each.offer().plugin()))
          .with(RANKINGS, ofRoles(each -> each.offer().ranking()))
          .with(SERVICES, ofRoles(each -> each.offer().serviceId()));
    } finally {
      lock.unlock();
    }
  }

  private <V> Map<RoleName, V> ofRoles(Function<Started, V> what) {
    Map<RoleName, V> all = new TreeMap<>();
    started.forEach((role, each) -> all.put(role, what.apply(each)));
    return Map.copyOf(all);
  }

  /** Continues the runs that another instance gives back, for the roles that are wanted now. */
  void resume(OrganState given, Set<RoleName> roles) {
    locked(
        () -> {
          closed = false;
          started.clear();
          expected.clear();
          adopt(given);
          offers.keySet().removeAll(expected);
          expected.clear();
          wanted = roles;
          converge();
        });
  }

  private void locked(Runnable step) {
    lock.lock();
    try {
      step.run();
    } finally {
      lock.unlock();
    }
  }

  // ---- wanted roles, and plugins that there are

  /**
   * Adds a plugin. Of several for one role, the one with the highest ranking runs, and among those
   * the newest, so that an update takes over when it comes and is undone when it goes.
   */
  void add(RolePlugin plugin, RoleName role, int ranking, long serviceId) {
    locked(
        () -> {
          expected.remove(plugin);
          offers.put(plugin, new Offer(plugin, role, ranking, serviceId));
          converge();
        });
  }

  /** Removes a plugin; returns when its work has ended or its time is over. */
  void remove(RolePlugin plugin) {
    locked(
        () -> {
          offers.remove(plugin);
          converge();
        });
  }

  /** Starts the wanted roles and stops the others; returns when those have ended. */
  void want(LocalRoles roles) {
    locked(
        () -> {
          wanted = roles.roles();
          converge();
        });
  }

  /** Ends starting and stopping; the owner of the subtree closes it. */
  void close() {
    locked(() -> closed = true);
  }

  /** Returns the distinguished names of the subtrees of the started roles. */
  Value<SortedMap<RoleName, String>> subtrees() {
    return subtrees;
  }

  private void converge() {
    if (closed) {
      return;
    }
    // In the reverse order of start: a Kubernetes worker still needs its API server to end.
    List.copyOf(started.values()).reversed().forEach(this::stopUnlessRight);
    wanted.stream()
        .sorted()
        .filter(role -> !started.containsKey(role))
        .map(this::best)
        .flatMap(Optional::stream)
        .forEach(this::start);
  }

  private Optional<Offer> best(RoleName role) {
    return offers.values().stream().filter(offer -> offer.role().equals(role)).max(BEST);
  }

  private void stopUnlessRight(Started present) {
    RoleName role = present.offer().role();
    if (!wanted.contains(role)) {
      stop(present, StopReason.ROLE_REMOVED);
    } else if (!best(role).equals(Optional.of(present.offer()))) {
      stop(present, codeGoes.get());
    }
  }

  private void start(Offer offer) {
    log.info("starting role %s", offer.role());
    Subtree subtree = parent.subtree(nodeName(offer.role()));
    started.put(offer.role(), new Started(offer, subtree));
    publish();
    subtree.run(RUNNABLE, RolePlugin.task(offer.plugin()));
  }

  private void stop(Started present, StopReason reason) {
    log.info("stopping role %s (%s)", present.offer().role(), reason);
    started.remove(present.offer().role());
    publish();
    // A bundle that is replaced is stopped meanwhile, which has a deadline of its own.
    Duration patience = reason == StopReason.CODE_REPLACED ? SwapDeadline.ROLE.limit() : PATIENCE;
    List<String> left = present.subtree().close(reason, patience);
    if (!left.isEmpty()) {
      log.error("role %s has not ended yet: %s", present.offer().role(), left);
    }
  }

  private void publish() {
    SortedMap<RoleName, String> now = new TreeMap<>();
    started.forEach((role, each) -> now.put(role, each.subtree().dn()));
    subtrees.set(Collections.unmodifiableSortedMap(now));
  }

  /** Returns a name for a role in the supervision tree, such as {@code kubernetes_worker}. */
  private String nodeName(RoleName role) {
    String spaced = role.text().replaceAll("(?<=[a-z0-9])(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
    String name = shortened(spaced);
    boolean taken =
        started.values().stream().anyMatch(each -> each.subtree().dn().endsWith("." + name));
    // Names that differ in capitals only are different roles.
    return taken ? "%s-%d".formatted(name, ++twins) : name;
  }

  private static String shortened(String name) {
    return name.substring(0, Math.min(name.length(), LONGEST_NODE_NAME));
  }
}
