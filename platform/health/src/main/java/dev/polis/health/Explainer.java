package dev.polis.health;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.OpenWait;
import dev.polis.health.Explanation.Kind;
import dev.polis.supervision.RunState;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Supervisor;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Explains the state of an organ, a role, a plugin, the node or an open wait, down to the root
 * cause.
 */
public final class Explainer {
  private static final String NODE = "node";

  /** How long what is known of plugins is used again: each look reads and verifies all of them. */
  private static final Duration KNOWN = Duration.ofSeconds(5);

  private final HealthRegistry health;
  private final Supervisor supervisor;
  private final BootReport boot;
  private final InstantSource clock;
  private volatile Known known = new Known(Instant.MIN, List.of());

  /**
   * Creates an explainer.
   *
   * @param health knows organs and roles
   * @param supervisor knows runnables
   * @param boot knows open waits
   */
  public Explainer(HealthRegistry health, Supervisor supervisor, BootReport boot) {
    this(health, supervisor, boot, InstantSource.system());
  }

  Explainer(HealthRegistry health, Supervisor supervisor, BootReport boot, InstantSource clock) {
    this.health = health;
    this.supervisor = supervisor;
    this.boot = boot;
    this.clock = clock;
  }

  /** Holds what was known of plugins at a time. */
  private record Known(Instant when, List<PluginStatus> plugins) {
    /** A clock may also go back. */
    boolean isNew(Instant now) {
      return Duration.between(when, now).abs().compareTo(KNOWN) < 0;
    }
  }

  private List<PluginStatus> knownPlugins() {
    Instant now = clock.instant();
    Known found = known.isNew(now) ? known : new Known(now, health.plugins());
    known = found;
    return found.plugins();
  }

  /**
   * Explains the state of one thing.
   *
   * @param name an organ, a role, the symbolic name of a plugin, {@code node}, the distinguished
   *     name of a runnable, the code of a condition, or the awaited event of an open wait; in upper
   *     or lower case
   * @return empty if nothing has this name
   */
  public Optional<Explanation> explain(String name) {
    List<HealthStatus> statuses = statuses();
    HealthCauses causes = new HealthCauses(statuses, health::needs);
    if (name.equalsIgnoreCase(NODE)) {
      return Optional.of(node(statuses, causes));
    }
    List<PluginStatus> plugins = health.plugins();
    return status(name, statuses, causes, plugins)
        .or(() -> plugin(name, statuses, causes, plugins))
        .or(() -> roleOfNobody(name, plugins))
        .or(() -> runnable(name))
        .or(() -> condition(name, statuses))
        .or(() -> wait(name, causes));
  }

  /**
   * Returns the names that can be explained now.
   *
   * @return the names, without those of runnables and conditions
   */
  public List<String> names() {
    Stream<String> statuses = statuses().stream().map(HealthStatus::name);
    Stream<String> waits = boot.openWaits().stream().map(OpenWait::name);
    Stream<String> plugins =
        health.plugins().stream()
            .filter(plugin -> !plugin.provided().platform())
            .map(PluginStatus::symbolicName);
    return Stream.of(Stream.of(NODE), statuses, plugins, waits)
        .flatMap(each -> each)
        .distinct()
        .toList();
  }

  /**
   * Returns the present status of all organs and roles. A role that fails for a reason without a
   * known remedy has one that names its plugin.
   *
   * @return the statuses; empty before the first organ reports
   */
  public List<HealthStatus> statuses() {
    List<HealthStatus> all = health.all().peek().orElse(List.of());
    if (all.stream().noneMatch(Explainer::failsForItself)) {
      return all;
    }
    List<PluginStatus> plugins = knownPlugins();
    return all.stream()
        .map(status -> failsForItself(status) ? blamed(status, plugins) : status)
        .toList();
  }

