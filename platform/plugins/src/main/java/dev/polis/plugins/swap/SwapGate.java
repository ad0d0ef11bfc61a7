package dev.polis.plugins.swap;

import dev.polis.health.HealthKind;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthStatus;
import dev.polis.plugins.manifest.BundlePlugin;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.swap.Components.Idle;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;

/**
 * Decides whether the node works after a swap: the whole node has to be healthy for a while without
 * a break, before a deadline. A fault from before the swap does not count.
 */
final class SwapGate {
  /**
   * The pause between two looks at the components, whose states cause no event. It is short
   * compared with the time for which the node has to be healthy.
   */
  private static final Duration POLL = Duration.ofMillis(50);

  /** Holds the faults from before the swap, which do not count. */
  record Baseline(Set<String> unhealthy, Set<String> idle) {
    /** The baseline before the first look. */
    static final Baseline NOTHING = new Baseline(Set.of(), Set.of());
  }

  /**
   * Describes one fault.
   *
   * @param reason a text for people
   * @param hopeless true if a wait does not help
   */
  private record Trouble(String reason, boolean hopeless) {}

  private final HealthRegistry health;
  private final Components components;
  private final ResourceGuard guard;
  private final SwapSettings settings;

  SwapGate(
      HealthRegistry health, Components components, ResourceGuard guard, SwapSettings settings) {
    this.health = health;
    this.components = components;
    this.guard = guard;
    this.settings = settings;
  }

  /** Examines the node before the swap. */
  Baseline baseline(Collection<Bundle> predecessors) {
    Set<String> idle = new HashSet<>();
    components.idle(predecessors).forEach(each -> idle.add(each.name()));
    components.failed().forEach(each -> idle.add(each.name()));
    return new Baseline(
        statuses()
            .filter(status -> !status.level().works())
            .map(SwapGate::name)
            .collect(Collectors.toSet()),
        idle);
  }

  /**
   * Waits until the successors work beside their predecessors.
   *
   * @return the findings, as a text for people
   * @throws SwapFailedException if they do not; its message names the reason
   */
  String beside(Collection<Bundle> successors, Baseline before)
      throws SwapFailedException, InterruptedException {
    Set<String> organs =
        successors.stream()
            .flatMap(SwapGate::organs)
            .filter(organ -> !settings.alone().contains(organ))
            .collect(Collectors.toSet());
    if (organs.isEmpty()) {
      return await(
          () -> Stream.concat(excess(), troubles(components.idle(successors), before)),
          Duration.ZERO,
          "activated");
    }
    return await(
        () ->
            Stream.of(
                    excess(),
                    troubles(components.idle(successors), before),
                    unhealthy(before)
                        .filter(status -> status.kind() == HealthKind.ORGAN)
                        .filter(status -> organs.contains(status.name()))
                        .map(SwapGate::trouble))
                .flatMap(each -> each),
        settings.healthy(),
        "well beside " + (organs.size() == 1 ? "its predecessor" : "their predecessors"));
  }

  /**
   * Waits until the whole node works without the predecessors, and has read the new configurations.
   *
   * @param values the values that components must have read
   * @return the findings, as a text for people
   * @throws SwapFailedException if it does not; its message names the reason
   */
  String whole(
      Collection<Bundle> successors, Map<ConfigurationSet.Key, Object> values, Baseline before)
      throws SwapFailedException, InterruptedException {
    return await(
        () ->
            Stream.of(
                    excess(),
                    troubles(components.idle(successors), before),
                    troubles(components.failed(), before),
                    components.unread(values, List.of()).map(each -> new Trouble(each, false)),
                    unhealthy(before).map(SwapGate::trouble))
                .flatMap(each -> each),
        settings.healthy(),
        "the node was well" + notCounted(before));
  }

