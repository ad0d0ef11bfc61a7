package dev.polis.process;

/** Names the signal that stops a process. */
public enum StopSignal {
  /** SIGTERM, which most programs understand as "end in order". */
  TERM,
  /** SIGINT, which PostgreSQL understands as "end the sessions, then end in order". */
  INT,
  /** SIGQUIT, which some servers understand as "finish the running work, then end". */
  QUIT
}
