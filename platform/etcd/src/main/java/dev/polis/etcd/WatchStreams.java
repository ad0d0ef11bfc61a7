package dev.polis.etcd;

import dev.polis.base.backoff.Backoff;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.WatchCancelRequest;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchProgressRequest;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Carries all watches of a connection on one stream.
 *
 * <p>The next revision it needs describes a watch. So after each end of the stream (completion,
 * error, cancellation, a silent member) this class opens another stream and requests the watches
 * again from there. It ignores later answers of the old stream. A slow reader does not delay the
 * others: only its own watch is cancelled at etcd and requested again later. If the needed revision
 * was compacted, this class lists the range and continues the watch after the listing.
 */
final class WatchStreams implements AutoCloseable {

  private static final Duration REOPEN_FIRST = Duration.ofMillis(10);
  private static final Duration REOPEN_MOST = Duration.ofSeconds(1);
  // The pause before a watch that etcd refuses, for example without a role, is tried again.
  private static final Duration RETRY_REFUSED = Duration.ofSeconds(1);
  // Silence is normal; after this time the member gets a request to show that it lives.
  private static final Duration SILENCE = Duration.ofSeconds(3);
  private static final Duration ANSWER = Duration.ofSeconds(2);
  private static final Duration SILENCE_POLL = Duration.ofSeconds(1);
  private static final long ALL_WATCHES = -1;

  private final EtcdConnection connection;
  private final Set<WatchSubscription> subscriptions = new LinkedHashSet<>();
  private final Backoff backoff = new Backoff(REOPEN_FIRST, REOPEN_MOST);
  private Stream stream;
  private boolean opening;
  private boolean polling;
  private boolean closed;

  WatchStreams(EtcdConnection connection) {
    this.connection = connection;
    connection.onAbandon(this::leave);
  }

  synchronized void add(WatchSubscription subscription) {
    if (closed) {
      throw connection.closedException();
    }
    subscriptions.add(subscription);
    advance(subscription);
    if (!polling) {
      polling = true;
      connection.later(SILENCE_POLL.toNanos(), this::pollSilence);
    }
  }

  synchronized void remove(WatchSubscription subscription) {
    if (subscription.phase == WatchSubscription.Phase.ACTIVE) {
      stream.cancel(subscription);
    }
    subscription.phase = WatchSubscription.Phase.CLOSED;
    subscriptions.remove(subscription);
    if (subscriptions.isEmpty() && stream != null) {
      Stream unused = stream;
      stream = null;
      unused.end();
    }
  }

  /** Continues a watch whose sink is no longer full. */
  synchronized void resume(WatchSubscription subscription) {
    if (subscription.phase == WatchSubscription.Phase.PAUSED) {
      subscription.phase = WatchSubscription.Phase.READY;
      advance(subscription);
    }
  }

  /** Requests a report on the stream of the revision up to which everything was delivered. */
  synchronized void requestProgress() {
    if (stream != null) {
      stream.requestProgress();
    }
  }

  /** Does the next step of a subscription, by its phase. */
  private void advance(WatchSubscription subscription) {
    switch (subscription.phase) {
      case LISTING -> connection.work(() -> list(subscription));
      case READY -> {
        if (stream == null) {
          reopenLater(0);
        } else {
          stream.create(subscription);
        }
      }
      case CREATING, ACTIVE, PAUSED, CLOSED -> {}
    }
  }

  private void reopenLater(long delay) {
    if (!opening && !closed) {
      opening = true;
      connection.later(delay, this::reopen);
    }
  }

  private synchronized void reopen() {
    opening = false;
    if (closed || stream != null || subscriptions.isEmpty()) {
      return;
    }
    Stream fresh = new Stream(connection.member());
    stream = fresh;
    fresh.open();
    for (WatchSubscription subscription : subscriptions) {
      if (stream == fresh && subscription.phase == WatchSubscription.Phase.READY) {
        fresh.create(subscription);
      }
    }
  }

  /** Drops the stream; its watches become ready for the next one. */
  private void lose() {
    stream = null;
    for (WatchSubscription subscription : subscriptions) {
      if (subscription.phase == WatchSubscription.Phase.CREATING
          || subscription.phase == WatchSubscription.Phase.ACTIVE) {
        subscription.phase = WatchSubscription.Phase.READY;
      }
    }
  }

  private void ended(Stream which, boolean failed) {
    synchronized (this) {
      if (which != stream) {
        return; // the client itself left it
      }
      if (failed) {
        connection.suspect(which.member);
      }
      lose();
      reopenLater(backoff.next().toNanos());
    }
  }

  private void leave(EtcdChannels.Member member) {
    Stream left;
    synchronized (this) {
      if (stream == null || stream.member != member) {
        return;
      }
      left = stream;
      lose();
      reopenLater(0);
    }
    left.end();
  }

