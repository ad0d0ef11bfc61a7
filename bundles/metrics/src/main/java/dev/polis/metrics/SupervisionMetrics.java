package dev.polis.metrics;

import dev.polis.supervision.RunState;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Supervisor;
import dev.polis.supervision.Transition;
import dev.polis.supervision.TransitionListener;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** Reports the states, restarts and state changes of the runnables of the supervision tree. */
final class SupervisionMetrics implements MetricsCollector, TransitionListener, AutoCloseable {
  private record Change(RunState from, RunState to) {}

  /** The name of the gauge of states. */
  static final String STATE = "polis_supervisor_dn_state";

  private final Supervisor supervisor;
  private final Map<String, Map<Change, LongAdder>> changes = new ConcurrentHashMap<>();
  private final Supervisor.Registration registration;

  SupervisionMetrics(Supervisor supervisor) {
    this.supervisor = supervisor;
    this.registration = supervisor.listen(this);
  }

  @Override
  public void changed(Transition transition) {
    changes
        .computeIfAbsent(transition.dn(), dn -> new ConcurrentHashMap<>())
        .computeIfAbsent(new Change(transition.from(), transition.to()), change -> new LongAdder())
        .increment();
  }

  /** Drops the counts of a removed runnable, so that they do not accumulate. */
  @Override
  public void removed(String dn) {
    changes.remove(dn);
  }

  @Override
  public List<MetricSnapshot> read() {
    GaugeSnapshot.Builder states =
        MetricFactory.gauge(STATE, "1 for the state that the runnable is in, 0 for others");
    GaugeSnapshot.Builder overdue =
        MetricFactory.gauge(
            "polis_supervisor_dn_overdue",
            "1 if the runnable has not returned 5 s after its cancellation");
    CounterSnapshot.Builder restarts =
        MetricFactory.counter("polis_supervisor_dn_restarts", "Restarts of the runnable");
    List<RunnableStatus> all = supervisor.runnables().peek().orElse(List.of());
    Set<String> overdueNames =
        all.stream()
            .filter(RunnableStatus::overdue)
            .map(RunnableStatus::dn)
            .collect(Collectors.toSet());
    for (RunnableStatus status : newest(all)) {
      for (RunState state : RunState.values()) {
        states.dataPoint(
            MetricFactory.gaugePoint(
                MetricFactory.oneIf(status.state() == state),
                "dn",
                status.dn(),
                "state",
                state.name()));
      }
      overdue.dataPoint(
          MetricFactory.gaugePoint(
              MetricFactory.oneIf(overdueNames.contains(status.dn())), "dn", status.dn()));
      restarts.dataPoint(MetricFactory.counterPoint(status.restarts(), "dn", status.dn()));
    }
    return List.of(states.build(), overdue.build(), restarts.build(), transitions());
  }

  /**
   * Keeps one entry for each name, since a runnable that ignores its cancellation may be listed
   * beside its successor.
   */
  private static Collection<RunnableStatus> newest(List<RunnableStatus> all) {
    Map<String, RunnableStatus> byName = new LinkedHashMap<>();
    for (RunnableStatus status : all) {
      byName.merge(
          status.dn(), status, (one, other) -> other.since().isBefore(one.since()) ? one : other);
    }
    return byName.values();
  }

  private CounterSnapshot transitions() {
    CounterSnapshot.Builder transitions =
        MetricFactory.counter(
            "polis_supervisor_dn_state_transitions",
            "Changes of state of the runnable since the metrics organ started");
    changes.forEach(
        (dn, ofOne) ->
            ofOne.forEach(
                (change, times) ->
                    transitions.dataPoint(
                        MetricFactory.counterPoint(
                            times.sum(),
                            "dn",
                            dn,
                            "old_state",
                            change.from().name(),
                            "new_state",
                            change.to().name()))));
    return transitions.build();
  }

  @Override
  public void close() {
    registration.close();
  }
}