  private static boolean failsForItself(HealthStatus status) {
    return status.kind() == HealthKind.ROLE
        && status.conditions().stream().anyMatch(Explainer::failsForItself);
  }

  private static boolean failsForItself(HealthCondition condition) {
    return condition.level() == HealthLevel.DOWN && SupervisedHealth.isVague(condition.remedy());
  }

  private static HealthStatus blamed(HealthStatus role, List<PluginStatus> plugins) {
    return providers(role, plugins).stream()
        .findFirst()
        .map(
            plugin ->
                HealthStatus.of(
                    role.name(),
                    role.kind(),
                    role.since(),
                    role.conditions().stream()
                        .map(each -> failsForItself(each) ? blamed(role, each, plugin) : each)
                        .toList()))
        .orElse(role);
  }

  private static HealthCondition blamed(
      HealthStatus role, HealthCondition condition, PluginStatus plugin) {
    return condition.withRemedy(
        "this is a failure of the plugin %s (%s): repair what it names, or go back to its former version (polisctl plugin rollback; plugin pin of a pushed one), or take the role away (polisctl node role remove NODE %s); %s"
            .formatted(plugin.symbolicName(), plugin.standing(), role.name(), condition.remedy()));
  }

  private Optional<Explanation> status(
      String name, List<HealthStatus> statuses, HealthCauses causes, List<PluginStatus> plugins) {
    return statuses.stream()
        .filter(status -> status.name().equalsIgnoreCase(name))
        .findFirst()
        .map(status -> status(status, causes, providers(status, plugins)));
  }

  private static List<PluginStatus> providers(HealthStatus status, List<PluginStatus> plugins) {
    return plugins.stream()
        .filter(plugin -> plugin.provided().has(status.kind(), status.name()))
        .toList();
  }

  private Explanation status(
      HealthStatus status, HealthCauses causes, List<PluginStatus> providers) {
    List<HealthStatus> chain = causes.chain(status);
    List<String> facts = new ArrayList<>(facts(status.conditions()));
    List<String> why = new ArrayList<>(reasons(chain, status, causes));
    List<String> remedies = new ArrayList<>(remedies(chain, causes));
    if (chain.getFirst().level() == HealthLevel.WAITING) {
      why.addAll(waits());
    }
    for (PluginStatus plugin : providers) {
      facts.add("plugin %s: %s".formatted(plugin.symbolicName(), plugin.standing()));
      facts.addAll(facts(plugin.conditions()));
      // The organ's own status already has the obstacle of its bundle.
      reasons(plugin).stream()
          .filter(reason -> why.stream().noneMatch(each -> each.contains(reason)))
          .forEach(reason -> why.add(plugin.symbolicName() + ": " + reason));
      remedies.addAll(remedies(plugin.conditions().stream()));
    }
    return new Explanation(
        status.kind() == HealthKind.ORGAN ? Kind.ORGAN : Kind.ROLE,
        status.name(),
        status.level(),
        standing(status.level()),
        facts,
        why,
        remedies.stream().distinct().toList(),
        consequences(
            causes.victims().stream().filter(each -> suffers(each, status, causes)).toList(),
            causes),
        status.since());
  }

  private static boolean suffers(HealthStatus victim, HealthStatus root, HealthCauses causes) {
    return victim.conditions().stream()
        .anyMatch(trouble -> causes.roots(victim, trouble).contains(root.name()));
  }

  private Optional<Explanation> plugin(
      String name, List<HealthStatus> statuses, HealthCauses causes, List<PluginStatus> plugins) {
    return plugins.stream()
        .filter(plugin -> plugin.symbolicName().equalsIgnoreCase(name))
        .findFirst()
        .map(plugin -> plugin(plugin, statuses, causes));
  }

