package dev.polis.etcd;

import dev.polis.base.backoff.Backoff;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrantResponse;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.LeaseKeepAliveResponse;
import io.etcd.jetcd.api.LeaseRevokeRequest;
import io.etcd.jetcd.api.LeaseTimeToLiveRequest;
import io.etcd.jetcd.api.ResponseHeader;
import io.grpc.CallOptions;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Keeps leases alive over one stream, which it reopens after each end and moves to another member
 * when answers are missing. It takes no other lock inside its monitor, and publishes states outside
 * of it.
 */
final class LeaseKeeper implements AutoCloseable {

  // Three attempts in a lifetime: the second and third may go to other members.
  private static final int RENEWALS_PER_TTL = 3;
  private static final int CHECKS_PER_RENEWAL = 4;
  private static final Duration CALL = EtcdConnection.DEFAULT_DEADLINE;
  // Several members must get an attempt within the life of a short lease.
  private static final long ADOPT_MILLIS = 1000;
  private static final Duration REVOKE_AT_CLOSE = Duration.ofSeconds(1);
  private static final Duration REOPEN_FIRST = Duration.ofMillis(20);
  private static final Duration REOPEN_MOST = Duration.ofMillis(500);

  private final EtcdConnection connection;
  private final Map<Long, Lease> leases = new HashMap<>();
  // The last known revision of each member.
  private final Map<Long, Long> revisions = new HashMap<>();
  private final Backoff backoff = new Backoff(REOPEN_FIRST, REOPEN_MOST);
  private Stream stream;
  private boolean opening;
  private boolean closed;

  LeaseKeeper(EtcdConnection connection) {
    this.connection = connection;
    connection.onAbandon(this::leave);
  }

  Lease grant(Duration ttl) throws InterruptedException {
    long seconds = Math.max(1, ttl.toSeconds());
    // With this id etcd recognizes a repeated request instead of granting a second lease.
    long id = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    LeaseClocks.Instant sent = now();
    long granted = seconds;
    try {
      LeaseGrantResponse response =
          connection.call(
              LeaseGrpc.getLeaseGrantMethod(),
              LeaseGrantRequest.newBuilder().setID(id).setTTL(seconds).build(),
              EtcdConnection.Effect.REPEATABLE,
              () -> "grant a lease of " + seconds + " s",
              CALL);
      granted = response.getTTL();
    } catch (EtcdRefusedException refused) {
      if (refused.error() != EtcdError.LEASE_EXISTS) {
        throw refused;
      }
    }
    Duration life = Duration.ofSeconds(granted);
    return keep(new Lease(this, id, life, sent));
  }

  /** Renews a lease once, which proves that it exists, and keeps it alive from then on. */
  Lease adopt(long id) throws InterruptedException {
    long deadline = System.nanoTime() + CALL.toNanos();
    Backoff pause = new Backoff(REOPEN_FIRST, REOPEN_MOST);
    while (true) {
      EtcdChannels.Member member = connection.member();
      try {
        return keep(renewOnce(member, id));
      } catch (StatusException | TimeoutException failed) {
        connection.suspect(member);
        if (System.nanoTime() > deadline) {
          throw new EtcdUnavailableException(
              "etcd at "
                  + member
                  + ": lease "
                  + Long.toHexString(id)
                  + " could not be taken over within "
                  + CALL.toSeconds()
                  + " s; check that a quorum is up",
              failed);
        }
        pause.pause();
      }
    }
  }

  private Lease renewOnce(EtcdChannels.Member member, long id)
      throws InterruptedException, StatusException, TimeoutException {
    BlockingClientCall<LeaseKeepAliveRequest, LeaseKeepAliveResponse> call =
        ClientCalls.blockingBidiStreamingCall(
            member.leading(), LeaseGrpc.getLeaseKeepAliveMethod(), CallOptions.DEFAULT);
    try {
      LeaseClocks.Instant sent = now();
      call.write(LeaseKeepAliveRequest.newBuilder().setID(id).build());
      LeaseKeepAliveResponse answer = call.read(ADOPT_MILLIS, TimeUnit.MILLISECONDS);
      if (answer == null) {
        throw Status.UNAVAILABLE.withDescription("the stream ended").asException();
      }
      long ttl = answer.getTTL();
      if (ttl <= 0) {
        throw new EtcdLeaseLostException(
            "lease " + Long.toHexString(id) + " is not known to etcd any more; take out a new one",
            null);
      }
      Duration life = Duration.ofSeconds(ttl);
      return new Lease(this, id, life, sent);
    } finally {
      call.cancel("answered", null);
    }
  }

