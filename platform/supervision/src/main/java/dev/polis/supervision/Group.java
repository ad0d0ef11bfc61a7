package dev.polis.supervision;

import java.util.ArrayList;
import java.util.List;

/** Holds the runnables of a group, which fall together. The tree's lock guards it. */
final class Group {
  final List<Node> members = new ArrayList<>();

  /** True from the first death until all members have returned and start again. */
  boolean falling;

  boolean quiet() {
    return members.stream().allMatch(member -> member.live == 0);
  }
}
