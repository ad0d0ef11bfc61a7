package dev.polis.health.calls;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.OpenWait;
import dev.polis.health.Explainer;
import dev.polis.health.Explanation;
import dev.polis.health.HealthCauses;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthStatus;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.health.Condition;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Kind;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import dev.polis.wire.health.Wait;
import java.time.Instant;
import java.util.List;
import java.util.Set;

/**
 * Answers the methods {@code GetHealth} and {@code Explain} for two services: one for operators
 * with a certificate, one for clients of the debug listener.
 */
public final class HealthCalls {
  /** The longest name in an answer; all real names are shorter. */
  private static final int LONGEST_NAME = 256;

  private final HealthRegistry health;
  private final BootReport boot;
  private final Explainer explainer;

  /**
   * Creates the answers from the node's health table.
   *
   * @param health knows organs and roles
   * @param supervisor knows runnables
   * @param boot knows open waits
   */
  public HealthCalls(HealthRegistry health, Supervisor supervisor, BootReport boot) {
    this.health = health;
    this.boot = boot;
    this.explainer = new Explainer(health, supervisor, boot);
  }

  /**
   * Returns the status of all organs and roles, and the open waits.
   *
   * @return the answer to {@code GetHealth}
   */
  public GetHealthResponse health() {
    List<HealthStatus> statuses = explainer.statuses();
    HealthCauses causes = new HealthCauses(statuses, health::needs);
    return GetHealthResponse.newBuilder()
        .addAllStatuses(statuses.stream().map(status -> wire(status, causes)).toList())
        .addAllWaits(boot.openWaits().stream().map(HealthCalls::wire).toList())
        .build();
  }

  /**
   * Explains one thing.
   *
   * @param request has its name
   * @return the answer to {@code Explain}
   * @throws RpcException INVALID_ARGUMENT without a name, NOT_FOUND for an unknown name
   */
  public ExplainResponse explain(ExplainRequest request) {
    String name = request.getName().strip();
    if (name.isEmpty()) {
      throw RpcException.invalid(
          "name is empty: name an organ, a role, a plugin, a wait, or \"node\"; there are "
              + names());
    }
    if (name.length() > LONGEST_NAME) {
      throw RpcException.invalid(
          "name has %d characters; nothing here has more than %d"
              .formatted(name.length(), LONGEST_NAME));
    }
    return explainer
        .explain(name)
        .map(HealthCalls::wire)
        .orElseThrow(
            () ->
                RpcException.notFound(
                    "this node has nothing that is called \"%s\"; there are %s"
                        .formatted(name, names())));
  }

  private String names() {
    return String.join(", ", explainer.names());
  }

  private static ExplainResponse wire(Explanation explanation) {
    return ExplainResponse.newBuilder()
        .setKind(kind(explanation.kind()))
        .setName(explanation.name())
        .setLevel(wire(explanation.level()))
        .setStanding(explanation.standing())
        .addAllFacts(explanation.facts())
        .addAllCauses(explanation.causes())
        .addAllRemedies(explanation.remedies())
        .addAllConsequences(explanation.consequences())
        .setSince(wire(explanation.since()))
        .build();
  }

  private static Status wire(HealthStatus status, HealthCauses causes) {
    return Status.newBuilder()
        .setName(status.name())
        .setKind(status.kind() == HealthKind.ORGAN ? Kind.KIND_ORGAN : Kind.KIND_ROLE)
        .setLevel(wire(status.level()))
        .setCode(status.code())
        .setReason(status.reason())
        .setRemedy(status.remedy())
        .setSince(wire(status.since()))
        .addAllConditions(
            status.conditions().stream()
                .map(condition -> wire(condition, causes.roots(status, condition)))
                .toList())
        .build();
  }

  private static Condition wire(HealthCondition condition, Set<String> roots) {
    return Condition.newBuilder()
        .setLevel(wire(condition.level()))
        .setCode(condition.code())
        .setReason(condition.reason())
        .setRemedy(condition.remedy())
        .addAllBecause(roots)
        .build();
  }

  private static Wait wire(OpenWait wait) {
    return Wait.newBuilder()
        .setName(wait.name())
        .setDetail(wait.detail())
        .setLasted(
            Duration.newBuilder()
                .setSeconds(wait.lasted().toSeconds())
                .setNanos(wait.lasted().getNano()))
        .build();
  }

  private static Timestamp wire(Instant time) {
    return Timestamp.newBuilder()
        .setSeconds(time.getEpochSecond())
        .setNanos(time.getNano())
        .build();
  }

  private static Level wire(HealthLevel level) {
    return switch (level) {
      case UP -> Level.LEVEL_UP;
      case DEGRADED -> Level.LEVEL_DEGRADED;
      case WAITING -> Level.LEVEL_WAITING;
      case DOWN -> Level.LEVEL_DOWN;
    };
  }

  private static Kind kind(Explanation.Kind kind) {
    return switch (kind) {
      case ORGAN -> Kind.KIND_ORGAN;
      case ROLE -> Kind.KIND_ROLE;
      case NODE -> Kind.KIND_NODE;
      case WAIT -> Kind.KIND_WAIT;
      case RUNNABLE -> Kind.KIND_RUNNABLE;
      case CONDITION -> Kind.KIND_CONDITION;
      case PLUGIN -> Kind.KIND_PLUGIN;
      case PLATFORM -> Kind.KIND_PLATFORM;
    };
  }
}
