package dev.polis.ctl.console;

import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthResponse;
import java.time.Instant;

/** Holds what a node says of itself, or why it says nothing. */
sealed interface ConsoleFacts {

  /** Nothing was asked yet. */
  record Unasked() implements ConsoleFacts {}

  /**
   * The node has answered.
   *
   * @param node the explanation of the whole node
   * @param health of its organs and roles, and its waits
   */
  record Answer(ExplainResponse node, GetHealthResponse health) implements ConsoleFacts {}

  /** The node has not answered, for a reason that is a sentence. */
  record Silence(String why) implements ConsoleFacts {}

  /**
   * Holds what one question has found out.
   *
   * @param node the id of the node, or a word for it
   * @param address where the node was asked
   * @param at the time of the answer
   */
  record Asked(String node, String address, Instant at, ConsoleFacts facts) {}
}
