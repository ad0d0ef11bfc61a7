package dev.polis.etcd;

/** Holds whether a candidate leads. */
public sealed interface ElectionState {

  /**
   * This candidate leads, until the state changes or its lease runs out here.
   *
   * @param lockKey key of its lock within the client's namespace
   * @param createRevision revision at which the lock was made
   * @param fence to be given to {@link KeyValues#fenced}; nothing a leader writes should go without
   * @param lease says whether this candidate certainly leads, without asking etcd
   */
  record Leader(String lockKey, long createRevision, Fence fence, LeaderLease lease)
      implements ElectionState {}

  /**
   * Another leads.
   *
   * @param leader its lock; the value says who it is
   */
  record Follower(KeyValue leader) implements ElectionState {}

  /**
   * No leader is known: no quorum, no lease, or not asked yet.
   *
   * @param reason why, as text
   */
  record Neither(String reason) implements ElectionState {}
}
