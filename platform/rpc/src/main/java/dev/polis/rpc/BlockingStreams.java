package dev.polis.rpc;

import dev.polis.base.backoff.Uninterrupted;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Ends streaming calls that are made with blocking stubs. */
public final class BlockingStreams {

  /** gRPC reports the end of a cancelled call at once, but a busy machine may take a moment. */
  private static final Duration END = Duration.ofSeconds(1);

  private BlockingStreams() {}

  /**
   * Cancels a call and releases what has arrived and was not read.
   *
   * <p>gRPC runs the callbacks of a blocking call on the thread that reads. A call that is only
   * cancelled keeps the messages that arrived meanwhile, and their network buffers are lost.
   *
   * @param reason why, for the other side's log
   */
  public static void end(BlockingClientCall<?, ?> call, String reason) {
    call.cancel(reason, null);
    boolean more = true;
    while (more) {
      more = Uninterrupted.call(() -> read(call));
    }
  }

  private static boolean read(BlockingClientCall<?, ?> call) throws InterruptedException {
    try {
      return call.read(END.toMillis(), TimeUnit.MILLISECONDS) != null;
    } catch (StatusException | TimeoutException ended) {
      // A StatusException is the normal end of a cancelled call; after a timeout no message is
      // left.
      return false;
    }
  }
}
