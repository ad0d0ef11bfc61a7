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
 * Runs one plugin for each wanted role. Thread-safe.
 *
 * <p>Another instance of this organ may continue the runs: it gets them with their subtree, without
 * a stop and a start.
 */
final class RolePlugins {

  /** The name of a plugin's runnable in the subtree of its role. */
  static final String RUNNABLE = "plugin";

  /**
   * The time for the end of a role. Its programs end one after the other, in at most ten seconds
   * each; supervision keeps the order for half of this time, which is enough for three programs.
   */
  static final Duration PATIENCE = Duration.ofSeconds(60);

  /** The longest name of a role in the tree, with room for a number within 64 characters. */
  private static final int LONGEST_NODE_NAME = 60;

  // The names of the values that one instance passes to the next.
  private static final String PLACE = "runs";
  private static final String SUBTREES = "run-of-role";
  private static final String PLUGINS = "plugin-of-role";
  private static final String RANKINGS = "ranking-of-role";
  private static final String SERVICES = "service-of-role";

  private static final Comparator<Offer> BEST =
      Comparator.comparingInt(Offer::ranking).thenComparingLong(Offer::serviceId);

  /** Is a plugin that a bundle has registered. */
  private record Offer(RolePlugin plugin, RoleName role, int ranking, long serviceId) {}

  /** Is a running plugin. */
  private record Started(Offer offer, Subtree subtree) {}

  private final ReentrantLock lock = new ReentrantLock();
  private final Subtree organ;
  private final Log log;
  private final Supplier<StopReason> codeGoes;
  // Guarded by lock.
  private Subtree parent;
  private final Map<RolePlugin, Offer> offers = new HashMap<>();

  /** The plugins of adopted runs that the framework has not shown here yet. */
  private final Set<RolePlugin> expected = new HashSet<>();

  private final SortedMap<RoleName, Started> started = new TreeMap<>();
  private final MutableValue<SortedMap<RoleName, String>> subtrees =
      new MutableValue<>(Collections.emptySortedMap());
  private Set<RoleName> wanted = Set.of();
  private int twins;
  private boolean closed;

  /**
   * @param organ the subtree of the organ, below which each role has its own
   * @param codeGoes returns the stop reason for a removed plugin at that moment
   * @param taken the state from another instance; empty without one
   */
  RolePlugins(Subtree organ, Log log, Supplier<StopReason> codeGoes, OrganState taken) {
    this.organ = organ;
    this.log = log;
    this.codeGoes = codeGoes;
    adopt(taken);
  }

  // ---- hand-over between instances

  /** Adopts the runs of another instance, or begins with none. */
  private void adopt(OrganState taken) {
    Optional<Subtree> place = taken.find(PLACE, Subtree.class);
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
    // Last, so that an unreadable state moves no run into a subtree that is then closed.
    place.ifPresent(given -> given.moveTo(organ));
    parent = place.orElseGet(() -> organ.subtree("plugins"));
    publish();
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the value that give() has stored
  private static <V> Map<RoleName, V> map(OrganState taken, String name) {
    return taken.find(name, Map.class).map(found -> (Map<RoleName, V>) found).orElse(Map.of());
  }

  /** Ends the first collection of plugins: an adopted run without its plugin ends. */
  void expectNoMore() {
    locked(
        () -> {
          offers.keySet().removeAll(expected);
          expected.clear();
          converge();
        });
  }

  /**
   * Ends the starts and stops, and returns the runs for another instance. The published values
   * stay.
   *
   * @throws InterruptedException if a role that is ending takes too long; then nothing has changed
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

  /** Continues the runs that another instance returns, for the wanted roles of now. */
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

  // ---- wanted roles and plugins

  /**
   * Adds a plugin. If a role has several plugins, the newest of the highest ranking runs, so that
   * an update takes over when it comes, and its predecessor returns when it goes.
   */
  void add(RolePlugin plugin, RoleName role, int ranking, long serviceId) {
    locked(
        () -> {
          expected.remove(plugin);
          offers.put(plugin, new Offer(plugin, role, ranking, serviceId));
          converge();
        });
  }

  /** Removes a plugin; returns after its work has ended or its time is over. */
  void remove(RolePlugin plugin) {
    locked(
        () -> {
          offers.remove(plugin);
          converge();
        });
  }

  /** Starts the wanted roles and stops the others; returns after these have ended. */
  void want(LocalRoles roles) {
    locked(
        () -> {
          wanted = roles.roles();
          converge();
        });
  }

  /** Ends the starts and stops; the owner of the subtree closes it. */
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
    // In the reverse order of the start: a Kubernetes worker still needs its API server for its
    // end.
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
    // The replaced bundle is stopping meanwhile, with a deadline of its own.
    Duration patience = reason == StopReason.CODE_REPLACED ? SwapDeadline.ROLE.limit() : PATIENCE;
    List<String> left = present.subtree().close(reason, patience);
    if (!left.isEmpty()) {
      log.error("role %s has not ended yet: %s", present.offer().role(), left);
    }
    started.remove(present.offer().role());
    publish();
  }

  private void publish() {
    SortedMap<RoleName, String> now = new TreeMap<>();
    started.forEach((role, each) -> now.put(role, each.subtree().dn()));
    subtrees.set(Collections.unmodifiableSortedMap(now));
  }

  /** Returns the name of a role in the supervision tree, such as {@code kubernetes_worker}. */
  private String nodeName(RoleName role) {
    String spaced = role.text().replaceAll("(?<=[a-z0-9])(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
    String name = shortened(spaced);
    boolean taken =
        started.values().stream().anyMatch(each -> each.subtree().dn().endsWith("." + name));
    // Names that differ only in capitals are different roles.
    return taken ? "%s-%d".formatted(name, ++twins) : name;
  }

  private static String shortened(String name) {
    return name.substring(0, Math.min(name.length(), LONGEST_NODE_NAME));
  }
}