  /** Returns whether etcd knows a lease. */
  boolean exists(long id) throws InterruptedException {
    return connection
            .call(
                LeaseGrpc.getLeaseTimeToLiveMethod(),
                LeaseTimeToLiveRequest.newBuilder().setID(id).build(),
                EtcdConnection.Effect.REPEATABLE,
                () -> "look for lease " + Long.toHexString(id),
                CALL)
            .getTTL()
        > 0;
  }

  LeaseClocks.Instant now() {
    return connection.clocks().now();
  }

  private synchronized Lease keep(Lease lease) {
    if (closed) {
      throw connection.closedException();
    }
    leases.put(lease.id(), lease);
    lease.lastSent = connection.nanos();
    armExpiry(lease);
    if (stream == null) {
      reopenLater(0);
    } else {
      send(lease, now());
    }
    connection.later(renewal(lease) / CHECKS_PER_RENEWAL, () -> renew(lease));
    return lease;
  }

  private static long renewal(Lease lease) {
    return lease.ttl().toNanos() / RENEWALS_PER_TTL;
  }

  private void armExpiry(Lease lease) {
    lease.expiry.cancel(false);
    lease.expiry =
        connection.later(
            lease.certainty.life().deadline().nanos() - connection.nanos(), () -> expire(lease));
  }

  private synchronized void expire(Lease lease) {
    if (lease.ended) {
      return;
    }
    if (isBeforeDeadline(lease)) {
      armExpiry(lease);
      return;
    }
    dropExpired(lease);
  }

  /** Returns whether a lease is alive; ends one whose life is over. */
  synchronized boolean isAlive(Lease lease) {
    if (!lease.ended && !isBeforeDeadline(lease)) {
      dropExpired(lease);
    }
    return !lease.ended;
  }

  private boolean isBeforeDeadline(Lease lease) {
    return now().isBefore(lease.certainty.life().deadline());
  }

  /**
   * Ends a lease whose life is over here. etcd counts from a later moment and not during a
   * suspension, so it may still have the lease: the node revokes it, so that its lock delays no
   * candidate.
   */
  private void dropExpired(Lease lease) {
    drop(lease);
    LeaseState lost =
        new LeaseState.Lost(
            "no answer from etcd for the lease's " + lease.ttl().toSeconds() + " s");
    connection.work(
        () -> {
          lease.publish(lost);
          revokeOrLetExpire(lease);
        });
  }

  private void drop(Lease lease) {
    lease.ended = true;
    lease.expiry.cancel(false);
    leases.remove(lease.id());
  }

  /** Renews a lease when it is due, and leaves a member that does not answer renewals. */
  private void renew(Lease lease) {
    Stream silent = null;
    synchronized (this) {
      if (lease.ended) {
        return;
      }
      LeaseClocks.Instant now = now();
      long renewal = renewal(lease);
      if (stream == null) {
        reopenLater(0);
      } else if (lease.unanswered.isEmpty()) {
        if (now.nanos() - lease.lastSent >= renewal) {
          send(lease, now);
        }
      } else if (now.nanos() - lease.unanswered.peek().sent().nanos() >= renewal) {
        // A whole renewal period without an answer: this member is slow, stalled or cut off.
        silent = stream;
        stream = null;
        connection.suspect(silent.member);
        reopenLater(0);
      }
      connection.later(renewal / CHECKS_PER_RENEWAL, () -> renew(lease));
    }
    if (silent != null) {
      silent.cancel();
    }
  }

  private void send(Lease lease, LeaseClocks.Instant now) {
    lease.unanswered.add(lease.certainty.request(now));
    lease.lastSent = now.nanos();
    stream.requests.onNext(LeaseKeepAliveRequest.newBuilder().setID(lease.id()).build());
  }

  private void reopenLater(long delay) {
    if (!opening && !closed) {
      opening = true;
      connection.later(delay, this::reopen);
    }
  }

  private synchronized void reopen() {
    opening = false;
    if (closed || stream != null || leases.isEmpty()) {
      return;
    }
    stream = new Stream(connection.member());
    stream.open();
    if (stream == null) {
      return; // it ended before it began
    }
    LeaseClocks.Instant now = now();
    for (Lease lease : leases.values()) {
      lease.unanswered.clear();
      send(lease, now);
    }
  }

