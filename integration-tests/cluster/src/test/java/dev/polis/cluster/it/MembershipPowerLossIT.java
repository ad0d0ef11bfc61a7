package dev.polis.cluster.it;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * Cuts the power of nodes at steps of changes of the membership. Each node comes back on a disk
 * with what it had flushed, and any part of its later writes. {@code -Dpolis.seed=N} repeats which
 * writes survive.
 */
@Tag("long")
final class MembershipPowerLossIT extends MembershipCrashSuite {

  private static final Random RANDOM = random();

  @BeforeAll
  static void grow() throws Exception {
    grow(new PowerCut(RANDOM), "127.0.67.", true);
  }

  @Override
  int rounds() {
    return Integer.getInteger("polis.times", 1);
  }

  @Override
  List<Step> shortForm(List<Step> all, List<String> usual) {
    return all;
  }
}
