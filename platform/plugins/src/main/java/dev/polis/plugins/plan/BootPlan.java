package dev.polis.plugins.plan;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Holds the order in which bundles start; the reverse is the order of their stop. Immutable. */
public final class BootPlan {
  private final List<List<BundleManifest>> levels;
  private final Map<BundleManifest, Map<BundleManifest, Set<String>>> providers;

  private BootPlan(
      List<List<BundleManifest>> levels,
      Map<BundleManifest, Map<BundleManifest, Set<String>>> providers) {
    this.levels = levels;
    this.providers = providers;
  }

  /**
   * Derives the order of start.
   *
   * @param bundles all bundles of the node; the plan omits fragments
   * @param given the services that exist before the first bundle starts
   * @return the plan
   * @throws BootPlanException if a mandatory need has no offer, or bundles wait for each other
   */
  public static BootPlan of(Collection<BundleManifest> bundles, Collection<Offer> given)
      throws BootPlanException {
    List<BundleManifest> startable =
        bundles.stream()
            .filter(bundle -> !bundle.fragment())
            .sorted(Comparator.comparing(BundleManifest::symbolicName))
            .toList();
    List<String> problems = new ArrayList<>();
    Map<BundleManifest, Map<BundleManifest, Set<String>>> providers = new LinkedHashMap<>();
    for (BundleManifest bundle : startable) {
      providers.put(bundle, providersOf(bundle, startable, given, problems));
    }
    List<List<BundleManifest>> levels = levels(providers, problems);
    if (!problems.isEmpty()) {
      throw new BootPlanException(problems);
    }
    return new BootPlan(levels, providers);
  }

  /**
   * @return bundles that may start at the same time, level after level; sorted by name within a
   *     level
   */
  public List<List<BundleManifest>> levels() {
    return levels;
  }

  /**
   * @return all bundles, each after everything it needs
   */
  public List<BundleManifest> order() {
    return levels.stream().flatMap(List::stream).toList();
  }

  /**
   * @return the plan for people: a paragraph for each level, and below each bundle its needs with
   *     their providers
   */
  public String text() {
    StringBuilder text = new StringBuilder();
    for (int level = 0; level < levels.size(); level++) {
      text.append("level ").append(level).append('\n');
      for (BundleManifest bundle : levels.get(level)) {
        text.append("  ")
            .append(bundle.symbolicName())
            .append(' ')
            .append(bundle.version())
            .append('\n');
        providers
            .get(bundle)
            .forEach(
                (provider, needs) ->
                    needs.forEach(
                        need ->
                            text.append("      ")
                                .append(need)
                                .append("  from ")
                                .append(provider)
                                .append('\n')));
      }
    }
    return text.toString();
  }

  /**
   * Draws the plan in the language of Graphviz, with an arrow from each bundle to each of its
   * providers, labelled with the services.
   *
   * @return a graph that {@code dot -Tsvg} takes
   */
  public String dot() {
    StringBuilder graph = new StringBuilder("digraph plan {\n  rankdir=BT\n  node [shape=box]\n");
    for (BundleManifest bundle : order()) {
      graph.append("  \"%s\"\n".formatted(bundle.symbolicName()));
      providers
          .get(bundle)
          .forEach(
              (provider, needs) ->
                  graph.append(
                      "  \"%s\" -> \"%s\" [label=\"%s\"]\n"
                          .formatted(
                              bundle.symbolicName(),
                              provider.symbolicName(),
                              String.join("\\n", labels(needs)))));
    }
    return graph.append("}\n").toString();
  }

  private static List<String> labels(Set<String> needs) {
    return needs.stream().map(need -> need.substring(need.lastIndexOf('.') + 1)).toList();
  }

