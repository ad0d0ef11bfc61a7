package dev.polis.roles;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.boot.StopReason;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.logtree.Log;
import dev.polis.supervision.Subtree;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Runs one plugin for each wanted role that has one. Thread-safe. */
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

  private static final Comparator<Offer> BEST =
      Comparator.comparingInt(Offer::ranking).thenComparingLong(Offer::serviceId);

  /** A plugin that a bundle has registered. */
  private record Offer(RolePlugin plugin, RoleName role, int ranking, long serviceId) {}

  /** A plugin that runs. */
  private record Started(Offer offer, Subtree subtree) {}

  private final Subtree parent;
  private final Log log;
  private final Supplier<StopReason> codeGoes;
  private final Map<RolePlugin, Offer> offers = new HashMap<>();
  private final SortedMap<RoleName, Started> started = new TreeMap<>();
  private final MutableValue<SortedMap<RoleName, String>> subtrees =
      new MutableValue<>(Collections.emptySortedMap());
  private Set<RoleName> wanted = Set.of();
  private int twins;
  private boolean closed;

  /**
   * @param parent the subtree in which each role gets one of its own
   * @param codeGoes why a plugin that goes is stopped at that moment
   */
  RolePlugins(Subtree parent, Log log, Supplier<StopReason> codeGoes) {
    this.parent = parent;
    this.log = log;
    this.codeGoes = codeGoes;
  }

  /**
   * Adds a plugin. Of several for one role, the one with the highest ranking runs, and among those
   * the newest, so that an update takes over when it comes and is undone when it goes.
   */
  synchronized void add(RolePlugin plugin, RoleName role, int ranking, long serviceId) {
    offers.put(plugin, new Offer(plugin, role, ranking, serviceId));
    converge();
  }

  /** Removes a plugin; returns when its work has ended or {@link #PATIENCE} is over. */
  synchronized void remove(RolePlugin plugin) {
    offers.remove(plugin);
    converge();
  }

  /** Starts the wanted roles and stops the others; returns when those have ended. */
  synchronized void want(LocalRoles roles) {
    wanted = roles.roles();
    converge();
  }

  /** Ends starting and stopping; the owner of the subtree closes it. */
  synchronized void close() {
    closed = true;
  }

  /** Returns the distinguished names of the subtrees of the started roles. */
  Value<SortedMap<RoleName, String>> subtrees() {
    return subtrees;
  }

  private void converge() {
    if (closed) {
      return;
    }
    List.copyOf(started.values()).forEach(this::stopUnlessRight);
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
    subtree.run(RUNNABLE, offer.plugin()::run);
  }

  private void stop(Started present, StopReason reason) {
    log.info("stopping role %s (%s)", present.offer().role(), reason);
    started.remove(present.offer().role());
    publish();
    List<String> left = present.subtree().close(reason, PATIENCE);
    if (!left.isEmpty()) {
      log.error("role %s has not ended: %s", present.offer().role(), left);
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
