package dev.polis.plugins.swap;

import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.metatype.UnfitSettingException;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoreFailure;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import dev.polis.plugins.swap.SwapGate.Baseline;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.wiring.BundleWiring;

/** Executes one order on one thread, and reverts it if the node does not work afterwards. */
final class SwapRun {
  private final SwapParts parts;
  private final SwapSettings settings;
  private final SwapNotes notes;
  private final FrameworkBundles bundles;
  private final Components components;
  private final ResourceGuard guard;
  private final SwapGate gate;
  private final SwapTargets targets;
  private final ClusterDecisions decisions;
  private final OrganConfigurations configurations;
  private final Announcements announcements;
  private final SwapCancel cancel;
  private final Leftovers left;
  private final RetiredVersions versions;
  private final Consumer<SwapStage> stages;

  private SwapRecord record;

  /** The changes so far, which a revert undoes. */
  private final List<Bundle> installed = new ArrayList<>();

  private final List<Bundle> stopped = new ArrayList<>();

  /** The bundles that could not be stopped or removed, with their faults. */
  private final Map<Bundle, String> stuck = new LinkedHashMap<>();

  private List<Replacement> replacements = List.of();

  /** The replacements whose predecessor did not return in a revert. */
  private final List<Replacement> kept = new ArrayList<>();

  private Baseline before = Baseline.NOTHING;
  private boolean begun;
  private boolean announced;
  private boolean switched;

  /** The configuration changes of the swap; null if there is none. */
  private Configured configuredOrNull;

  /** Holds the former configurations and the keys that interpret their texts. */
  private record Configured(
      TreeSet<ConfigurationSet.Key> keys, ConfigurationSet former, ConfigurationKeys types) {}

  SwapRun(
      SwapParts parts,
      SwapSettings settings,
      SwapRecord record,
      SwapCancel cancel,
      Leftovers left,
      RetiredVersions versions,
      Consumer<SwapStage> stages) {
    this.parts = parts;
    this.settings = settings;
    this.record = record;
    this.cancel = cancel;
    this.left = left;
    this.versions = versions;
    this.stages = stages;
    this.notes = SwapNotes.of(parts.store());
    this.bundles = new FrameworkBundles(parts.context());
    this.components = new Components(parts.components());
    this.guard = new ResourceGuard(settings.limits());
    this.gate = new SwapGate(parts.health(), components, guard, settings);
    this.targets = new SwapTargets(parts.store(), parts.check());
    this.decisions = new ClusterDecisions(parts.store());
    this.configurations = new OrganConfigurations(parts.configurations(), parts.commandLine());
    this.announcements = new Announcements(parts.listeners(), parts.audit(), settings.stop());
  }

  SwapRecord record() {
    return record;
  }

  /** Executes an order and returns its outcome, also after each failure. */
  SwapOutcome run(SwapOrder order, SwapOptions options) throws InterruptedException {
    try {
      return prepared(order, options);
    } catch (SwapRefusedException | PluginStoreException e) {
      return abandoned(new SwapOutcome.Refused(e.getMessage()));
    } catch (IOException e) {
      return abandoned(new SwapOutcome.Refused(StoreFailure.words(e)));
    } catch (InterruptedException e) {
      return begun
          ? new SwapOutcome.CouldNotRevert("the swap was interrupted during its revert")
          : abandoned(new SwapOutcome.Refused("the swap was interrupted"));
    } catch (RuntimeException | Error e) {
      return begun
          ? new SwapOutcome.CouldNotRevert(failed(e))
          : abandoned(new SwapOutcome.Refused(failed(e)));
    }
  }

  private static String failed(Throwable e) {
    return "the swap failed: " + RootCauses.of(e);
  }

  private String whoCancelled() {
    return cancel.who().map(who -> "cancelled by " + who).orElse("the node stops");
  }

