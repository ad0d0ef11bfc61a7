package dev.polis.etcd;

/**
 * Holds the state of one watch on the stream: its range, its next revision and its receiver. The
 * fields are guarded by the lock of {@link WatchStreams}; the sink has a lock of its own.
 */
final class WatchSubscription {

  /** Receives updates in order; must not block. */
  interface Sink {
    void deliver(WatchUpdate update);

    /** Reports a refusal; the stream will try the watch again. */
    void fail(EtcdException failure);

    /** Returns whether updates shall stop until {@link WatchStreams#resume} is called. */
    boolean isFull();
  }

  enum Phase {
    /** The watch needs a listing of the range first. */
    LISTING,
    /** The next or present stream has to create the watch. */
    READY,
    CREATING,
    ACTIVE,
    /** The watch is suspended until the reader has caught up. */
    PAUSED,
    CLOSED
  }

  final Wire wire;
  final KeyRange range;
  final WatchOptions options;
  final Sink sink;

  Phase phase;
  long nextRevision;
  long compacted;

  /** etcd's id of the watch while {@link Phase#ACTIVE}. */
  long watchId;

  /** The number of watches that the stream created before this one. */
  long createdAs;

  WatchSubscription(
      Wire wire, KeyRange range, WatchOptions options, Sink sink, WatchOptions.Start start) {
    this.wire = wire;
    this.range = range;
    this.options = options;
    this.sink = sink;
    this.nextRevision = start instanceof WatchOptions.FromRevision(long first) ? first : 0;
    this.phase = nextRevision > 0 ? Phase.READY : Phase.LISTING;
  }
}
