package dev.polis.health;

import java.time.Instant;
import java.util.List;

/**
 * Describes the state of one thing of this node and its causes.
 *
 * @param kind its kind
 * @param name its name
 * @param level the quality of its work
 * @param standing its present state, in one sentence
 * @param facts further facts about it, one sentence each
 * @param causes the causes, one sentence each, the root cause first
 * @param remedies the remedies, that of the root cause first
 * @param consequences the things that do not work because of it, one sentence each
 * @param since the time since which it has this state
 */
public record Explanation(
    Kind kind,
    String name,
    HealthLevel level,
    String standing,
    List<String> facts,
    List<String> causes,
    List<String> remedies,
    List<String> consequences,
    Instant since) {

  /** Lists the kinds of things with an explanation. */
  public enum Kind {
    /** A part of the node program, which is one bundle. */
    ORGAN,
    /** A job that the cluster gave to this node. */
    ROLE,
    /** The node itself. */
    NODE,
    /** Something the node waits for. */
    WAIT,
    /** A task in the supervision tree. */
    RUNNABLE,
    /** A condition that an organ or a role has published. */
    CONDITION,
    /** A bundle that provides organs or roles. */
    PLUGIN,
    /** A bundle of the platform, which stands still while the process lives. */
    PLATFORM
  }

  /** Copies the lists. */
  public Explanation {
    facts = List.copyOf(facts);
    causes = List.copyOf(causes);
    remedies = List.copyOf(remedies);
    consequences = List.copyOf(consequences);
  }
}
