package dev.polis.supervision;

import java.util.ArrayList;
import java.util.List;

/** Runnables that fall together. Guarded by the tree's lock. */
final class Group {
  final List<Node> members = new ArrayList<>();

  /** Set from the first death until all members have returned and start again. */
  boolean falling;

  boolean quiet() {
    return members.stream().allMatch(member -> member.live == 0);
  }
}