  /** Sends the member a request if the stream has been silent for long. */
  private void pollSilence() {
    Stream suspect = null;
    synchronized (this) {
      if (closed || subscriptions.isEmpty()) {
        polling = false;
        return;
      }
      connection.later(SILENCE_POLL.toNanos(), this::pollSilence);
      if (stream != null
          && !stream.probed
          && System.nanoTime() - stream.heard > SILENCE.toNanos()) {
        suspect = stream;
        suspect.probed = true;
      }
    }
    if (suspect != null) {
      Stream asked = suspect;
      connection.work(() -> probe(asked));
    }
  }

  private void probe(Stream asked) {
    try {
      boolean alive = connection.answers(asked.member, ANSWER);
      synchronized (this) {
        // A member that answers but never confirmed a watch has lost the request.
        if (alive && asked.creating.isEmpty()) {
          asked.heard = System.nanoTime();
          asked.probed = false;
          return;
        }
      }
      connection.suspect(asked.member);
      leave(asked);
    } catch (InterruptedException | EtcdClosedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  private void leave(Stream left) {
    synchronized (this) {
      if (left != stream) {
        return;
      }
      lose();
      reopenLater(0);
    }
    left.end();
  }

  /** Lists a range until it succeeds, then lets its watch continue after the listing. */
  private void list(WatchSubscription subscription) {
    try {
      Backoff pause = new Backoff(REOPEN_FIRST, REOPEN_MOST);
      while (!listed(subscription)) {
        pause.pause();
      }
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean listed(WatchSubscription subscription) throws InterruptedException {
    RangeResponse found;
    try {
      found =
          connection.call(
              KVGrpc.getRangeMethod(),
              subscription.wire.range(subscription.range, RangeOptions.DEFAULT),
              EtcdConnection.Effect.REPEATABLE,
              () -> "list " + subscription.range,
              EtcdConnection.DEFAULT_DEADLINE);
    } catch (EtcdUnavailableException notYet) {
      return isOver(subscription);
    } catch (EtcdException refused) {
      subscription.sink.fail(refused);
      Thread.sleep(RETRY_REFUSED);
      return isOver(subscription);
    }
    synchronized (this) {
      if (isOver(subscription)) {
        return true;
      }
      long revision = found.getHeader().getRevision();
      subscription.sink.deliver(
          new WatchUpdate.Snapshot(
              revision, subscription.wire.keyValues(found.getKvsList()), subscription.compacted));
      subscription.nextRevision = revision + 1;
      subscription.phase = WatchSubscription.Phase.READY;
      advance(subscription);
      return true;
    }
  }

  private synchronized boolean isOver(WatchSubscription subscription) {
    return closed || subscription.phase != WatchSubscription.Phase.LISTING;
  }

  @Override
  public void close() {
    Stream last;
    synchronized (this) {
      closed = true;
      last = stream;
      stream = null;
      subscriptions.forEach(subscription -> subscription.phase = WatchSubscription.Phase.CLOSED);
      subscriptions.clear();
    }
    if (last != null) {
      last.end();
    }
  }

  /** Runs one stream to one member. All its state is guarded by the lock of the outer class. */
  private final class Stream implements ClientResponseObserver<WatchRequest, WatchResponse> {

    private final EtcdChannels.Member member;
    // etcd confirms watches in the order of their requests.
    private final Deque<WatchSubscription> creating = new ArrayDeque<>();
    private final Map<Long, WatchSubscription> active = new HashMap<>();
    // For each open progress request, the number of watches that etcd had confirmed when it was
    // sent.
    private final Deque<Long> progressRequests = new ArrayDeque<>();
    private ClientCallStreamObserver<WatchRequest> requests;
    private long created;
    private long heard = System.nanoTime();
    private boolean probed;

    Stream(EtcdChannels.Member member) {
      this.member = member;
    }

    void open() {
      ClientCalls.asyncBidiStreamingCall(
          member.leading().newCall(WatchGrpc.getWatchMethod(), CallOptions.DEFAULT), this);
    }

    void end() {
      requests.cancel("no longer used", null);
    }

    void create(WatchSubscription subscription) {
      Wire.Bounds bounds = subscription.wire.bounds(subscription.range);
      WatchCreateRequest.Builder request =
          WatchCreateRequest.newBuilder()
              .setKey(bounds.key())
              .setRangeEnd(bounds.end())
              .setStartRevision(subscription.nextRevision)
              .setPrevKv(subscription.options.previous())
              // Keeps an idle watch from falling behind compaction.
              .setProgressNotify(true);
      if (!subscription.options.types().contains(WatchEvent.Type.PUT)) {
        request.addFilters(WatchCreateRequest.FilterType.NOPUT);
      }
      if (!subscription.options.types().contains(WatchEvent.Type.DELETE)) {
        request.addFilters(WatchCreateRequest.FilterType.NODELETE);
      }
      subscription.phase = WatchSubscription.Phase.CREATING;
      creating.add(subscription);
      requests.onNext(WatchRequest.newBuilder().setCreateRequest(request).build());
    }

    void cancel(WatchSubscription subscription) {
      active.remove(subscription.watchId);
      cancel(subscription.watchId);
    }

    private void cancel(long watchId) {
      requests.onNext(
          WatchRequest.newBuilder()
              .setCancelRequest(WatchCancelRequest.newBuilder().setWatchId(watchId))
              .build());
    }

    void requestProgress() {
      progressRequests.add(created);
      requests.onNext(
          WatchRequest.newBuilder()
              .setProgressRequest(WatchProgressRequest.getDefaultInstance())
              .build());
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<WatchRequest> call) {
      requests = call;
    }

    @Override
    public void onNext(WatchResponse response) {
      synchronized (WatchStreams.this) {
        if (this != stream) {
          return;
        }
        heard = System.nanoTime();
        probed = false;
        backoff.reset();
        if (response.getCreated()) {
          confirmed(response);
        } else if (response.getCanceled()) {
          WatchSubscription over = active.remove(response.getWatchId());
          if (over != null) {
            canceled(response, over);
          }
        } else if (response.getWatchId() == ALL_WATCHES) {
          progressOfAll(response.getHeader().getRevision());
        } else {
          Optional.ofNullable(active.get(response.getWatchId()))
              .ifPresent(subscription -> changed(subscription, response));
        }
      }
    }

    private void confirmed(WatchResponse response) {
      WatchSubscription subscription = creating.remove();
      created++;
      if (response.getCanceled()) {
        canceled(response, subscription);
      } else if (subscription.phase == WatchSubscription.Phase.CREATING) {
        subscription.phase = WatchSubscription.Phase.ACTIVE;
        subscription.watchId = response.getWatchId();
        subscription.createdAs = created;
        active.put(response.getWatchId(), subscription);
      } else {
        cancel(response.getWatchId());
      }
    }

    private void canceled(WatchResponse response, WatchSubscription subscription) {
      if (subscription.phase == WatchSubscription.Phase.CLOSED) {
        return;
      }
      if (response.getCompactRevision() > 0) {
        subscription.compacted = response.getCompactRevision();
        subscription.phase = WatchSubscription.Phase.LISTING;
        advance(subscription);
        return;
      }
      String reason = response.getCancelReason();
      if (EtcdError.of(reason) == EtcdError.PERMISSION_DENIED) {
        subscription.sink.fail(
            new EtcdPermissionException(
                "etcd at "
                    + member
                    + ": watch "
                    + subscription.range
                    + " denied: "
                    + reason
                    + ". Check the user's role; the watch is tried again",
                null));
      }
      subscription.phase = WatchSubscription.Phase.PAUSED;
      connection.later(RETRY_REFUSED.toNanos(), () -> resume(subscription));
    }

    private void progressOfAll(long revision) {
      // etcd may have made the report before it knew the newer watches, so it excludes them.
      long known = progressRequests.isEmpty() ? 0 : progressRequests.remove();
      for (WatchSubscription subscription : List.copyOf(active.values())) {
        if (subscription.createdAs <= known) {
          progress(subscription, revision);
        }
      }
    }

    private void progress(WatchSubscription subscription, long revision) {
      if (revision < subscription.nextRevision) {
        return;
      }
      subscription.nextRevision = revision + 1;
      if (subscription.options.bookmarks()) {
        subscription.sink.deliver(new WatchUpdate.Progress(revision));
      }
    }

    private void changed(WatchSubscription subscription, WatchResponse response) {
      if (response.getEventsCount() == 0) {
        progress(subscription, response.getHeader().getRevision());
        return;
      }
      List<Event> sameRevision = new ArrayList<>();
      for (Event event : response.getEventsList()) {
        long revision = event.getKv().getModRevision();
        if (revision < subscription.nextRevision) {
          continue;
        }
        if (!sameRevision.isEmpty()
            && sameRevision.getFirst().getKv().getModRevision() != revision
            && !deliver(subscription, sameRevision)) {
          return;
        }
        sameRevision.add(event);
      }
      deliver(subscription, sameRevision);
    }

    /** Delivers one revision; returns false if the reader is full and the watch was suspended. */
    private boolean deliver(WatchSubscription subscription, List<Event> events) {
      if (events.isEmpty()) {
        return true;
      }
      if (subscription.sink.isFull()) {
        cancel(subscription);
        subscription.phase = WatchSubscription.Phase.PAUSED;
        return false;
      }
      long revision = events.getFirst().getKv().getModRevision();
      subscription.sink.deliver(
          new WatchUpdate.Changes(
              revision, events.stream().map(event -> event(subscription, event)).toList()));
      subscription.nextRevision = revision + 1;
      events.clear();
      return true;
    }

    private static WatchEvent event(WatchSubscription subscription, Event event) {
      return new WatchEvent(
          event.getType() == Event.EventType.PUT ? WatchEvent.Type.PUT : WatchEvent.Type.DELETE,
          subscription.wire.keyValue(event.getKv()),
          event.hasPrevKv() ? subscription.wire.keyValue(event.getPrevKv()) : null);
    }

    @Override
    public void onError(Throwable failure) {
      ended(this, true);
    }

    @Override
    public void onCompleted() {
      ended(this, false);
    }
  }
}
