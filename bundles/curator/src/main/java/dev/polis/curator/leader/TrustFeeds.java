package dev.polis.curator.leader;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.Value;
import dev.polis.rpc.CallFeed;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.TrustLists;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Sends members the lists by which nodes trust others, at each change and while this node leads.
 * Thread-safe.
 */
public final class TrustFeeds {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Value<CuratorStatus> status;
  private final Value<TrustLists> lists;
  private final CallStreams streams;
  private final Set<CallFeed<TrustLists>> feeds = ConcurrentHashMap.newKeySet();

  public TrustFeeds(Value<CuratorStatus> status, Value<TrustLists> lists, CallStreams streams) {
    this.status = status;
    this.lists = lists;
    this.streams = streams;
  }

  /** Wakes the streams at each change, as a supervised task. */
  public void run(Context context) throws InterruptedException {
    AnyChange.follow(context, Map.of("leadership", status, "lists", lists), this::wakeAll);
    context.healthy();
    context.awaitCancelled();
  }

  private void wakeAll() {
    try {
      CallFeed.wakeAll(List.copyOf(feeds));
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }

  /** Answers a call with the present lists and each later ones, until this node leads no more. */
  public void serve(StreamObserver<TrustLists> caller) throws InterruptedException {
    streams.feed(caller, this::open);
  }

  /** Returns the present revocation list, DER; empty before this node knows it. */
  public Optional<ByteString> revocations() {
    return Optional.of(lists.peek().orElseThrow().getRevocations())
        .filter(known -> !known.isEmpty());
  }

  private CallFeed.Source<TrustLists> open(CallFeed<TrustLists> feed) {
    // Before the lists are read: a change after that wakes it.
    feeds.add(feed);
    return new CallFeed.Source<>() {
      private TrustLists sent = TrustLists.getDefaultInstance();

      @Override
      public Optional<TrustLists> next() {
        requireLeadership();
        TrustLists now = lists.peek().orElseThrow();
        if (now.getRevocations().isEmpty()
            || !now.hasTrustedKeys()
            || !now.hasOperators()
            || now.equals(sent)) {
          return Optional.empty();
        }
        sent = now;
        return Optional.of(now);
      }

      @Override
      public void over() {
        feeds.remove(feed);
      }
    };
  }

  /** Ends a stream of a former leader, whose etcd may be cut off from the others. */
  private void requireLeadership() {
    CuratorStatus now = status.peek().orElseThrow();
    if (!(now instanceof CuratorStatus.Leading)) {
      throw RpcException.unavailable(
          "this curator does not lead (%s); ask for the leader again".formatted(now.describe()),
          RETRY);
    }
  }
}
