package dev.polis.process;

/** Names the signal that asks a process to end. */
public enum StopSignal {
  /** SIGTERM, which most programs take for "end in order". */
  TERM,
  /** SIGINT, which PostgreSQL takes for "end the sessions, then end in order". */
  INT,
  /** SIGQUIT, which some servers take for "finish what is under way, then end". */
  QUIT
}