  private Explanation plugin(
      PluginStatus plugin, List<HealthStatus> statuses, HealthCauses causes) {
    List<HealthStatus> provided =
        statuses.stream()
            .filter(status -> plugin.provided().has(status.kind(), status.name()))
            .toList();
    List<String> facts = new ArrayList<>(provisions(plugin, provided));
    facts.addAll(facts(plugin.conditions()));
    List<HealthStatus> chains =
        provided.stream().flatMap(status -> causes.chain(status).stream()).distinct().toList();
    Set<String> why = new LinkedHashSet<>(reasons(plugin));
    provided.stream()
        .flatMap(status -> reasons(causes.chain(status), status, causes).stream())
        .filter(reason -> why.stream().noneMatch(reason::contains))
        .toList()
        .forEach(why::add);
    HealthLevel worst =
        Stream.concat(Stream.of(plugin.level()), provided.stream().map(HealthStatus::level))
            .max(Comparator.naturalOrder())
            .orElseThrow();
    return new Explanation(
        plugin.provided().platform() ? Kind.PLATFORM : Kind.PLUGIN,
        plugin.symbolicName(),
        worst,
        plugin.standing(),
        facts,
        List.copyOf(why),
        Stream.concat(
                remedies(chains, causes).stream(), remedies(plugin.conditions().stream()).stream())
            .distinct()
            .toList(),
        List.of(),
        plugin.since());
  }

  /** Describes the state of each organ and role of a plugin on this node. */
  private static List<String> provisions(PluginStatus plugin, List<HealthStatus> provided) {
    List<String> lines = new ArrayList<>();
    for (String organ : new TreeSet<>(plugin.provided().organs())) {
      lines.add("it provides the organ " + organ + ", " + level(HealthKind.ORGAN, organ, provided));
    }
    for (String role : new TreeSet<>(plugin.provided().roles())) {
      lines.add("it provides the role " + role + ", " + level(HealthKind.ROLE, role, provided));
    }
    return lines;
  }

  private static String level(HealthKind kind, String name, List<HealthStatus> statuses) {
    return statuses.stream()
        .filter(status -> status.kind() == kind && status.name().equals(name))
        .findFirst()
        .map(status -> "which is " + status.level())
        .orElse(
            kind == HealthKind.ROLE
                ? "which the cluster has not given to this node"
                : "which does not report its health");
  }

  /** Explains a role that a plugin could run here but the cluster has not given to the node. */
  private Optional<Explanation> roleOfNobody(String name, List<PluginStatus> plugins) {
    for (PluginStatus plugin : plugins) {
      for (String role : plugin.provided().roles()) {
        if (role.equalsIgnoreCase(name)) {
          return Optional.of(roleOfNobody(role, plugin));
        }
      }
    }
    return Optional.empty();
  }

  private Explanation roleOfNobody(String role, PluginStatus plugin) {
    return new Explanation(
        Kind.ROLE,
        role,
        HealthLevel.WAITING,
        "it does not run: the cluster has not given it to this node",
        List.of("plugin %s provides it: %s".formatted(plugin.symbolicName(), plugin.standing())),
        reasons(plugin),
        Stream.concat(
                Stream.of("give it to the node with: polisctl node role add NODE " + role),
                remedies(plugin.conditions().stream()).stream())
            .toList(),
        List.of(),
        plugin.since());
  }

  private Explanation node(List<HealthStatus> statuses, HealthCauses causes) {
    HealthLevel worst =
        statuses.stream()
            .map(HealthStatus::level)
            .max(Comparator.naturalOrder())
            .orElse(HealthLevel.WAITING);
    List<HealthStatus> roots = causes.roots();
    List<String> why = roots.stream().flatMap(root -> own(root, causes)).distinct().toList();
    return new Explanation(
        Kind.NODE,
        NODE,
        worst,
        counts(statuses),
        List.of(),
        worst.works() ? why : Stream.concat(why.stream(), waits().stream()).toList(),
        remedies(roots, causes),
        consequences(causes.victims(), causes),
        since(roots.isEmpty() ? statuses : roots));
  }