  private void answered(Stream from, LeaseKeepAliveResponse response) {
    Lease gone;
    String lost;
    synchronized (this) {
      Lease lease = leases.get(response.getID());
      if (from != stream || lease == null || lease.unanswered.isEmpty()) {
        return;
      }
      backoff.reset();
      Certainty.Request request = lease.unanswered.poll();
      if (!isBeforeDeadline(lease)) {
        // The answer comes too late, as after a suspension: another candidate may lead already.
        dropExpired(lease);
        return;
      }
      if (response.getTTL() > 0 && !wentBack(response.getHeader())) {
        lease.certainty.answered(request, Duration.ofSeconds(response.getTTL()));
        armExpiry(lease);
        return;
      }
      drop(lease);
      gone = lease;
      lost =
          response.getTTL() > 0
              ? "etcd has fewer revisions than before: its data were restored"
              : "etcd does not know it any more: it expired or was revoked";
    }
    gone.publish(new LeaseState.Lost(lost));
  }

  /**
   * Returns whether a member has lost revisions, as after a restore from a snapshot. A lease and a
   * lock in the snapshot do not prove the later writes.
   */
  private boolean wentBack(ResponseHeader header) {
    long before = revisions.merge(header.getMemberId(), header.getRevision(), Math::max);
    if (header.getRevision() == before) {
      return false;
    }
    revisions.put(header.getMemberId(), header.getRevision());
    return true;
  }

  private void ended(Stream which, boolean failed) {
    synchronized (this) {
      if (which != stream) {
        return; // the keeper itself left it
      }
      if (failed) {
        connection.suspect(which.member);
      }
      stream = null;
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
      stream = null;
      reopenLater(0);
    }
    left.cancel();
  }

  void revoke(Lease lease) throws InterruptedException {
    synchronized (this) {
      if (lease.ended) {
        return;
      }
      drop(lease);
    }
    lease.publish(new LeaseState.Lost("revoked by its holder"));
    sendRevoke(lease, CALL);
  }

  private void sendRevoke(Lease lease, Duration within) throws InterruptedException {
    try {
      connection.call(
          LeaseGrpc.getLeaseRevokeMethod(),
          LeaseRevokeRequest.newBuilder().setID(lease.id()).build(),
          EtcdConnection.Effect.REPEATABLE,
          () -> "revoke " + lease,
          within);
    } catch (EtcdRefusedException refused) {
      if (refused.error() != EtcdError.LEASE_NOT_FOUND) {
        throw refused;
      }
    }
  }

  void release(Lease lease) {
    synchronized (this) {
      if (lease.ended) {
        return;
      }
      drop(lease);
    }
    lease.publish(new LeaseState.Released());
  }

  void closeQuietly(Lease lease) {
    synchronized (this) {
      if (lease.ended) {
        return;
      }
      drop(lease);
    }
    lease.publish(new LeaseState.Lost("closed by its holder"));
    CountDownLatch done = new CountDownLatch(1);
    connection.work(
        () -> {
          revokeOrLetExpire(lease);
          done.countDown();
        });
    try {
      done.await(REVOKE_AT_CLOSE.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException inAHurry) {
      Thread.currentThread().interrupt();
    }
  }

  private void revokeOrLetExpire(Lease lease) {
    try {
      sendRevoke(lease, REVOKE_AT_CLOSE);
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    } catch (EtcdException unreachable) {
      // No client renews it, so etcd lets it expire.
      return;
    }
  }

  @Override
  public void close() {
    Stream last;
    List<Lease> open;
    synchronized (this) {
      closed = true;
      last = stream;
      stream = null;
      open = List.copyOf(leases.values());
      open.forEach(this::drop);
    }
    open.forEach(lease -> lease.publish(new LeaseState.Lost("the etcd client was closed")));
    if (last != null) {
      last.cancel();
    }
  }

  private final class Stream
      implements ClientResponseObserver<LeaseKeepAliveRequest, LeaseKeepAliveResponse> {

    private final EtcdChannels.Member member;
    private ClientCallStreamObserver<LeaseKeepAliveRequest> requests;

    Stream(EtcdChannels.Member member) {
      this.member = member;
    }

    void open() {
      ClientCalls.asyncBidiStreamingCall(
          member.leading().newCall(LeaseGrpc.getLeaseKeepAliveMethod(), CallOptions.DEFAULT), this);
    }

    void cancel() {
      requests.cancel("left for another member", null);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<LeaseKeepAliveRequest> stream) {
      requests = stream;
    }

    @Override
    public void onNext(LeaseKeepAliveResponse response) {
      answered(this, response);
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
