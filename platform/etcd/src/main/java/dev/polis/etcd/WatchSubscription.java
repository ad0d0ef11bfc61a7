package dev.polis.etcd;

/**
 * Holds the state of one watch on the stream: what to ask for, how far it is, where updates go. The
 * fields are guarded by the lock of {@link WatchStreams}; the sink has a lock of its own.
 */
final class WatchSubscription {

  /** Receives updates in order; must not block. */
  interface Sink {
    void deliver(WatchUpdate update);

    /** Reports a refusal; the watch will be tried again. */
    void fail(EtcdException failure);

    /** Returns whether updates shall stop until {@link WatchStreams#resume} is called. */
    boolean isFull();
  }

  enum Phase {
    /** Needs a listing of the range before it can watch. */
    LISTING,
    /** To be created on the next or present stream. */
    READY,
    CREATING,
    ACTIVE,
    /** Suspended until the reader has caught up. */
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

  /** Id at etcd while {@link Phase#ACTIVE}. */
  long watchId;

  /** Count of watches created on the stream before this one. */
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
