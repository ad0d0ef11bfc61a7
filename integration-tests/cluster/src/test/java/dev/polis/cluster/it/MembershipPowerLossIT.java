package dev.polis.cluster.it;

import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * Cuts the power of nodes at steps of changes of the membership; in the short form, at one step of
 * one change. Each node comes back on a disk with what it had flushed, and any part of its later
 * writes. {@code -Dpolis.seed=N} repeats which step it is, and which writes survive.
 */
@Tag("full")
@Tag("longer")
final class MembershipPowerLossIT extends MembershipCrashSuite {

  private static final Random RANDOM = random();

  @BeforeAll
  static void grow() throws Exception {
    grow(new PowerCut(RANDOM), "127.0.67.");
  }

  static List<Change> changes() {
    return Change.chosen(Slice.of(List.of(Change.values()), Change.values().length));
  }

  @Override
  List<List<Step>> kills(List<Step> all, String... usual) {
    return Tier.isLong()
        ? alone(all, Integer.getInteger("polis.times", 1))
        : List.of(List.of(all.get(RANDOM.nextInt(all.size()))));
  }
}
