package dev.polis.cluster.it;

import dev.polis.fixtures.Slice;
import java.util.List;
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

  @BeforeAll
  static void grow() throws Exception {
    grow(new PowerCut(random()), "127.0.67.");
  }

  static List<Change> changes() {
    return Change.chosen(Change.values().length);
  }

  @Override
  List<List<Step>> kills(List<Step> all, String... usual) {
    return alone(Slice.of(all, all.size()), Integer.getInteger("polis.times", 1));
  }
}
