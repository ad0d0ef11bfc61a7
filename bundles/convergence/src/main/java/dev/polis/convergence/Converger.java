package dev.polis.convergence;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginOrigin;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.plugins.swap.SwapOutcome;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.plugins.swap.SwapStatus;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.cluster.WantedPlugin;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * Swaps the plugins of a node to the wanted versions, one after the other, on one thread.
 *
 * <p>It repeats a failed attempt only when one of its conditions changes: the wanted plugins, the
 * running ones, or the trusted keys. After a while it requests an unavailable file again.
 */
final class Converger {
  private static final String NOT_AS_WANTED = "plugin-not-as-wanted";

  /** The interval of checks while another caller's swap runs, which takes seconds. */
  private static final Duration BUSY = Duration.ofSeconds(1);

  /** The longest wait; a change ends it. */
  private static final Duration FOR_LONG = Duration.ofHours(1);

  /** Longer than the life of a process. */
  private static final Duration NEVER = Duration.ofDays(36_500);

  /**
   * Holds the services that it uses.
   *
   * @param self this node
   * @param plugins the plugins of this node
   * @param roles the roles that the cluster gave this node
   * @param wanted the last message of the curator
   * @param fetch fetches files
   * @param progress receives the progress
   * @param health receives the plugins that do not run as wanted
   */
  record Parts(
      NodeId self,
      LocalPlugins plugins,
      Value<LocalRoles> roles,
      Value<WantedSet> wanted,
      PluginFetch fetch,
      MutableValue<Progress> progress,
      HealthScope health) {}

  /** Holds the conditions of an attempt; equal conditions would lead to the same result. */
  private record Basis(Step step, Digest fingerprint, TrustRoots trusted, Set<String> holders) {}

  /**
   * Holds a failed attempt.
   *
   * @param why the reason
   * @param again the time of another attempt without a change, by {@code nanoTime}
   * @param isFinal true if only a change justifies another attempt
   */
  private record Failed(Basis basis, String why, long again, boolean isFinal) {
    /** Returns whether the cluster wants this failed plugin again by a new wish. */
    boolean isWantedAnew(Want want) {
      return basis.step() instanceof Step.Bring(Want before)
          && before.plugin().equals(want.plugin())
          && before.sinceMillis() != want.sinceMillis();
    }
  }

  private final Parts parts;
  private final Duration retry;
  private final Map<String, Failed> failed = new HashMap<>();

  /** The last stored set; null before, and after a failed write. */
  private ClusterWants keptOrNull;

  Converger(Parts parts, Duration retry) {
    this.parts = parts;
    this.retry = retry;
  }

  void run(Context context) throws InterruptedException {
    MutableValue<Long> changes = new MutableValue<>(0L);
    Map<String, Value<?>> sources =
        Map.of(
            "wanted",
            parts.wanted(),
            "roles",
            parts.roles(),
            "inventory",
            parts.plugins().inventory(),
            "swaps",
            parts.plugins().newest());
    AnyChange.follow(context, sources, () -> changes.update(count -> count.orElse(0L) + 1));
    context.healthy();
    try (Watcher<Long> watcher = changes.watch()) {
      while (true) {
        while (pass(context.log())) {
          continue;
        }
        pause(watcher);
      }
    }
  }

  /** Waits for a change, or until a failed attempt or write is due again. */
  private void pause(Watcher<Long> changes) throws InterruptedException {
    long now = System.nanoTime();
    long next =
        failed.values().stream()
            .mapToLong(each -> each.again() - now)
            .min()
            .orElse(FOR_LONG.toNanos());
    if (keptOrNull == null) {
      next = Math.min(next, retry.toNanos());
    }
    try {
      changes.get(Duration.ofNanos(Math.max(1, Math.min(next, FOR_LONG.toNanos()))));
    } catch (TimeoutException due) {
      return;
    }
  }

  /** Makes the next attempt, if there is one; returns whether it did. */
  private boolean pass(Log log) throws InterruptedException {
    Optional<WantedSet> set = parts.wanted().peek();
    Optional<LocalRoles> roles = parts.roles().peek();
    Optional<LocalInventory> inventory = parts.plugins().inventory().peek();
    if (set.isEmpty() || roles.isEmpty() || inventory.isEmpty()) {
      return false;
    }
    SortedMap<String, Want> wants =
        Want.of(set.get().plugins(), parts.self(), roles.get().roles(), log::warning);
    keep(set.get(), wants, log);
    SortedMap<String, Step> plan = Step.plan(inventory.get(), wants);
    failed.keySet().retainAll(plan.keySet());
    for (Map.Entry<String, Step> each : plan.entrySet()) {
      Basis basis = basis(each.getValue(), inventory.get(), set.get());
      if (isWorthTrying(each.getKey(), basis)) {
        publish(wants, plan, each.getKey());
        attempt(each.getKey(), basis, set.get(), inventory.get(), log);
        return true;
      }
    }
    publish(wants, plan, "");
    return false;
  }

