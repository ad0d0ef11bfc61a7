package dev.polis.faults.it;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/** Makes many calls at the same time. Safe for use by any thread. */
final class FuzzCalls {

  /** Enough calls to keep both sides busy; more would only wait in the node's executor. */
  private static final int UNARY_AT_A_TIME = 128;

  /**
   * More than of unary calls, since streams mostly wait, for an event or their deadline, at no
   * cost.
   */
  private static final int STREAMS_AT_A_TIME = 384;

  /** The time after which a unary call without an answer counts as hanging. */
  private static final int UNARY_SECONDS = 120;

  /** Long enough for many answers; some streams end before their first. */
  private static final int STREAM_MILLISECONDS = 1000;

  private final Semaphore unary = new Semaphore(UNARY_AT_A_TIME);
  private final Semaphore streams = new Semaphore(STREAMS_AT_A_TIME);
  private final FuzzTally tally;

  FuzzCalls(FuzzTally tally) {
    this.tally = tally;
  }

  /**
   * Starts a call in a random way; waits only if too many are under way.
   *
   * @param stray whether the channel leads to a listener that does not serve the method
   */
  void call(
      ManagedChannel channel,
      FuzzCell cell,
      List<byte[]> messages,
      boolean stray,
      RandomGenerator random)
      throws InterruptedException {
    FuzzMethod method = cell.method();
    Semaphore free = method.unary() ? unary : streams;
    free.acquire();
    boolean impatient = random.nextInt(50) == 0;
    ClientCall<byte[], byte[]> call =
        channel.newCall(method.call(), options(method, impatient, random));
    boolean mustEnd = method.unary() && !impatient;
    call.start(new Listening(call, cell, messages, stray, mustEnd, free), new Metadata());
    call.request(1);
    messages.forEach(call::sendMessage);
    if (random.nextInt(40) == 0) {
      call.cancel("the fuzzer changed its mind", null);
    } else if (method.unary() || random.nextInt(4) != 0) {
      call.halfClose();
    }
  }

  private static CallOptions options(FuzzMethod method, boolean impatient, RandomGenerator random) {
    long milliseconds =
        impatient
            ? 1 + random.nextInt(20)
            : method.unary()
                ? TimeUnit.SECONDS.toMillis(UNARY_SECONDS)
                : 1 + random.nextInt(STREAM_MILLISECONDS);
    // The listener below only counts, so it needs no thread of its own.
    return CallOptions.DEFAULT
        .withExecutor(Runnable::run)
        .withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS);
  }

  /** Waits until no call is under way. */
  void settle() throws InterruptedException {
    unary.acquire(UNARY_AT_A_TIME);
    unary.release(UNARY_AT_A_TIME);
    streams.acquire(STREAMS_AT_A_TIME);
    streams.release(STREAMS_AT_A_TIME);
  }

  private final class Listening extends ClientCall.Listener<byte[]> {
    private final ClientCall<byte[], byte[]> call;
    private final FuzzCell cell;
    private final List<byte[]> messages;
    private final boolean stray;
    private final boolean mustEnd;
    private final Semaphore free;
    private boolean answered;

    Listening(
        ClientCall<byte[], byte[]> call,
        FuzzCell cell,
        List<byte[]> messages,
        boolean stray,
        boolean mustEnd,
        Semaphore free) {
      this.call = call;
      this.cell = cell;
      this.messages = messages;
      this.stray = stray;
      this.mustEnd = mustEnd;
      this.free = free;
    }

    @Override
    public void onMessage(byte[] answer) {
      answered = true;
      if (cell.method().unary()) {
        call.request(1);
      } else {
        call.cancel("the fuzzer has heard enough", null);
      }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      try {
        tally.ended(cell, messages, new FuzzTally.End(status, answered, stray, mustEnd));
      } finally {
        free.release();
      }
    }
  }
}
