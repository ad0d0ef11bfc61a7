package dev.polis.roles;

import dev.polis.supervision.Context;
import dev.polis.wire.curator.HeartbeatUpdateRequest;
import dev.polis.wire.curator.HeartbeatUpdateResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Tells the leader that this node lives. */
final class RoleHeartbeat {

  /** A leader that has not answered a heartbeat for this long is looked for anew. */
  private static final long ANSWER_SECONDS = 5;

  private final RoleConnection connection;
  private final Duration interval;

  RoleHeartbeat(RoleConnection connection, Duration interval) {
    this.connection = connection;
    this.interval = interval;
  }

  void run(Context context) throws InterruptedException {
    context.healthy();
    RoleBackoff backoff = new RoleBackoff();
    while (true) {
      try {
        beat(backoff);
      } catch (StatusException | TimeoutException e) {
        context.log().warning("heartbeat stream ended: %s", e.getMessage());
        backoff.pause();
      }
    }
  }

  private void beat(RoleBackoff backoff)
      throws InterruptedException, StatusException, TimeoutException {
    BlockingClientCall<HeartbeatUpdateRequest, HeartbeatUpdateResponse> call =
        connection.curator().withWaitForReady().heartbeat();
    try {
      while (true) {
        call.write(HeartbeatUpdateRequest.getDefaultInstance(), ANSWER_SECONDS, TimeUnit.SECONDS);
        if (answer(call) == null) {
          throw new TimeoutException("the leader ended the stream");
        }
        backoff.reset();
        Thread.sleep(jittered());
      }
    } finally {
      call.cancel("this heartbeat stream is over", null);
    }
  }

  private static HeartbeatUpdateResponse answer(
      BlockingClientCall<HeartbeatUpdateRequest, HeartbeatUpdateResponse> call)
      throws InterruptedException, StatusException, TimeoutException {
    try {
      return call.read(ANSWER_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException silent) {
      throw new TimeoutException("the leader did not answer within " + ANSWER_SECONDS + " s");
    }
  }

  /** Up to a fifth early, so that nodes that booted together do not beat together. */
  private long jittered() {
    long millis = interval.toMillis();
    return millis - ThreadLocalRandom.current().nextLong(millis / 5 + 1);
  }
}
