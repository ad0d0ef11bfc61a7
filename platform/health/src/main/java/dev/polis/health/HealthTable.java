package dev.polis.health;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.health.SupervisedHealth.Dated;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Supervisor;
import dev.polis.supervision.Transition;
import dev.polis.supervision.TransitionListener;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Implements the registry, for the service, for tests and for programs without a framework. */
public final class HealthTable implements HealthRegistry, AutoCloseable {
  /** Identifies an organ or a role. */
  private record Key(HealthKind kind, String name) {}

  private final Supervisor supervisor;
  private final OrganDirectory organs;
  private final InstantSource clock;
  private final Instant began;
  private final Supervisor.Registration registration;

  /** The number of changes; a follower computes the list again after each. */
  private final MutableValue<Long> changes = new MutableValue<>(0L);

  /** The open scopes, the newest last. Guarded by this. */
  private final List<Scope> open = new ArrayList<>();

  /** The time at which the last scope of a name was closed. Guarded by this. */
  private final Map<String, Instant> left = new HashMap<>();

  private HealthTable(Supervisor supervisor, OrganDirectory organs, InstantSource clock) {
    this.supervisor = supervisor;
    this.organs = organs;
    this.clock = clock;
    this.began = clock.instant();
    this.registration = supervisor.listen(new Follower());
  }

  /**
   * Opens a registry.
   *
   * @param supervisor the tree of the observed runnables
   * @param organs knows the organs that should have a scope
   * @param clock gives the times of changes
   * @return the registry; its opener closes it
   */
  public static HealthTable open(
      Supervisor supervisor, OrganDirectory organs, InstantSource clock) {
    return new HealthTable(supervisor, organs, clock);
  }

  /**
   * Opens a registry that expects no organ.
   *
   * @param supervisor the tree of the observed runnables
   * @return the registry; its opener closes it
   */
  public static HealthTable open(Supervisor supervisor) {
    return open(supervisor, OrganDirectory.empty(), InstantSource.system());
  }

  @Override
  public HealthScope open(HealthKind kind, String name, String supervisionDn) {
    Scope scope = new Scope(new Key(kind, name), supervisionDn, clock.instant());
    synchronized (this) {
      open.add(scope);
    }
    changed();
    return scope;
  }

  @Override
  public Value<List<HealthStatus>> all() {
    return Values.map(changes, count -> compute());
  }

  @Override
  public Set<String> needs(String organ) {
    return organs.needs(organ);
  }

  @Override
  public List<PluginStatus> plugins() {
    return organs.plugins();
  }

  /** Reports a change that this table cannot observe itself, such as one of a bundle. */
  public void changed() {
    changes.update(count -> count.orElse(0L) + 1);
  }

  /** Ends the watch of the supervision tree. */
  @Override
  public void close() {
    registration.close();
  }

  private List<HealthStatus> compute() {
    List<RunnableStatus> runnables = supervisor.runnables().peek().orElse(List.of());
    Instant now = clock.instant();
    Map<Key, List<Scope>> scopes = scopes();
    Set<String> present =
        scopes.keySet().stream()
            .filter(key -> key.kind() == HealthKind.ORGAN)
            .map(Key::name)
            .collect(Collectors.toSet());
    Map<String, String> places = places(scopes);
    Stream<HealthStatus> there =
        scopes.entrySet().stream()
            .map(
                each ->
                    joined(each.getKey(), each.getValue())
                        .status(
                            runnables,
                            places,
                            at -> SupervisedHealth.standing(at, supervisor, now)));
    Stream<HealthStatus> missing = organs.absent(present).stream().map(this::status);
    return Stream.concat(there, missing)
        .sorted(Comparator.comparing(HealthStatus::kind).thenComparing(HealthStatus::name))
        .toList();
  }

  /** Returns the scopes that count: an organ's newest one, all of a role. */
  private synchronized Map<Key, List<Scope>> scopes() {
    Map<Key, List<Scope>> scopes = new LinkedHashMap<>();
    for (Scope scope : open) {
      List<Scope> same = scopes.computeIfAbsent(scope.key, _ -> new ArrayList<>());
      if (scope.key.kind() == HealthKind.ORGAN) {
        same.clear();
      }
      same.add(scope);
    }
    return scopes;
  }

  private static ScopedHealth joined(Key key, List<Scope> scopes) {
    return new ScopedHealth(
        key.name(),
        key.kind(),
        scopes.stream().map(scope -> scope.dn).filter(dn -> !dn.isEmpty()).distinct().toList(),
        scopes.stream().flatMap(scope -> scope.published().stream()).toList(),
        scopes.getLast().opened);
  }

  /** Returns the owner of each subtree. */
  private static Map<String, String> places(Map<Key, List<Scope>> scopes) {
    Map<String, String> places = new HashMap<>();
    scopes.forEach((key, same) -> same.forEach(scope -> places.put(scope.dn, key.name())));
    places.remove("");
    return places;
  }

  private synchronized HealthStatus status(OrganDirectory.Absent organ) {
    return HealthStatus.of(
        organ.name(),
        HealthKind.ORGAN,
        left.getOrDefault(organ.name(), began),
        List.of(
            organ.condition().level() == HealthLevel.DOWN
                // The organ itself is stopped or broken, whatever the state of others.
                ? organ.condition().dueTo(organ.name())
                : organ.condition()));
  }

  private void remove(Scope scope) {
    synchronized (this) {
      if (open.remove(scope) && scope.key.kind() == HealthKind.ORGAN) {
        left.put(scope.key.name(), clock.instant());
      }
    }
    changed();
  }

  /** Counts each change of the supervision tree. */
  private final class Follower implements TransitionListener {
    @Override
    public void changed(Transition transition) {
      HealthTable.this.changed();
    }

    @Override
    public void removed(String dn) {
      HealthTable.this.changed();
    }
  }

  /** Is the scope of one instance of an organ or a role. */
  private final class Scope implements HealthScope {
    private final Key key;
    private final String dn;
    private final Instant opened;

    /** The conditions by code. Guarded by itself. */
    private final Map<String, Dated> conditions = new LinkedHashMap<>();

    Scope(Key key, String dn, Instant opened) {
      this.key = key;
      this.dn = dn;
      this.opened = opened;
    }

    @Override
    public void set(HealthCondition condition) {
      synchronized (conditions) {
        Dated former = conditions.get(condition.code());
        if (former != null && former.condition().equals(condition)) {
          return;
        }
        boolean same = former != null && former.condition().level() == condition.level();
        Instant since = same ? former.since() : clock.instant();
        conditions.put(condition.code(), new Dated(condition, since));
      }
      changed();
    }

    @Override
    public void clear(String code) {
      synchronized (conditions) {
        if (conditions.remove(code) == null) {
          return;
        }
      }
      changed();
    }

    @Override
    public void close() {
      remove(this);
    }

    List<Dated> published() {
      synchronized (conditions) {
        return List.copyOf(conditions.values());
      }
    }
  }
}
