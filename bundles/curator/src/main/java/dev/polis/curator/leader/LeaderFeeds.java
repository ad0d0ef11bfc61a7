package dev.polis.curator.leader;

import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.rpc.CallFeed;
import dev.polis.rpc.CallStreams;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Sends the leader to any number of callers, at each change. One thread wakes all streams, because
 * each client that reaches the node may open one. Thread-safe.
 */
public final class LeaderFeeds {

  private final Value<CuratorStatus> status;
  private final CallStreams streams;
  private final Set<CallFeed<GetCurrentLeaderResponse>> feeds = ConcurrentHashMap.newKeySet();

  public LeaderFeeds(Value<CuratorStatus> status, CallStreams streams) {
    this.status = status;
    this.streams = streams;
  }

  /** Wakes the streams at each change, as a supervised task. */
  public void run(Context context) throws InterruptedException {
    try (Watcher<CuratorStatus> changes = status.watch()) {
      context.healthy();
      while (true) {
        changes.get();
        CallFeed.wakeAll(List.copyOf(feeds));
      }
    }
  }

  /**
   * Answers a call with the present leader and each later one.
   *
   * @param answer makes a message from a status; its exception ends the call
   */
  public void serve(
      StreamObserver<GetCurrentLeaderResponse> caller,
      Function<CuratorStatus, GetCurrentLeaderResponse> answer)
      throws InterruptedException {
    streams.feed(caller, feed -> open(feed, answer));
  }

  private CallFeed.Source<GetCurrentLeaderResponse> open(
      CallFeed<GetCurrentLeaderResponse> feed,
      Function<CuratorStatus, GetCurrentLeaderResponse> answer) {
    // Before the read of the status, so that a later change wakes the feed.
    feeds.add(feed);
    Watcher<CuratorStatus> states = status.watch();
    return new CallFeed.Source<>() {
      @Override
      public Optional<GetCurrentLeaderResponse> next() {
        return states.poll().map(answer);
      }

      @Override
      public void over() {
        feeds.remove(feed);
        states.close();
      }
    };
  }
}
