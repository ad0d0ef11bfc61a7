package dev.polis.boot;

/** What the stop of an organ is for, and so what it has to leave behind. */
public enum StopIntent {
  /**
   * The node goes on; this organ alone is stopped, replaced or restarted. Children and mounts stay
   * for its successor.
   */
  NONE,

  /**
   * The process ends and a new one is expected soon. Children and mounts stay; the next process
   * adopts them.
   */
  RESTART,

  /** The node goes down for good. Organs stop their children and unmount what they mounted. */
  POWER_OFF
}
