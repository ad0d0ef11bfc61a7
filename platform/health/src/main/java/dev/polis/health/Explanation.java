package dev.polis.health;

import java.time.Instant;
import java.util.List;

/**
 * How one thing of this node stands, and why.
 *
 * @param kind what it is
 * @param name what it is called
 * @param level how well it does its work
 * @param standing how it stands now, in one sentence
 * @param facts what else is worth knowing about it, one sentence each
 * @param causes why, one sentence each: the root cause first
 * @param remedies what to do, that against the root cause first
 * @param consequences what else does not do its work because of it, one sentence each
 * @param since since when it stands so
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

  /** What can be explained. */
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
