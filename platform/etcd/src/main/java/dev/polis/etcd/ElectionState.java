package dev.polis.etcd;

/** Describes the leadership of a candidate. */
public sealed interface ElectionState {

  /**
   * Means that this candidate leads until the state changes or its lease ends.
   *
   * @param lockKey key of its lock within the client's namespace
   * @param createRevision revision at which the lock was made
   * @param fence the argument for {@link KeyValues#fenced}, which each write of a leader needs
   * @param lease shows without a call to etcd whether this candidate certainly leads
   */
  record Leader(String lockKey, long createRevision, Fence fence, LeaderLease lease)
      implements ElectionState {}

  /**
   * Means that another candidate leads.
   *
   * @param leader its lock, whose value identifies it
   */
  record Follower(KeyValue leader) implements ElectionState {}

  /**
   * Means that no leader is known: there is no quorum, no lease, or no answer yet.
   *
   * @param reason the cause, as text
   */
  record Neither(String reason) implements ElectionState {}
}