  /** Returns the latest time at which one of some statuses took its present state. */
  private Instant since(List<HealthStatus> statuses) {
    return statuses.stream()
        .map(HealthStatus::since)
        .max(Comparator.naturalOrder())
        .orElseGet(clock::instant);
  }

  private static String counts(List<HealthStatus> statuses) {
    if (statuses.isEmpty()) {
      return "no organ has reported yet";
    }
    String levels =
        Stream.of(HealthLevel.values())
            .map(level -> count(level, statuses))
            .filter(text -> !text.isEmpty())
            .collect(Collectors.joining(", "));
    return "of %d organs and roles: %s".formatted(statuses.size(), levels);
  }

  private static String count(HealthLevel level, List<HealthStatus> statuses) {
    List<String> names =
        statuses.stream()
            .filter(status -> status.level() == level)
            .map(HealthStatus::name)
            .toList();
    if (names.isEmpty()) {
      return "";
    }
    return level == HealthLevel.UP
        ? names.size() + " UP"
        : "%d %s (%s)".formatted(names.size(), level, String.join(", ", names));
  }

  private Optional<Explanation> runnable(String dn) {
    return supervisor.runnables().peek().orElse(List.of()).stream()
        .filter(each -> each.dn().equalsIgnoreCase(dn))
        .findFirst()
        .map(this::runnable);
  }

  private Explanation runnable(RunnableStatus status) {
    return new Explanation(
        Kind.RUNNABLE,
        status.dn(),
        level(status),
        "it is %s and was started again %d times".formatted(status.state(), status.restarts()),
        level(status).works() ? List.of() : new Standing(supervisor.stack(status.dn())).lines(),
        List.of(
            status.lastError().isEmpty()
                ? "it has never failed"
                : "its last failure: " + SupervisedHealth.error(status)),
        level(status).works() ? List.of() : List.of(SupervisedHealth.remedy(status)),
        List.of(),
        status.since());
  }

  private static HealthLevel level(RunnableStatus status) {
    if (status.state() == RunState.DEAD) {
      return HealthLevel.DOWN;
    }
    return status.state() == RunState.HEALTHY || status.state() == RunState.DONE
        ? HealthLevel.UP
        : HealthLevel.WAITING;
  }

  /** Holds a condition and the status of its publisher. */
  private record Published(HealthCondition condition, HealthStatus status) {
    String publisher() {
      return "published by the %s %s"
          .formatted(status.kind().name().toLowerCase(Locale.ROOT), status.name());
    }
  }

  private static Optional<Explanation> condition(String code, List<HealthStatus> statuses) {
    List<Published> found =
        statuses.stream()
            .flatMap(
                status ->
                    status.conditions().stream()
                        .filter(condition -> condition.code().equalsIgnoreCase(code))
                        .map(condition -> new Published(condition, status)))
            .sorted(Comparator.comparing((Published each) -> each.condition().level()).reversed())
            .toList();
    return found.isEmpty() ? Optional.empty() : Optional.of(condition(found));
  }

  /** Explains the conditions of one code, the worst first. */
  private static Explanation condition(List<Published> found) {
    Published worst = found.getFirst();
    return new Explanation(
        Kind.CONDITION,
        worst.condition().code(),
        worst.condition().level(),
        found.stream()
            .map(each -> each.condition().reason())
            .distinct()
            .collect(Collectors.joining("; ")),
        List.of(),
        found.size() == 1
            ? List.of(worst.publisher())
            : found.stream()
                .map(each -> "%s: %s".formatted(each.publisher(), each.condition().reason()))
                .toList(),
        remedies(found.stream().map(Published::condition)),
        List.of(),
        worst.status().since());
  }

  private Optional<Explanation> wait(String name, HealthCauses causes) {
    String wanted = name.toLowerCase(Locale.ROOT);
    return boot.openWaits().stream()
        .filter(wait -> wait.name().toLowerCase(Locale.ROOT).contains(wanted))
        .findFirst()
        .map(wait -> wait(wait, causes));
  }