  /**
   * Removes the bundles that were installed only for a check of their wiring. A failure because of
   * the cancellation, such as an interrupted read, counts as cancelled.
   */
  private SwapOutcome abandoned(SwapOutcome outcome) throws InterruptedException {
    cancel.settle();
    for (Bundle each : installed) {
      bundles.uninstall(each, settings.stop()).ifPresent(parts.audit()::note);
    }
    left.add(installed, stuck);
    return cancel.who().isEmpty()
        ? outcome
        : new SwapOutcome.Reverted(whoCancelled() + "; nothing had changed yet");
  }

  private SwapOutcome prepared(SwapOrder order, SwapOptions options)
      throws SwapRefusedException, PluginStoreException, IOException, InterruptedException {
    Generation current =
        parts
            .store()
            .current()
            .orElseThrow(
                () ->
                    new SwapRefusedException("this node has no generation to change; restart it"));
    left.remove();
    if (order instanceof SwapOrder.Remove removal) {
      new RemovalCheck(parts.store(), parts.health()).require(removal, current);
    }
    SwapTargets.Target target = targets.of(order, options, current);
    record = record.towards(target.generation().fingerprint());
    SwapChange change =
        SwapChange.between(current, target.generation(), this::running, components::readers);
    record = record.about(change.names());
    if (target.generation().fingerprint().equals(current.fingerprint())) {
      return new SwapOutcome.NothingToDo(
          "generation %d is what was ordered".formatted(current.number()));
    }
    stages.accept(new SwapStage.Fetched(SwapTargets.names(change.coming())));
    stages.accept(new SwapStage.Verified(target.verified()));
    if (!(order instanceof SwapOrder.Replace)) {
      // Replace verifies its plugin itself.
      targets.requireTrusted(change.coming());
    }
    cancel.check();
    decisions.require(options, current, target.generation());
    requireNotFailed(options);
    targets.requireStartable(target.generation());
    configurations.requireCommandLine(targets.keys(current), targets.keys(target.generation()));
    resolve(change);
    List<BlastLine> lines =
        BlastRadius.of(change, bundles, components.configurations(), parts.children().get());
    stages.accept(new SwapStage.Radius(lines));
    if (options.dryRun()) {
      return abandoned(new SwapOutcome.NothingToDo("a dry run changes nothing"));
    }
    cancel.check();
    decisions.note(options, current, target.generation());
    return carriedOut(current, target.generation(), change);
  }

  private void requireNotFailed(SwapOptions options) throws SwapRefusedException, IOException {
    Optional<SwapRecord> failed = notes.failed(record.target());
    if (failed.isPresent() && !options.force()) {
      throw new SwapRefusedException(
          "this made the node unhealthy at %s: %s; nothing has changed since; repair the plugin, or give --force to try again"
              .formatted(failed.get().began(), failed.get().reason()));
    }
  }

  private void resolve(SwapChange change)
      throws SwapRefusedException, PluginStoreException, IOException {
    for (StoredPlugin plugin : change.coming()) {
      try {
        installed.add(bundles.install(parts.store().verified(plugin)));
      } catch (BundleException e) {
        throw new SwapRefusedException(
            "%s is no bundle that the framework takes: %s"
                .formatted(plugin.symbolicName(), RootCauses.of(e)),
            e);
      }
    }
    List<String> missing = installed.isEmpty() ? List.of() : bundles.resolve(installed);
    if (!missing.isEmpty()) {
      throw new SwapRefusedException(String.join("; ", missing));
    }
    stages.accept(
        new SwapStage.Resolved(
            installed.isEmpty()
                ? "no bundle comes, and the values fit their keys"
                : "the platform has all packages and services that it needs"));
  }

  /** Returns the bundles of a name in the current generation. */
  private List<Bundle> running(String symbolicName) {
    return bundles.named(symbolicName).stream().filter(each -> !left.contains(each)).toList();
  }

