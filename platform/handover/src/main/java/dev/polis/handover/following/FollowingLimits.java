package dev.polis.handover.following;

import dev.polis.handover.SwapDeadline;
import java.time.Duration;

/**
 * Limits the waits of a swap.
 *
 * @param hold how long one call may wait for a provider
 * @param drain how long a provider that is retired waits for its calls
 */
record FollowingLimits(Duration hold, Duration drain) {

  static final FollowingLimits DEFAULT =
      new FollowingLimits(SwapDeadline.HOLD.limit(), SwapDeadline.DRAIN.limit());
}
