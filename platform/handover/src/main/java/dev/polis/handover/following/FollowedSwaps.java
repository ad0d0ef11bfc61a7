package dev.polis.handover.following;

import dev.polis.plugins.swap.Replacement;
import dev.polis.plugins.swap.SwapListener;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;

/** Keeps proxies while the swap engine replaces the bundles behind them. */
final class FollowedSwaps implements SwapListener {
  private final BundleContext context;
  private final FollowedServices services;

  /** Swaps under way, by the number of the predecessor. */
  private final Map<Long, ServiceSwap> swaps = new ConcurrentHashMap<>();

  FollowedSwaps(BundleContext context, FollowedServices services) {
    this.context = context;
    this.services = services;
  }

  @Override
  public void begins(List<Replacement> replacements) {
    for (Replacement each : replacements) {
      Bundle predecessor = context.getBundle(each.predecessor());
      Bundle successor = context.getBundle(each.successor());
      if (predecessor != null && successor != null) {
        swaps.put(each.predecessor(), services.begin(predecessor, successor));
      }
    }
  }

  @Override
  public void switches(List<Replacement> replacements) {
    for (Replacement each : replacements) {
      Bundle next = context.getBundle(each.successor());
      ServiceSwap swap = swaps.getOrDefault(each.predecessor(), swaps.get(each.successor()));
      // A bundle that does not provide yet gets the calls when it does.
      if (swap != null && next != null && swap.providedBy(next)) {
        swap.switchTo(next);
      }
    }
  }

  @Override
  public void ends(List<Replacement> replacements, boolean applied) {
    replacements.stream()
        .flatMapToLong(each -> LongStream.of(each.predecessor(), each.successor()))
        .mapToObj(swaps::remove)
        .forEach(
            swap -> {
              if (swap != null) {
                swap.close();
              }
            });
  }
}
