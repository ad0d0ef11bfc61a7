package dev.polis.ctl.node;

import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.common.LogFilter;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Reads the log of a node. A stream that is followed and ends because the service behind it is
 * replaced, or the node's process restarts, continues where it was: nothing is left out, nothing
 * comes twice.
 */
public final class LogStream {
  /** Lets the entries of all names below the requested one pass. */
  public static final LogFilter WITH_CHILDREN =
      LogFilter.newBuilder().setWithChildren(LogFilter.WithChildren.getDefaultInstance()).build();

  /** A process is back within a few seconds; ten times that is no restart any more. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /**
   * A successor that is there already answers at once; so the first attempt waits for next to
   * nothing.
   */
  private static final Duration FIRST_PAUSE = Duration.ofMillis(10);

  /** A node that is away for longer is not asked more often than once a second. */
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

  private final Function<LogsRequest, BlockingClientCall<?, LogsResponse>> opener;
  private final LogsRequest request;
  private long position; // 0 until the node has sent one
  private long heard = System.nanoTime();
  private Duration pause = FIRST_PAUSE;

  /**
   * Prepares to read.
   *
   * @param opener sends a request, and begins a call with it
   */
  public LogStream(
      Function<LogsRequest, BlockingClientCall<?, LogsResponse>> opener, LogsRequest request) {
    this.opener = opener;
    this.request = request;
  }

  /**
   * Reads until the log ends, which one that is followed does not, or the reader has enough.
   *
   * @param reader gets each response, and returns whether it wants more
   * @throws StatusException what the node said when it ended the stream for good
   */
  public void read(Predicate<LogsResponse> reader) throws StatusException, InterruptedException {
    LogsRequest next = request;
    while (true) {
      try {
        readOnce(opener.apply(next), reader);
        return;
      } catch (StatusException e) {
        if (!resumable(e)) {
          throw e;
        }
      }
      Thread.sleep(pause);
      pause =
          pause.multipliedBy(2).compareTo(LONGEST_PAUSE) < 0
              ? pause.multipliedBy(2)
              : LONGEST_PAUSE;
      next =
          request.toBuilder()
              .setBacklogMode(BacklogMode.BACKLOG_MODE_ALL)
              .clearBacklogCount()
              .setAfter(position)
              .build();
    }
  }

  private void readOnce(BlockingClientCall<?, LogsResponse> call, Predicate<LogsResponse> reader)
      throws StatusException, InterruptedException {
    for (LogsResponse response = call.read(); response != null; response = call.read()) {
      heard = System.nanoTime();
      pause = FIRST_PAUSE;
      position = Math.max(position, response.getPosition());
      if (!reader.test(response)) {
        call.cancel("the reader has ended", null);
        return;
      }
    }
  }

  private boolean resumable(StatusException end) {
    return request.getStreamMode() == StreamMode.STREAM_MODE_UNBUFFERED
        && end.getStatus().getCode() == Status.Code.UNAVAILABLE
        && position > 0
        && System.nanoTime() - heard < PATIENCE.toNanos();
  }
}
