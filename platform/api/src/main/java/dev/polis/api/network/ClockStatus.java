package dev.polis.api.network;

import java.time.Duration;
import java.time.Instant;

/** Describes whether the clock of the machine follows a time server. */
public sealed interface ClockStatus {

  /**
   * The time that a node waits for the first answer of a server, before it judges certificates by
   * the machine's own clock. A server that can be reached has answered some 5 s after the node has
   * an address; the rest is for a name server that answers its second question, after 5 s, and for
   * a busy machine.
   */
  Duration PATIENCE = Duration.ofSeconds(20);

  /**
   * Means that this node does not keep the clock.
   *
   * @param reason the reason, as text; blank if the machine has another owner and no server is
   *     named
   * @param remedy what a person can do
   */
  record NotKept(String reason, String remedy) implements ClockStatus {}

  /**
   * Means that the clock follows no server yet, or no longer.
   *
   * @param reason the servers and their silence, as text
   * @param late true after {@link #PATIENCE}, and for servers that have stopped to answer
   */
  record Searching(String reason, boolean late) implements ClockStatus {}

  /**
   * Means that the clock follows a server.
   *
   * @param server its address
   * @param offset by how much the clock was ahead of it
   * @param at the time of that comparison; a status is published again when it is ten minutes old
   */
  record Synchronised(String server, Duration offset, Instant at) implements ClockStatus {}
}
