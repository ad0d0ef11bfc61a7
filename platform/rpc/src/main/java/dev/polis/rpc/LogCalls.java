package dev.polis.rpc;

import com.google.protobuf.Timestamp;
import dev.polis.logtree.LogBatch;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPage;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.logtree.LeveledLogSeverity;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.BiConsumer;

/**
 * Answers the method {@code Logs}, which several services have. It is in this module, since bundles
 * share no code and this module is the lowest one that knows the wire format, the log tree and
 * streams.
 *
 * <p>This class logs nothing: a stream of all logs would also send the entries about itself.
 */
public final class LogCalls {
  /** The largest number of entries in one response, as clients expect. */
  static final int CHUNK_ENTRIES = 2000;

  /**
   * The size at which a response is full, and the size of a read from the log. A caller that does
   * not read costs the node this much memory. Larger responses are no faster.
   */
  static final int CHUNK_BYTES = 64 << 10;

  /** The delay after which a caller without a place tries again. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  /** The largest number of filters in a request; there are four kinds. */
  static final int MAX_FILTERS = 10;

  private final LogTree logs;
  private final CallStreams streams;
  private final int most;
  private final Semaphore room;

  /**
   * Creates a server of logs.
   *
   * @param streams owns the threads of the answers; the caller closes it
   * @param most the number of calls at the same time; further ones are refused
   */
  public LogCalls(LogTree logs, CallStreams streams, int most) {
    this.logs = logs;
    this.streams = streams;
    this.most = most;
    this.room = new Semaphore(most);
  }

  /**
   * Answers one call: first the backlog, then on request the stream, which begins exactly after the
   * backlog. A slow caller that misses entries gets a response about the gap at its place. Each
   * response names its position in the log. So a caller continues there when the service is
   * replaced, without a gap and without an entry that comes twice.
   *
   * @throws RpcException INVALID_ARGUMENT if the request makes no sense, naming the value;
   *     UNAVAILABLE if too many calls are being answered
   */
  public void serve(LogsRequest request, StreamObserver<LogsResponse> caller) {
    LogQuery query = LogCallQuery.of(request);
    streams.serve("logs of " + describe(query), caller, sink -> sendWithinRoom(query, sink));
  }

  private void sendWithinRoom(LogQuery query, CallStreams.Sink<LogsResponse> sink)
      throws InterruptedException {
    if (!room.tryAcquire()) {
      throw RpcException.unavailable(
          "%d readers of the log are served already; call again when one of them has ended"
              .formatted(most),
          RETRY);
    }
    try {
      send(query, sink);
    } finally {
      room.release();
    }
  }

  private static String describe(LogQuery query) {
    return query.dn().isEmpty() ? "the root" : query.dn();
  }

  private void send(LogQuery query, CallStreams.Sink<LogsResponse> sink)
      throws InterruptedException {
    try (LogReader reader = logs.read(query)) {
      if (reader.resumedWithGap()) {
        sink.send(LogsResponse.newBuilder().setGap(true).build());
      }
      if (!sendBacklog(reader, sink) && query.following()) {
        sink.send(LogsResponse.newBuilder().setPosition(reader.cursor()).build());
      }
      while (true) {
        Optional<LogBatch> batch = reader.next();
        if (batch.isEmpty()) {
          return;
        }
        send(batch.get().entries(), LogsResponse.Builder::addStreamEntries, sink);
        if (batch.get().missed() > 0) {
          sink.send(LogsResponse.newBuilder().setMissedEntries(batch.get().missed()).build());
        }
      }
    }
  }

  /** Sends the backlog part by part; returns whether there was any. */
  private static boolean sendBacklog(LogReader reader, CallStreams.Sink<LogsResponse> sink)
      throws InterruptedException {
    boolean any = false;
    LogPage page;
    do {
      // Only after the caller has room, since these entries would wait in memory for this caller
      // alone.
      sink.awaitRoom();
      page = reader.page(CHUNK_BYTES);
      if (page.gap()) {
        sink.send(LogsResponse.newBuilder().setGap(true).build());
      }
      send(page.entries(), LogsResponse.Builder::addBacklogEntries, sink);
      any |= !page.entries().isEmpty();
    } while (!page.entries().isEmpty());
    return any;
  }

  private static void send(
      List<LogEntry> entries,
      BiConsumer<LogsResponse.Builder, dev.polis.wire.logtree.LogEntry> add,
      CallStreams.Sink<LogsResponse> sink)
      throws InterruptedException {
    LogsResponse.Builder chunk = LogsResponse.newBuilder();
    int count = 0;
    int bytes = 0;
    for (LogEntry entry : entries) {
      dev.polis.wire.logtree.LogEntry message = wire(entry);
      int size = message.getSerializedSize();
      if (count == CHUNK_ENTRIES || count > 0 && bytes + size > CHUNK_BYTES) {
        sink.send(chunk.build());
        chunk.clear();
        count = 0;
        bytes = 0;
      }
      add.accept(chunk, message);
      chunk.setPosition(entry.sequence());
      count++;
      bytes += size;
    }
    if (count > 0) {
      sink.send(chunk.build());
    }
  }

  /** Returns an entry as a message. */
  public static dev.polis.wire.logtree.LogEntry wire(LogEntry entry) {
    var message = dev.polis.wire.logtree.LogEntry.newBuilder().setDn(entry.dn());
    switch (entry.payload()) {
      case LogPayload.Leveled leveled ->
          message
              .getLeveledBuilder()
              .addAllLines(leveled.lines())
              .setTimestamp(wire(leveled.timestamp()))
              .setSeverity(wire(leveled.severity()))
              .setLocation(leveled.location());
      case LogPayload.Raw raw ->
          message.getRawBuilder().setData(raw.data()).setOriginalLength(raw.originalLength());
    }
    return message.build();
  }

  private static Timestamp wire(Instant time) {
    return Timestamp.newBuilder()
        .setSeconds(time.getEpochSecond())
        .setNanos(time.getNano())
        .build();
  }

  private static LeveledLogSeverity wire(Severity severity) {
    return switch (severity) {
      case INFO -> LeveledLogSeverity.LEVELED_LOG_SEVERITY_INFO;
      case WARNING -> LeveledLogSeverity.LEVELED_LOG_SEVERITY_WARNING;
      case ERROR -> LeveledLogSeverity.LEVELED_LOG_SEVERITY_ERROR;
      case FATAL -> LeveledLogSeverity.LEVELED_LOG_SEVERITY_FATAL;
    };
  }
}
