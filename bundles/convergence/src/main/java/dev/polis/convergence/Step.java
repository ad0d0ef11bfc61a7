package dev.polis.convergence;

import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.store.PluginOrigin;
import dev.polis.plugins.store.StoredPlugin;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** Is one step of a node towards the wanted version of one plugin. */
sealed interface Step {

  /** Returns a description for the log. */
  String words();

  /** Runs the wanted plugin. */
  record Bring(Want want) implements Step {
    @Override
    public String words() {
      return "%s, wanted %s".formatted(want.label(), want.scope());
    }
  }

  /** Runs the distribution's version again, since the cluster has no wish any more. */
  record GoBack(StoredPlugin own) implements Step {
    @Override
    public String words() {
      return "%s %s of the distribution, because the cluster no longer wants another version"
          .formatted(own.symbolicName(), own.version());
    }
  }

  /** Removes a plugin that the distribution lacks and the cluster no longer wants. */
  record TakeAway(StoredPlugin plugin) implements Step {
    @Override
    public String words() {
      return "removal of %s %s, because the cluster no longer wants it"
          .formatted(plugin.symbolicName(), plugin.version());
    }
  }

  /**
   * Determines the next steps.
   *
   * @param inventory the running plugins
   * @param wants the wanted plugins
   * @return the steps by symbolic name, without plugins that run as wanted or that an operator
   *     overruled
   */
  static SortedMap<String, Step> plan(LocalInventory inventory, SortedMap<String, Want> wants) {
    SortedMap<String, Step> plan = new TreeMap<>();
    TreeSet<String> names = new TreeSet<>(wants.keySet());
    inventory.running().forEach(plugin -> names.add(plugin.symbolicName()));
    for (String name : names) {
      Optional<Step> step =
          wants.containsKey(name)
              ? bring(inventory, wants.get(name))
              : undo(inventory, inventory.running(name).orElseThrow());
      step.ifPresent(each -> plan.put(name, each));
    }
    return plan;
  }

  private static Optional<Step> bring(LocalInventory inventory, Want want) {
    String name = want.plugin().symbolicName();
    boolean runs = inventory.running(name).filter(want.plugin()::equals).isPresent();
    return runs || isOverruled(inventory, want) ? Optional.empty() : Optional.of(new Bring(want));
  }

  /** Returns whether an operator runs another version on this node against the cluster's wish. */
  static boolean isOverruled(LocalInventory inventory, Want want) {
    return inventory
        .origin(want.plugin().symbolicName())
        .filter(new PluginOrigin.Overruling(want.plugin().digest())::equals)
        .isPresent();
  }

  private static Optional<Step> undo(LocalInventory inventory, StoredPlugin running) {
    String name = running.symbolicName();
    boolean brought =
        inventory.origin(name).filter(PluginOrigin.FromCluster.class::isInstance).isPresent();
    // Without a known distribution no plugin is removed, since the node would lose an organ of it.
    if (!brought || inventory.distribution().isEmpty()) {
      return Optional.empty();
    }
    Optional<Step> back = inventory.distribution(name).map(GoBack::new);
    return back.isPresent() ? back : Optional.of(new TakeAway(running));
  }
}