  private SwapOutcome carriedOut(Generation current, Generation target, SwapChange change)
      throws IOException, InterruptedException {
    before = gate.baseline(change.going());
    guard.begin();
    // From here on the disk has the record of a running swap, and a start undoes it.
    begin();
    Generation committed;
    try {
      stages.accept(new SwapStage.Installed(SwapTargets.names(change.coming())));
      replacements = replacements(change);
      announced = true;
      announcements.begin(replacements);
      prepare(change, target);
      start();
      beside();
      whole(switchOver(change, current, target));
      committed = commit(target);
    } catch (SwapFailedException e) {
      return cancel.who().isPresent()
          ? reverted(whoCancelled(), false)
          : reverted(e.getMessage(), e.isGenerationAtFault());
    } catch (InterruptedException e) {
      return reverted(whoCancelled(), false);
    } catch (RuntimeException | Error e) {
      return reverted(failed(e), false);
    }
    return retired(change, committed);
  }

  /** Records the begin of the swap, so that a start of the process undoes it. */
  private void begin() throws IOException {
    record = record.as("installed", "");
    notes.underWay(record);
    begun = true;
  }

  private void passed(String stage) throws SwapFailedException {
    try {
      record = record.as(stage, "");
      notes.furtherOn(record);
    } catch (IOException e) {
      throw SwapFailedException.elsewhere(
          "the journal of the swap cannot be written: " + StoreFailure.words(e), e);
    }
  }

  private List<Replacement> replacements(SwapChange change) {
    List<Replacement> found = new ArrayList<>();
    for (Bundle successor : installed) {
      for (Bundle predecessor : change.going()) {
        if (predecessor.getSymbolicName().equals(successor.getSymbolicName())) {
          found.add(
              new Replacement(
                  successor.getSymbolicName(), predecessor.getBundleId(), successor.getBundleId()));
        }
      }
    }
    return found;
  }

  /** Gives successors their configuration before their start. */
  private void prepare(SwapChange change, Generation target) throws SwapFailedException {
    if (change.configured().isEmpty()) {
      return;
    }
    try {
      for (Bundle each : installed) {
        configurations.prepare(
            each, change.configured(), target.configuration(), targets.keys(target));
      }
    } catch (IOException | PluginStoreException | UnfitSettingException e) {
      throw unchangeable(e);
    }
  }

  private static SwapFailedException unchangeable(Exception e) {
    return SwapFailedException.elsewhere(
        "the configuration cannot be changed: " + RootCauses.of(e), e);
  }

  private void start() throws SwapFailedException, InterruptedException {
    if (installed.isEmpty()) {
      return;
    }
    passed("starting");
    long began = System.nanoTime();
    for (Bundle each : installed) {
      cancel.during(() -> ClassPreload.load(each));
    }
    for (Bundle each : installed) {
      cancel.during(() -> bundles.start(each, settings.start(), guard::excess));
    }
    stages.accept(new SwapStage.Started(since(began)));
  }

  private void beside() throws SwapFailedException, InterruptedException {
    if (installed.isEmpty()) {
      return;
    }
    passed("gate beside the predecessor");
    stages.accept(new SwapStage.Proved(cancel.during(() -> gate.beside(installed, before))));
  }

  private Map<ConfigurationSet.Key, Object> switchOver(
      SwapChange change, Generation current, Generation target)
      throws SwapFailedException, InterruptedException {
    passed("switching");
    long began = System.nanoTime();
    switched = true;
    announcements.switchOver(replacements);
    for (Bundle each : change.going()) {
      if (each.getState() != Bundle.ACTIVE && each.getState() != Bundle.STARTING) {
        continue;
      }
      stopped.add(each);
      // A predecessor that hangs or throws does no harm: its successor already serves the calls.
      cancel
          .during(() -> bundles.stop(each, settings.stop()))
          .ifPresent(trouble -> stuck.put(each, trouble));
    }
    Map<ConfigurationSet.Key, Object> values = configure(change, current, target);
    stages.accept(new SwapStage.Switched(since(began)));
    return values;
  }

  private Map<ConfigurationSet.Key, Object> configure(
      SwapChange change, Generation current, Generation target) throws SwapFailedException {
    if (change.configured().isEmpty()) {
      return Map.of();
    }
    try {
      TreeSet<ConfigurationSet.Key> keys = new TreeSet<>(change.configured());
      configuredOrNull = new Configured(keys, current.configuration(), targets.keys(current));
      return configurations.apply(keys, target.configuration(), targets.keys(target));
    } catch (IOException | PluginStoreException | UnfitSettingException e) {
      throw unchangeable(e);
    }
  }

