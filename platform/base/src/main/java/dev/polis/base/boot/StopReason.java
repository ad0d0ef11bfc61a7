package dev.polis.base.boot;

/**
 * Names the reason of a final stop, which decides what ends with the work.
 *
 * <p>This table is the contract between the code that stops something (the launcher, an organ, the
 * role server) and the code that is stopped. <em>Children</em> are processes of {@code
 * dev.polis.process}; <em>mounts</em> are file systems that the code mounted; <em>sockets</em> are
 * those that a child holds, or that lie in the file system for a successor; <em>records</em>
 * describe running processes and mounts: process records, pid files, status values.
 *
 * <table>
 *   <caption>The effect of each reason</caption>
 *   <tr><th>reason</th><th>children</th><th>mounts</th><th>sockets</th><th>records</th></tr>
 *   <tr><td>{@link #ROLE_REMOVED}</td><td>end, in order</td><td>are unmounted</td><td>are
 *       closed</td><td>are deleted</td></tr>
 *   <tr><td>{@link #CODE_REPLACED}</td><td>stay</td><td>stay</td><td>stay</td><td>stay: the next
 *       instance adopts by them</td></tr>
 *   <tr><td>{@link #PROCESS_RESTART}</td><td>stay</td><td>stay</td><td>stay</td><td>stay: the next
 *       process adopts by them</td></tr>
 *   <tr><td>{@link #POWER_OFF}</td><td>end, in order</td><td>are unmounted</td><td>are
 *       closed</td><td>those of what ended are deleted</td></tr>
 * </table>
 *
 * <p><em>In order</em> means that what depends on something ends before it: the program that was
 * started last ends first, and a mount goes after the last program that uses it.
 *
 * <p>What the code holds inside this process, such as threads, watches, connections and listeners
 * of its own, ends for every reason. What it stored on the data volume stays for every reason.
 *
 * <p>A run that is cancelled only to be started again, because a member of its group failed or it
 * asked for a restart itself, is not stopped and has no reason: everything stays for its next run.
 *
 * <p>The reasons are ordered from the narrowest to the widest.
 */
public enum StopReason {
  /** The cluster no longer wants this work on this node. There is no successor. */
  ROLE_REMOVED,

  /**
   * The node continues; this code alone is stopped, replaced or updated. A successor is expected.
   */
  CODE_REPLACED,

  /** The process of the node ends and a new one is expected soon. */
  PROCESS_RESTART,

  /** The node goes down for good. */
  POWER_OFF;

  /**
   * Returns whether children, mounts and sockets end with the code.
   *
   * @return true for {@link #ROLE_REMOVED} and {@link #POWER_OFF}; otherwise a successor adopts
   *     them
   */
  public boolean endsWork() {
    return this == ROLE_REMOVED || this == POWER_OFF;
  }
}