  /**
   * Stores the wanted plugins on this node's disk, for manual swaps and the collection of files.
   */
  private void keep(WantedSet set, SortedMap<String, Want> wants, Log log) {
    ClusterWants now =
        new ClusterWants(
            wants.values().stream()
                .map(want -> new ClusterWants.Wanted(want.plugin(), want.scope()))
                .toList(),
            digests(set));
    if (now.equals(keptOrNull)) {
      return;
    }
    keptOrNull = null;
    try {
      parts.plugins().want(now);
      keptOrNull = now;
    } catch (IOException e) {
      log.warning("the node cannot store the wanted plugins for its next start: %s", e);
    }
  }

  private static Set<Digest> digests(WantedSet set) {
    Set<Digest> digests = new HashSet<>();
    for (WantedPlugin each : set.plugins()) {
      try {
        digests.add(new Digest(each.getDigest()));
      } catch (IllegalArgumentException malformed) {
        // The log has a line about the whole entry.
        continue;
      }
    }
    return digests;
  }

  private Basis basis(Step step, LocalInventory inventory, WantedSet set) {
    return new Basis(step, inventory.fingerprint(), inventory.trusted(), holders(step, set));
  }

  /** Returns the nodes on which a step depends: the holders of the file, if this node lacks it. */
  private Set<String> holders(Step step, WantedSet set) {
    if (!(step instanceof Step.Bring bring)
        || parts.plugins().file(bring.want().plugin().digest()).isPresent()) {
      return Set.of();
    }
    return others(set, bring.want()).stream()
        .map(PluginHolder::getNodeId)
        .collect(Collectors.toSet());
  }

  private List<PluginHolder> others(WantedSet set, Want want) {
    return set.holders(want.plugin().digest().hex()).stream()
        .filter(holder -> !holder.getNodeId().equals(parts.self().text()))
        .toList();
  }

  private boolean isWorthTrying(String name, Basis basis) {
    Failed before = failed.get(name);
    return before == null
        || !before.basis().equals(basis)
        || before.again() - System.nanoTime() <= 0;
  }

  private void attempt(String name, Basis basis, WantedSet set, LocalInventory inventory, Log log)
      throws InterruptedException {
    try {
      SwapOutcome outcome = carriedOut(basis.step(), set, inventory, log);
      // The next pass must see the changes of this swap.
      parts.plugins().refresh();
      // The file is complete, so its other holders no longer matter.
      Set<String> holders = holders(basis.step(), set);
      settle(
          name,
          new Basis(basis.step(), basis.fingerprint(), basis.trusted(), holders),
          outcome,
          log);
    } catch (FetchException e) {
      log.warning("%s: %s", basis.step().words(), e.getMessage());
      failed.put(name, new Failed(basis, e.getMessage(), after(retry), false));
    } catch (SwapRefusedException busy) {
      failed.put(name, new Failed(basis, "it waits: " + busy.getMessage(), after(BUSY), false));
    }
  }

  private SwapOutcome carriedOut(Step step, WantedSet set, LocalInventory inventory, Log log)
      throws FetchException, SwapRefusedException, InterruptedException {
    return switch (step) {
      case Step.Bring bring ->
          swapped(
              new SwapOrder.Replace(
                  file(bring.want(), set, log), bring.want().manifest().toByteArray()),
              options(bring, inventory));
      case Step.GoBack back ->
          swapped(
              new SwapOrder.Adopt(Set.of(back.own().symbolicName())), SwapOptions.byCluster(true));
      case Step.TakeAway away -> {
        requireNoRole(away.plugin());
        yield swapped(
            new SwapOrder.Remove(away.plugin().symbolicName()), SwapOptions.byCluster(true));
      }
    };
  }

  /**
   * Delays a removal while this node has a role of the plugin, since no code would end the role's
   * work.
   */
  private void requireNoRole(StoredPlugin plugin) throws SwapRefusedException {
    Set<RoleName> roles =
        parts.roles().peek().<Set<RoleName>>map(LocalRoles::roles).orElse(Set.of());
    for (Provided each : provides(plugin)) {
      if (each instanceof Provided.Role(String role) && roles.contains(new RoleName(role))) {
        throw new SwapRefusedException(
            "this node has the role %s, which the plugin provides; remove the role: polisctl node role remove %s %s"
                .formatted(role, parts.self().text(), role));
      }
    }
  }

