package dev.polis.roles;

import com.google.protobuf.Timestamp;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.MutableValue;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthScope;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.HeartbeatUpdateRequest;
import dev.polis.wire.curator.HeartbeatUpdateResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** Sends the leader a heartbeat in each interval, over one stream. */
final class RoleHeartbeat {

  /** The seconds for an answer of the leader, after which the stream ends. */
  private static final long ANSWER_SECONDS = 5;

  private static final String TWICE = "node-runs-twice";

  /** The name of this process, which a copy of its node does not share. */
  private static final String PROCESS =
      "%d@%s"
          .formatted(
              ProcessHandle.current().pid(),
              ProcessHandle.current().info().startInstant().map(Instant::toString).orElse(""));

  private final LeaderConnection connection;
  private final Duration interval;
  private final HealthScope health;
  private final HeartbeatUpdateRequest beat;
  private final LeaderContact contact;
  private final InstantSource clock;
  private final LeaderClock leaderClock;
  private final BooleanSupplier keepsRecords;
  private final MutableValue<String> copy;

  /**
   * @param address the address of this node
   * @param keepsRecords whether etcd runs on this node
   * @param copy gets the address of another process with this node's id; empty while there is none
   */
  RoleHeartbeat(
      LeaderConnection connection,
      Duration interval,
      HealthScope health,
      InstantSource clock,
      String address,
      BooleanSupplier keepsRecords,
      MutableValue<String> copy) {
    this.clock = clock;
    this.copy = copy;
    this.keepsRecords = keepsRecords;
    this.health = health;
    this.beat = HeartbeatUpdateRequest.newBuilder().setProcess(PROCESS).setAddress(address).build();
    this.leaderClock = new LeaderClock(health);
    this.connection = connection;
    this.interval = interval;
    this.contact =
        new LeaderContact(
            health,
            why ->
                HealthCondition.degraded(
                    "heartbeat-not-sent",
                    "no heartbeat of this node has reached the leader " + why,
                    LeaderContact.REMEDY),
            System::nanoTime);
  }

  void run(Context context) throws InterruptedException {
    context.healthy();
    Backoff backoff = connection.backoff();
    while (true) {
      try {
        beat(backoff);
      } catch (StatusException | TimeoutException e) {
        context.log().warning("heartbeat stream ended: %s", e.getMessage());
        contact.failed(e.getMessage());
        backoff.pause();
      }
    }
  }

  private void beat(Backoff backoff)
      throws InterruptedException, StatusException, TimeoutException {
    BlockingClientCall<HeartbeatUpdateRequest, HeartbeatUpdateResponse> call =
        CuratorGrpc.newBlockingV2Stub(connection.channel()).withWaitForReady().heartbeat();
    try {
      while (true) {
        Instant asked = clock.instant();
        send(call);
        HeartbeatUpdateResponse answer = answer(call);
        if (answer == null) {
          throw new TimeoutException("the leader ended the stream");
        }
        compare(asked, answer);
        reportOther(answer.getOtherAddress());
        backoff.reset();
        contact.answered();
        Thread.sleep(jittered());
      }
    } finally {
      BlockingStreams.end(call, "this heartbeat stream has ended");
      reportOther(""); // another leader may not know of both
    }
  }

  private void compare(Instant asked, HeartbeatUpdateResponse answer) {
    if (answer.hasLeaderClock()) {
      Timestamp leader = answer.getLeaderClock();
      leaderClock.compare(
          asked, Instant.ofEpochSecond(leader.getSeconds(), leader.getNanos()), clock.instant());
    }
  }

  /**
   * Reports another process with this node's id, of which the leader knows by its heartbeats. A
   * node that keeps records is then DOWN: its member of etcd may vote twice.
   */
  private void reportOther(String other) {
    copy.set(other);
    if (other.isEmpty()) {
      health.clear(TWICE);
      return;
    }
    health.set(
        new HealthCondition(
                keepsRecords.getAsBoolean() ? HealthLevel.DOWN : HealthLevel.DEGRADED,
                TWICE,
                "this node runs twice: besides this process at %s another one at %s sends heartbeats with the same node id, so one of them runs from a copy of the other's state directory"
                    .formatted(beat.getAddress(), other),
                "stop the one that was started from the copy (./polis down --state DIR on its machine) and delete that folder; a further node needs an empty state directory and parameters of its own: polisctl params make")
            .dueTo("roles"));
  }

  private void send(BlockingClientCall<HeartbeatUpdateRequest, ?> call)
      throws InterruptedException, StatusException, TimeoutException {
    try {
      call.write(beat, ANSWER_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException unsent) {
      throw new TimeoutException(
          "no connection to the leader took a heartbeat within " + ANSWER_SECONDS + " s");
    }
  }

  /** Returns the answer; null if the leader ended the stream. */
  private static HeartbeatUpdateResponse answer(
      BlockingClientCall<HeartbeatUpdateRequest, HeartbeatUpdateResponse> call)
      throws InterruptedException, StatusException, TimeoutException {
    try {
      return call.read(ANSWER_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException silent) {
      throw new TimeoutException("the leader did not answer within " + ANSWER_SECONDS + " s");
    }
  }

  /**
   * Returns the interval, shortened by up to a fifth, so that nodes that started together drift
   * apart.
   */
  long jittered() {
    long millis = interval.toMillis();
    return millis - ThreadLocalRandom.current().nextLong(millis / 5 + 1);
  }
}
