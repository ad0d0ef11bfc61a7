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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;

/** Carries out one order, from one thread, and takes it back if the node is not well with it. */
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
  private final Consumer<SwapStage> stages;

  private SwapRecord record;

  /** What has been changed so far; a revert undoes just that. */
  private final List<Bundle> installed = new ArrayList<>();

  private final List<Bundle> stopped = new ArrayList<>();
  private List<Replacement> replacements = List.of();
  private Baseline before = Baseline.NOTHING;
  private boolean announced;
  private boolean switched;

  /** What the swap has configured; null while it has configured nothing. */
  private Configured configuredOrNull;

  /** Configurations that were changed: the former ones, and how their texts are read. */
  private record Configured(
      TreeSet<ConfigurationSet.Key> keys, ConfigurationSet former, ConfigurationKeys types) {}

  SwapRun(
      SwapParts parts,
      SwapSettings settings,
      SwapRecord record,
      SwapCancel cancel,
      Consumer<SwapStage> stages) {
    this.parts = parts;
    this.settings = settings;
    this.record = record;
    this.cancel = cancel;
    this.stages = stages;
    this.notes = SwapNotes.of(parts.store());
    this.bundles = new FrameworkBundles(parts.context());
    this.components = new Components(parts.components());
    this.guard = new ResourceGuard(settings.limits());
    this.gate = new SwapGate(parts.health(), components, guard, settings);
    this.targets = new SwapTargets(parts.store(), parts.check());
    this.decisions = new ClusterDecisions(parts.store());
    this.configurations = new OrganConfigurations(parts.configurations(), parts.commandLine());
    this.announcements = new Announcements(parts.listeners(), parts.audit());
  }

  SwapRecord record() {
    return record;
  }

  /** Carries out an order; whatever happens, the outcome says so. */
  SwapOutcome run(SwapOrder order, SwapOptions options) throws InterruptedException {
    try {
      return prepared(order, options);
    } catch (SwapRefusedException e) {
      return abandoned(new SwapOutcome.Refused(e.getMessage()));
    } catch (PluginStoreException e) {
      return abandoned(new SwapOutcome.Refused(e.getMessage()));
    } catch (IOException e) {
      return abandoned(new SwapOutcome.Refused(StoreFailure.words(e)));
    } catch (InterruptedException e) {
      return abandoned(new SwapOutcome.Refused("the swap was interrupted"));
    }
  }

  private String whoCancelled() {
    return cancel.who().map(who -> "cancelled by " + who).orElse("the node stops");
  }

  /**
   * Removes what was installed only to see whether it can be wired. Whatever failed because the
   * swap was cancelled, such as a read that was interrupted, counts as cancelled.
   */
  private SwapOutcome abandoned(SwapOutcome outcome) throws InterruptedException {
    cancel.settle();
    for (Bundle each : installed) {
      Optional<String> left = bundles.uninstall(each, settings.stop());
      left.ifPresent(parts.audit()::note);
    }
    installed.clear();
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
    if (order instanceof SwapOrder.Remove removal) {
      new RemovalCheck(parts.store(), parts.health()).require(removal, current);
    }
    SwapTargets.Target target = targets.of(order, options, current);
    record = record.towards(target.generation().fingerprint());
    SwapChange change = SwapChange.between(current, target.generation(), bundles);
    record = record.about(change.names());
    if (target.generation().fingerprint().equals(current.fingerprint())) {
      return new SwapOutcome.NothingToDo(
          "generation %d is what was ordered".formatted(current.number()));
    }
    stages.accept(new SwapStage.Fetched(SwapTargets.names(change.coming())));
    stages.accept(new SwapStage.Verified(target.verified()));
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
          "the node was not well with this at %s: %s; nothing has changed since. Mend the plugin, or say --force to try again"
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

  private SwapOutcome carriedOut(Generation current, Generation target, SwapChange change)
      throws IOException, InterruptedException {
    before = gate.baseline(change.going());
    guard.begin();
    // From here on the disk says that a swap is under way, and a start undoes it.
    begin();
    stages.accept(new SwapStage.Installed(SwapTargets.names(change.coming())));
    replacements = replacements(change);
    replacements.addAll(reconfigured(change));
    Generation committed;
    try {
      announced = true;
      announcements.begin(replacements);
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
    } catch (RuntimeException e) {
      return reverted("the swap failed: " + RootCauses.of(e), false);
    }
    return retired(change, committed);
  }

  /** Writes down that a swap begins, so that a start of the process undoes it. */
  private void begin() throws IOException {
    record = record.as("installed", "");
    notes.underWay(record);
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

  /** Returns the bundles that stay and read a configuration that changes: each replaces itself. */
  private List<Replacement> reconfigured(SwapChange change) {
    Set<String> pids =
        change.configured().stream().map(ConfigurationSet.Key::pid).collect(Collectors.toSet());
    Set<Long> going = change.going().stream().map(Bundle::getBundleId).collect(Collectors.toSet());
    return components.configurations().stream()
        .filter(
            each -> List.of(each.description.configurationPid).stream().anyMatch(pids::contains))
        .map(each -> each.description.bundle)
        .filter(bundle -> !going.contains(bundle.id))
        .map(bundle -> new Replacement(bundle.symbolicName, bundle.id, bundle.id))
        .distinct()
        .toList();
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
      Optional<String> trouble = cancel.during(() -> bundles.stop(each, settings.stop()));
      if (trouble.isPresent()) {
        throw SwapFailedException.elsewhere(trouble.get(), null);
      }
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
      throw SwapFailedException.elsewhere(
          "the configuration cannot be changed: " + RootCauses.of(e), e);
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
      Generation committed =
          parts.store().commit(target.origin(), target.plugins(), target.configuration());
      stages.accept(new SwapStage.Committed(committed.number()));
      return committed;
    } catch (IOException e) {
      throw SwapFailedException.elsewhere(
          "the new generation cannot be written: " + StoreFailure.words(e), e);
    } catch (PluginStoreException e) {
      throw SwapFailedException.elsewhere(
          "the new generation cannot be written: " + e.getMessage(), e);
    }
  }

  /** Removes the predecessors; what goes wrong here changes nothing about the new generation. */
  private SwapOutcome retired(SwapChange change, Generation committed) throws InterruptedException {
    List<String> left = new ArrayList<>();
    for (Bundle each : change.going()) {
      bundles.uninstall(each, settings.stop()).ifPresent(left::add);
    }
    if (!change.going().isEmpty()) {
      bundles.refresh(change.going());
      stages.accept(new SwapStage.Retired(change.going().size() + " uninstalled"));
    }
    try {
      notes.forgive(record.target());
      parts.store().collect();
    } catch (IOException | PluginStoreException e) {
      left.add("the store could not be tidied up: " + RootCauses.of(e));
    }
    announcements.end(replacements, true);
    return new SwapOutcome.Applied(committed.number(), String.join("; ", left));
  }

  private SwapOutcome reverted(String why, boolean generationAtFault) throws InterruptedException {
    cancel.settle();
    stages.accept(new SwapStage.Reverting(why));
    record = record.as("reverting", why);
    List<String> left = new ArrayList<>();
    if (generationAtFault) {
      remember(why);
    }
    ThreadsLeft threads = new ThreadsLeft(guard.came(), installed);
    if (switched) {
      Map<ConfigurationSet.Key, Object> values = restore(left);
      restart(left);
      // Before anything is waited for: the predecessors have their state again.
      announcements.switchOver(replacements.stream().map(Replacement::reversed).toList());
      awaitBack(values, left);
    }
    List<String> ended = new ArrayList<>();
    for (Bundle each : installed) {
      bundles.stop(each, settings.stop()).ifPresent(ended::add);
      bundles.uninstall(each, settings.stop()).ifPresent(ended::add);
    }
    bundles.refresh(installed);
    threads.words().ifPresent(ended::add);
    if (announced) {
      announcements.end(replacements, false);
    }
    boolean gone = installed.stream().allMatch(each -> each.getState() == Bundle.UNINSTALLED);
    boolean back = left.isEmpty() && gone;
    left.addAll(ended);
    String reason = left.isEmpty() ? why : why + "; " + String.join("; ", left);
    return back ? new SwapOutcome.Reverted(reason) : new SwapOutcome.CouldNotRevert(reason);
  }

  private void remember(String why) {
    try {
      notes.failed(record.as("failed", why));
    } catch (IOException e) {
      parts.audit().note("that this generation failed cannot be remembered: " + RootCauses.of(e));
    }
  }

  private Map<ConfigurationSet.Key, Object> restore(List<String> left) {
    Configured former = configuredOrNull;
    if (former == null) {
      return Map.of();
    }
    try {
      return configurations.apply(former.keys(), former.former(), former.types());
    } catch (IOException | UnfitSettingException e) {
      left.add("the former configuration cannot be restored: " + RootCauses.of(e));
      return Map.of();
    }
  }

  private void awaitBack(Map<ConfigurationSet.Key, Object> values, List<String> left)
      throws InterruptedException {
    try {
      gate.back(stopped, values, before);
    } catch (SwapFailedException e) {
      left.add("what ran before does not come back: " + e.getMessage());
    }
  }

  private void restart(List<String> left) throws InterruptedException {
    for (Bundle each : stopped) {
      try {
        bundles.start(each, settings.start(), Optional::empty);
      } catch (SwapFailedException e) {
        left.add("the predecessor did not come back: " + e.getMessage());
      }
    }
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }
}