  private void whole(Map<ConfigurationSet.Key, Object> values)
      throws SwapFailedException, InterruptedException {
    passed("gate");
    stages.accept(new SwapStage.Gated(cancel.during(() -> gate.whole(installed, values, before))));
  }

  private Generation commit(Generation target) throws SwapFailedException, InterruptedException {
    passed("committing");
    cancel.tooLate();
    try {
      return parts.store().commit(target.origin(), target.plugins(), target.configuration());
    } catch (IOException e) {
      throw SwapFailedException.elsewhere(
          "the new generation cannot be written: " + StoreFailure.words(e), e);
    } catch (PluginStoreException e) {
      throw SwapFailedException.elsewhere(
          "the new generation cannot be written: " + e.getMessage(), e);
    }
  }

  /** Is a step at the end of a swap. */
  @FunctionalInterface
  private interface Step {
    void take() throws InterruptedException;
  }

  /** Runs a step; its exception does not prevent the other steps. */
  private static void attempt(List<String> trouble, Step step) throws InterruptedException {
    try {
      step.take();
    } catch (RuntimeException | Error e) {
      trouble.add(failed(e));
    }
  }

  /** Removes the predecessors; a failure here does not affect the new generation. */
  private SwapOutcome retired(SwapChange change, Generation committed) throws InterruptedException {
    List<String> trouble = new ArrayList<>(stuck.values());
    try {
      attempt(trouble, () -> stages.accept(new SwapStage.Committed(committed.number())));
      attempt(trouble, () -> remove(change.going(), trouble));
      attempt(trouble, () -> tidyUp(trouble, change.going()));
    } finally {
      left.add(change.going(), stuck);
      announcements.end(replacements, true);
    }
    return new SwapOutcome.Applied(committed.number(), String.join("; ", trouble));
  }

  private void remove(List<Bundle> going, List<String> trouble) throws InterruptedException {
    for (Bundle each : going) {
      if (!stuck.containsKey(each)) {
        uninstall(each, guard.known(), trouble);
      }
    }
    int gone = bundles.refresh(going);
    if (!going.isEmpty()) {
      stages.accept(new SwapStage.Retired(gone + " uninstalled"));
    }
  }

  /**
   * Uninstalls a stopped bundle, and follows its classes.
   *
   * @param suspects the threads that may belong to it
   */
  private void uninstall(Bundle bundle, Set<Thread> suspects, List<String> trouble)
      throws InterruptedException {
    if (bundle.getState() == Bundle.UNINSTALLED) {
      return;
    }
    Optional<ClassLoader> loader =
        Optional.ofNullable(bundle.adapt(BundleWiring.class)).map(BundleWiring::getClassLoader);
    List<Thread> running = new ThreadsLeft(suspects, List.of(bundle)).running();
    Optional<String> why = bundles.uninstall(bundle, settings.stop());
    why.ifPresent(trouble::add);
    why.ifPresent(each -> stuck.putIfAbsent(bundle, each));
    if (why.isEmpty()) {
      String name = bundle.getSymbolicName() + " " + bundle.getVersion();
      loader.ifPresent(classes -> versions.follow(name, classes, running));
    }
  }

  private void tidyUp(List<String> trouble, List<Bundle> gone) {
    try {
      configurations.forget(gone);
      notes.forgive(record.target());
      parts.store().collect();
    } catch (IOException | PluginStoreException e) {
      trouble.add("the store could not be tidied up: " + RootCauses.of(e));
    }
  }

  private SwapOutcome reverted(String why, boolean generationAtFault) throws InterruptedException {
    cancel.settle();
    record = record.as("reverting", why);
    List<String> trouble = new ArrayList<>();
    List<String> ended = new ArrayList<>();
    try {
      attempt(ended, () -> stages.accept(new SwapStage.Reverting(why)));
      if (generationAtFault) {
        remember(why);
      }
      if (switched) {
        attempt(trouble, () -> switchBack(trouble));
      }
      attempt(ended, () -> removeSuccessors(ended));
    } finally {
      left.add(installed, stuck);
      if (announced) {
        announceEnd();
      }
    }
    boolean gone = installed.stream().allMatch(each -> each.getState() == Bundle.UNINSTALLED);
    boolean back = trouble.isEmpty() && gone;
    trouble.addAll(ended);
    String reason = trouble.isEmpty() ? why : why + "; " + String.join("; ", trouble);
    return back ? new SwapOutcome.Reverted(reason) : new SwapOutcome.CouldNotRevert(reason);
  }