  private List<Provided> provides(StoredPlugin plugin) {
    Optional<Path> file = parts.plugins().file(plugin.digest());
    if (file.isEmpty()) {
      return List.of();
    }
    try {
      return ManifestEnvelope.read(file.get()).content().provides();
    } catch (PluginRefusedException | IOException unreadable) {
      // The swap engine also reads it, and refuses an unreadable one.
      return List.of();
    }
  }

  private SwapOptions options(Step.Bring bring, LocalInventory inventory) {
    SwapOptions options =
        SwapOptions.byCluster(bring.want().older() || isBrought(bring, inventory));
    Failed before = failed.get(bring.want().plugin().symbolicName());
    return before != null && before.isWantedAnew(bring.want()) ? options.forced() : options;
  }

  /** Returns whether the cluster brought the running version, so that an older one may follow. */
  private static boolean isBrought(Step.Bring bring, LocalInventory inventory) {
    return inventory
        .origin(bring.want().plugin().symbolicName())
        .filter(PluginOrigin.FromCluster.class::isInstance)
        .isPresent();
  }

  private Path file(Want want, WantedSet set, Log log) throws FetchException, InterruptedException {
    Digest digest = want.plugin().digest();
    Optional<Path> here = parts.plugins().file(digest);
    if (here.isPresent()) {
      return here.get();
    }
    parts.fetch().fetch(want, others(set, want), log);
    parts.plugins().refresh();
    return parts
        .plugins()
        .file(digest)
        .orElseThrow(
            () ->
                new FetchException(
                    "the node fetched the file and then deleted it; it fetches it again"));
  }

  private SwapOutcome swapped(SwapOrder order, SwapOptions options)
      throws SwapRefusedException, InterruptedException {
    try (Watcher<SwapStatus> swap = parts.plugins().begin(order, options).watch()) {
      return swap.get(status -> status.outcome().isPresent()).outcome().orElseThrow();
    }
  }

  private void settle(String name, Basis basis, SwapOutcome outcome, Log log) {
    switch (outcome) {
      case SwapOutcome.Applied applied -> {
        log.info("this node runs %s", basis.step().words());
        failed.remove(name);
      }
      case SwapOutcome.NothingToDo nothing ->
          // It runs already, and the next read of the inventory shows it.
          failed.put(name, new Failed(basis, nothing.reason(), after(BUSY), false));
      case SwapOutcome.Refused _, SwapOutcome.Reverted _, SwapOutcome.CouldNotRevert _ -> {
        String why = "%s: %s".formatted(outcome.name(), outcome.reason());
        log.warning("%s: %s", basis.step().words(), why);
        boolean isFinal = !(basis.step() instanceof Step.TakeAway);
        // The remains of a role may delay a removal for a moment.
        failed.put(name, new Failed(basis, why, after(isFinal ? NEVER : retry), isFinal));
      }
    }
  }

  private static long after(Duration pause) {
    return System.nanoTime() + pause.toNanos();
  }

  /**
   * Publishes the progress.
   *
   * @param current the plugin of the running fetch or swap; empty if there is none
   */
  private void publish(
      SortedMap<String, Want> wants, SortedMap<String, Step> plan, String current) {
    SortedMap<String, String> whyNot = new TreeMap<>();
    for (String name : plan.keySet()) {
      Failed before = failed.get(name);
      whyNot.put(
          name,
          name.equals(current)
              ? "the node fetches its file or swaps it in"
              : before == null ? "its turn comes after other plugins" : before.why());
    }
    Set<String> givenUp =
        failed.entrySet().stream()
            .filter(each -> each.getValue().isFinal() && !each.getKey().equals(current))
            .map(Map.Entry::getKey)
            .collect(Collectors.toSet());
    Progress now = new Progress(true, wants, whyNot, givenUp);
    if (!parts.progress().peek().filter(now::equals).isPresent()) {
      parts.progress().set(now);
    }
    show(plan);
  }

  private void show(SortedMap<String, Step> plan) {
    List<String> troubles =
        plan.entrySet().stream()
            .filter(each -> failed.containsKey(each.getKey()))
            .map(
                each ->
                    "%s: %s".formatted(each.getValue().words(), failed.get(each.getKey()).why()))
            .toList();
    if (troubles.isEmpty()) {
      parts.health().clear(NOT_AS_WANTED);
    } else {
      parts
          .health()
          .set(
              HealthCondition.degraded(
                  NOT_AS_WANTED,
                  String.join("; ", troubles),
                  "push a version that works, or unpin it; polisctl plugin diff lists all of them"));
    }
  }
}
