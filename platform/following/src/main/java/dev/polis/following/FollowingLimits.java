package dev.polis.following;

import java.time.Duration;

/**
 * Limits the waits of a swap.
 *
 * @param hold how long one call may wait for a provider
 * @param drain how long a provider that is retired waits for its calls
 */
record FollowingLimits(Duration hold, Duration drain) {

  /**
   * 30 s: the successor of the slowest organ is there within ten, on a machine that is busy with
   * other things. 5 s: the longest call that is no wait, a question to etcd, is given up after as
   * long.
   */
  static final FollowingLimits DEFAULT =
      new FollowingLimits(Duration.ofSeconds(30), Duration.ofSeconds(5));
}