  private void announceEnd() throws InterruptedException {
    announcements.end(undone(), false);
    if (!kept.isEmpty()) {
      announcements.end(kept, true);
    }
  }

  private List<Replacement> undone() {
    return replacements.stream().filter(each -> !kept.contains(each)).toList();
  }

  private void switchBack(List<String> trouble) throws InterruptedException {
    List<Bundle> successors = List.copyOf(installed);
    Map<ConfigurationSet.Key, Object> values;
    try {
      values = restore(trouble);
      restart(trouble);
    } finally {
      keep(trouble);
    }
    // Before any wait: the predecessors have their state again.
    announcements.switchOver(undone().stream().map(Replacement::reversed).toList());
    awaitBack(successors, values, trouble);
  }

  /**
   * Keeps the successors of predecessors that do not run again, since an organ in another version
   * is better than none.
   */
  private void keep(List<String> trouble) {
    List<Bundle> lost = new ArrayList<>();
    for (Replacement pair : replacements) {
      Bundle predecessor = parts.context().getBundle(pair.predecessor());
      if (stopped.contains(predecessor) && predecessor.getState() != Bundle.ACTIVE) {
        Bundle successor = parts.context().getBundle(pair.successor());
        lost.add(predecessor);
        kept.add(pair);
        installed.remove(successor);
        trouble.add(
            "%s %s runs on in its place until the process is restarted"
                .formatted(successor.getSymbolicName(), successor.getVersion()));
      }
    }
    left.add(lost, stuck);
  }

  private void removeSuccessors(List<String> ended) throws InterruptedException {
    ThreadsLeft threads = new ThreadsLeft(guard.came(), installed);
    for (Bundle each : installed) {
      Optional<String> why = bundles.stop(each, settings.stop());
      why.ifPresent(ended::add);
      why.ifPresent(trouble -> stuck.put(each, trouble));
      uninstall(each, guard.came(), ended);
    }
    forget(ended);
    bundles.refresh(installed);
    threads.words().ifPresent(ended::add);
  }

  private void forget(List<String> trouble) {
    try {
      configurations.forget(installed);
    } catch (IOException e) {
      trouble.add("the configuration of the successors stays: " + RootCauses.of(e));
    }
  }

  private void remember(String why) {
    try {
      notes.failed(record.as("failed", why));
    } catch (IOException e) {
      parts.audit().note("the node cannot record that this generation failed: " + RootCauses.of(e));
    }
  }

  private Map<ConfigurationSet.Key, Object> restore(List<String> trouble) {
    Configured former = configuredOrNull;
    if (former == null) {
      return Map.of();
    }
    try {
      return configurations.apply(former.keys(), former.former(), former.types());
    } catch (IOException | UnfitSettingException e) {
      trouble.add("the former configuration cannot be restored: " + RootCauses.of(e));
      return Map.of();
    }
  }

  private void awaitBack(
      List<Bundle> successors, Map<ConfigurationSet.Key, Object> values, List<String> trouble)
      throws InterruptedException {
    try {
      gate.back(
          stopped.stream().filter(each -> each.getState() == Bundle.ACTIVE).toList(),
          successors,
          values,
          before);
    } catch (SwapFailedException e) {
      trouble.add("the former plugins do not come back: " + e.getMessage());
    }
  }

  private void restart(List<String> trouble) throws InterruptedException {
    for (Bundle each : stopped) {
      try {
        bundles.start(each, settings.start(), Optional::empty);
      } catch (SwapFailedException e) {
        trouble.add("the predecessor did not come back: " + e.getMessage());
      }
    }
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }
}
