package dev.polis.convergence;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
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
 * Brings a node to what the cluster wants of it, one plugin after the other, from one thread.
 *
 * <p>What failed is not tried again until something changes on which it depends: what is wanted,
 * what the node runs, or which keys the cluster trusts. A file that no node gave is asked for again
 * after a while.
 */
final class Converger {
  private static final String NOT_AS_WANTED = "plugin-not-as-wanted";

  /** A swap takes seconds; so a look each second is soon enough after another caller's. */
  private static final Duration BUSY = Duration.ofSeconds(1);

  /** Longer than any wait has a reason for; what changes ends it. */
  private static final Duration FOR_LONG = Duration.ofHours(1);

  /** Longer than any process lives. */
  private static final Duration NEVER = Duration.ofDays(36_500);

  /**
   * Holds what it works with.
   *
   * @param self this node
   * @param plugins of this node
   * @param roles that the cluster gave this node
   * @param wanted what the curator said last
   * @param fetch fetches files
   * @param progress receives how far it has come
   * @param health receives what does not run as wanted
   */
  record Parts(
      NodeId self,
      LocalPlugins plugins,
      Value<LocalRoles> roles,
      Value<WantedSet> wanted,
      PluginFetch fetch,
      MutableValue<Progress> progress,
      HealthScope health) {}

  /** What an attempt depends on: as long as that is the same, it would end the same. */
  private record Basis(Step step, Digest fingerprint, TrustRoots trusted, Set<String> holders) {}

  /**
   * An attempt that failed.
   *
   * @param why the reason
   * @param again when it is worth another attempt although nothing changed, by {@code nanoTime}
   * @param isFinal whether it is worth another attempt only after a change
   */
  private record Failed(Basis basis, String why, long again, boolean isFinal) {
    /** Returns whether this plugin failed and the cluster wants the same one anew. */
    boolean isWantedAnew(Want want) {
      return basis.step() instanceof Step.Bring(Want before)
          && before.plugin().equals(want.plugin())
          && before.sinceMillis() != want.sinceMillis();
    }
  }

  private final Parts parts;
  private final Duration retry;
  private final Map<String, Failed> failed = new HashMap<>();

  /** What was kept last; null before, and while what is wanted could not be kept. */
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

  /** Waits for a change, or until a failed attempt, also one to keep something, is due again. */
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

  /** Makes one attempt if there is one to make; returns whether it did. */
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

  /** Keeps what is wanted on this node's disk, for swaps by hand and the collection of files. */
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
      log.warning("what the cluster wants cannot be kept for the next start: %s", e);
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

  /** Returns the nodes on which a step depends: those that have the file, if it is not here. */
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
      // The next pass has to see what this swap has changed.
      parts.plugins().refresh();
      // The file has come meanwhile: who else has it makes no difference any more.
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
   * Lets a removal wait while this node has a role of the plugin: nothing would end what it runs.
   */
  private void requireNoRole(StoredPlugin plugin) throws SwapRefusedException {
    Set<RoleName> roles =
        parts.roles().peek().<Set<RoleName>>map(LocalRoles::roles).orElse(Set.of());
    for (Provided each : provides(plugin)) {
      if (each instanceof Provided.Role(String role) && roles.contains(new RoleName(role))) {
        throw new SwapRefusedException(
            "this node has the role %s, which it provides; take the role away: polisctl node role remove %s %s"
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
      // The engine reads it too, and refuses what it cannot read.
      return List.of();
    }
  }

  private SwapOptions options(Step.Bring bring, LocalInventory inventory) {
    SwapOptions options =
        SwapOptions.byCluster(bring.want().older() || isBrought(bring, inventory));
    Failed before = failed.get(bring.want().plugin().symbolicName());
    return before != null && before.isWantedAnew(bring.want()) ? options.forced() : options;
  }

  /** Returns whether the cluster itself brought what runs: then it may be an older one again. */
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
            () -> new FetchException("its file came and was deleted; it is fetched again"));
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
          // It runs already; the inventory says so as soon as it is read.
          failed.put(name, new Failed(basis, nothing.reason(), after(BUSY), false));
      case SwapOutcome.Refused _, SwapOutcome.Reverted _, SwapOutcome.CouldNotRevert _ -> {
        String why = "%s: %s".formatted(outcome.name(), outcome.reason());
        log.warning("%s: %s", basis.step().words(), why);
        boolean isFinal = !(basis.step() instanceof Step.TakeAway);
        // What a role leaves may hold a removal up for a moment.
        failed.put(name, new Failed(basis, why, after(isFinal ? NEVER : retry), isFinal));
      }
    }
  }

  private static long after(Duration pause) {
    return System.nanoTime() + pause.toNanos();
  }

  /**
   * Publishes how far it has come.
   *
   * @param current the plugin that is being brought; empty if there is none
   */
  private void publish(
      SortedMap<String, Want> wants, SortedMap<String, Step> plan, String current) {
    SortedMap<String, String> whyNot = new TreeMap<>();
    for (String name : plan.keySet()) {
      Failed before = failed.get(name);
      whyNot.put(
          name,
          name.equals(current)
              ? "its file is being fetched, or its swap is under way"
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
                  "push a version that works, or unpin it; polisctl plugin diff shows all of them"));
    }
  }
}