  /**
   * Waits until the former components are active again and have read their former configuration.
   *
   * @param successors the successors that still run, with their own configuration
   * @throws SwapFailedException if this does not happen; its message names the reason
   */
  void back(
      Collection<Bundle> predecessors,
      Collection<Bundle> successors,
      Map<ConfigurationSet.Key, Object> values,
      Baseline before)
      throws SwapFailedException, InterruptedException {
    await(
        () ->
            Stream.of(
                    troubles(components.idle(predecessors), before),
                    troubles(components.failed(), before),
                    components.unread(values, successors).map(each -> new Trouble(each, false)))
                .flatMap(each -> each)
                // Declarative Services activate a component again that failed with the new
                // configuration.
                .map(each -> new Trouble(each.reason(), false)),
        Duration.ZERO,
        "active again");
  }

  private String await(Supplier<Stream<Trouble>> look, Duration needed, String found)
      throws SwapFailedException, InterruptedException {
    long began = System.nanoTime();
    long well = began;
    while (true) {
      Optional<Trouble> trouble = first(look);
      long now = System.nanoTime();
      if (trouble.isEmpty() && now - well >= needed.toNanos()) {
        return needed.isZero() ? found : found + " for " + Spans.text(needed);
      }
      if (trouble.isPresent()) {
        well = now;
      }
      if (trouble.filter(Trouble::hopeless).isPresent()) {
        throw SwapFailedException.notWell(trouble.get().reason());
      }
      if (now - began > settings.deadline().toNanos() + needed.toNanos()) {
        throw SwapFailedException.notWell(overdue(trouble, needed));
      }
      pause();
    }
  }

  /**
   * Waits until the next look, or until the process uses too much: code that allocates without end
   * fills the smallest heap within half a second, and then the JVM ends.
   */
  private void pause() throws InterruptedException {
    long end = System.nanoTime() + POLL.toNanos();
    do {
      Thread.sleep(LimitedCall.MEASURE);
    } while (System.nanoTime() < end && guard.excess().isEmpty());
  }

  private String overdue(Optional<Trouble> trouble, Duration needed) {
    String now = trouble.map(Trouble::reason).orElse("it is well at this moment");
    return "it was not well for %s without a break within %s: %s"
        .formatted(Spans.text(needed), Spans.text(settings.deadline()), now);
  }

  private static Optional<Trouble> first(Supplier<Stream<Trouble>> look) {
    List<Trouble> all = look.get().toList();
    return all.stream().filter(Trouble::hopeless).findFirst().or(() -> all.stream().findFirst());
  }

  private static Stream<Trouble> troubles(List<Idle> idle, Baseline before) {
    return idle.stream()
        .filter(each -> !before.idle().contains(each.name()))
        .map(each -> new Trouble(each.reason(), each.failed()));
  }

  private Stream<HealthStatus> unhealthy(Baseline before) {
    return statuses()
        .filter(status -> !status.level().works())
        .filter(status -> !before.unhealthy().contains(name(status)));
  }

  private Stream<Trouble> excess() {
    return guard.excess().stream().map(each -> new Trouble(each, true));
  }

  private static Trouble trouble(HealthStatus status) {
    return new Trouble(name(status) + " is " + status.level() + ": " + status.reason(), false);
  }

  private static String notCounted(Baseline before) {
    return before.unhealthy().isEmpty()
        ? ""
        : " but for " + String.join(", ", before.unhealthy()) + ", which was not well before";
  }

  private Stream<HealthStatus> statuses() {
    return health.all().peek().orElse(List.of()).stream();
  }

  private static String name(HealthStatus status) {
    return "the " + status.kind().name().toLowerCase(Locale.ROOT) + " " + status.name();
  }

  /** Names the organs of a bundle by its manifest. */
  private static Stream<String> organs(Bundle bundle) {
    return BundlePlugin.of(bundle) instanceof BundlePlugin.Organ(PluginManifest manifest)
        ? manifest.provides().stream().filter(Provided.Organ.class::isInstance).map(Provided::name)
        : Stream.empty();
  }
}