  private Explanation wait(OpenWait wait, HealthCauses causes) {
    List<HealthStatus> broken =
        causes.roots().stream().filter(root -> !root.level().works()).toList();
    return new Explanation(
        Kind.WAIT,
        wait.name(),
        HealthLevel.WAITING,
        "the node has waited %s s for it%s".formatted(wait.lasted().toSeconds(), detail(wait)),
        List.of(),
        broken.stream().flatMap(root -> own(root, causes)).distinct().toList(),
        remedies(broken, causes),
        List.of(),
        clock.instant().minus(wait.lasted()));
  }

  private List<String> waits() {
    return boot.openWaits().stream()
        .map(
            wait ->
                "the node has waited %d s for %s%s"
                    .formatted(wait.lasted().toSeconds(), wait.name(), detail(wait)))
        .toList();
  }

  private static String detail(OpenWait wait) {
    return wait.detail().isEmpty() ? "" : ": " + wait.detail();
  }

  private static String standing(HealthLevel level) {
    return switch (level) {
      case UP -> "it does its work";
      case DEGRADED -> "it does its work, but has a problem that you should repair";
      case WAITING -> "it does not do its work yet";
      case DOWN -> "it does not do its work";
    };
  }

  /** Returns the reasons of conditions that are UP, which are also worth showing. */
  private static List<String> facts(List<HealthCondition> conditions) {
    return conditions.stream()
        .filter(condition -> condition.level() == HealthLevel.UP)
        .map(HealthCondition::reason)
        .toList();
  }

  private static List<String> reasons(PluginStatus plugin) {
    return plugin.conditions().stream()
        .filter(condition -> condition.level() != HealthLevel.UP)
        .map(HealthCondition::reason)
        .toList();
  }

  /** Returns the reasons of a status for which it is itself the root. */
  private static Stream<String> own(HealthStatus status, HealthCauses causes) {
    return causes.own(status).stream().map(trouble -> reason(status, trouble));
  }

  private static String reason(HealthStatus status, HealthCondition trouble) {
    return status.name() + ": " + trouble.reason();
  }

  /**
   * Returns the roots and the status itself in full, and the statuses between them in one line
   * each.
   */
  private static List<String> reasons(
      List<HealthStatus> chain, HealthStatus asked, HealthCauses causes) {
    List<String> reasons = new ArrayList<>();
    for (HealthStatus status : chain) {
      if (status == asked) {
        status.conditions().stream()
            .filter(condition -> condition.level() != HealthLevel.UP)
            .forEach(condition -> reasons.add(reason(status, condition)));
      } else if (causes.isRoot(status)) {
        own(status, causes).forEach(reasons::add);
      } else {
        reasons.addAll(consequences(List.of(status), causes));
      }
    }
    return reasons.stream().distinct().toList();
  }

  /** Describes each victim and its roots in one line. */
  private static List<String> consequences(List<HealthStatus> victims, HealthCauses causes) {
    return victims.stream()
        .map(
            victim ->
                "%s is %s because of %s"
                    .formatted(
                        victim.name(),
                        victim.level(),
                        victim.conditions().stream()
                            .flatMap(trouble -> causes.roots(victim, trouble).stream())
                            .distinct()
                            .collect(Collectors.joining(" and "))))
        .toList();
  }

  /** Returns the remedies of the roots among some statuses, since their victims need none. */
  private static List<String> remedies(List<HealthStatus> statuses, HealthCauses causes) {
    return remedies(statuses.stream().flatMap(status -> causes.own(status).stream()));
  }

  private static List<String> remedies(Stream<HealthCondition> conditions) {
    return conditions
        .map(HealthCondition::remedy)
        .filter(remedy -> !remedy.isEmpty())
        .distinct()
        .toList();
  }
}