  private static Map<BundleManifest, Set<String>> providersOf(
      BundleManifest bundle,
      List<BundleManifest> all,
      Collection<Offer> given,
      List<String> problems) {
    Map<BundleManifest, Set<String>> found =
        new TreeMap<>(
            Comparator.comparing(BundleManifest::symbolicName)
                .thenComparing(BundleManifest::version));
    for (Need need : bundle.needs()) {
      // Also for an optional need: a user that is bound to the provider itself gets no proxy.
      all.stream()
          .filter(other -> other != bundle && other.offers().stream().anyMatch(Offer::follows))
          .filter(other -> followed(need, all, given))
          .forEach(
              follower ->
                  found
                      .computeIfAbsent(follower, f -> new TreeSet<>())
                      .add("proxy of " + need.what()));
      boolean met = given.stream().anyMatch(need::metBy) || offers(bundle, need);
      if (need.optional() || met) {
        continue;
      }
      List<BundleManifest> offering = all.stream().filter(other -> offers(other, need)).toList();
      if (offering.isEmpty()) {
        problems.add(missing(bundle, need, all));
      }
      offering.forEach(
          provider -> found.computeIfAbsent(provider, p -> new TreeSet<>()).add(need.what()));
    }
    return found;
  }

  private static boolean followed(Need need, List<BundleManifest> all, Collection<Offer> given) {
    return given.stream().anyMatch(need::followedBy)
        || all.stream().anyMatch(each -> each.offers().stream().anyMatch(need::followedBy));
  }

  private static boolean offers(BundleManifest bundle, Need need) {
    return bundle.offers().stream().anyMatch(need::metBy);
  }

  private static String missing(BundleManifest bundle, Need need, List<BundleManifest> all) {
    String contract = need.contract();
    List<String> knowing =
        all.stream()
            .filter(
                other ->
                    other != bundle && !contract.isEmpty() && other.imports().contains(contract))
            .map(BundleManifest::symbolicName)
            .toList();
    String who =
        knowing.isEmpty()
            ? "no other bundle knows its package"
            : "its package is known to "
                + String.join(", ", knowing)
                + ", but none of them provides it";
    String remedy =
        knowing.isEmpty()
            ? "Build %s again for this platform, if it was built for another one; else add"
                .formatted(bundle)
            : "Add";
    return "%s needs the %s, which no bundle provides (%s). %s a bundle that provides it, or make the reference in %s optional."
        .formatted(bundle, need.what(), who, remedy, bundle);
  }

  private static List<List<BundleManifest>> levels(
      Map<BundleManifest, Map<BundleManifest, Set<String>>> providers, List<String> problems) {
    List<List<BundleManifest>> levels = new ArrayList<>();
    Set<BundleManifest> placed = new LinkedHashSet<>();
    Set<BundleManifest> left = new LinkedHashSet<>(providers.keySet());
    while (!left.isEmpty()) {
      List<BundleManifest> level =
          left.stream()
              .filter(bundle -> placed.containsAll(providers.get(bundle).keySet()))
              .toList();
      if (level.isEmpty()) {
        problems.add(circle(left, providers));
        return levels;
      }
      levels.add(level);
      placed.addAll(level);
      level.forEach(left::remove);
    }
    return List.copyOf(levels);
  }

  /** Finds a circle: each remaining bundle waits for another one, so each path ends in a circle. */
  private static String circle(
      Set<BundleManifest> left, Map<BundleManifest, Map<BundleManifest, Set<String>>> providers) {
    Map<BundleManifest, Integer> position = new HashMap<>();
    List<BundleManifest> path = new ArrayList<>();
    BundleManifest at = left.iterator().next();
    while (!position.containsKey(at)) {
      position.put(at, path.size());
      path.add(at);
      at = providers.get(at).keySet().stream().filter(left::contains).findFirst().orElseThrow();
    }
    List<BundleManifest> loop = path.subList(position.get(at), path.size());
    List<String> steps = new ArrayList<>();
    for (int i = 0; i < loop.size(); i++) {
      BundleManifest waiting = loop.get(i);
      BundleManifest provider = loop.get((i + 1) % loop.size());
      steps.add(
          waiting
              + " needs the "
              + String.join(" and the ", providers.get(waiting).get(provider))
              + " of "
              + provider);
    }
    return "these bundles wait for each other: "
        + String.join("; ", steps)
        + ". Make one of their references optional, or move the needed service into a separate bundle.";
  }
}
