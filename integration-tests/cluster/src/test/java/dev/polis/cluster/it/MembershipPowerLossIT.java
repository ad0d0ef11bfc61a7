package dev.polis.cluster.it;

import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * Cuts the power of nodes at steps of changes of the membership. Each node comes back on a disk
 * with what it had flushed, and any part of its later writes. {@code -Dpolis.seed=N} repeats which
 * writes survive.
 */
@Tag("long")
final class MembershipPowerLossIT extends MembershipCrashSuite {

  @BeforeAll
  static void grow() throws Exception {
    grow(new PowerCut(random()), "127.0.67.");
  }

  static List<Change> changes() {
    return List.of(Change.values());
  }

  @Override
  List<List<Step>> kills(List<Step> all, String... usual) {
    return alone(all, Integer.getInteger("polis.times", 1));
  }
}
