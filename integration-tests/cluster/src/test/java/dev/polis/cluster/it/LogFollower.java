package dev.polis.cluster.it;

import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.logtree.LeveledLogSeverity;
import dev.polis.wire.logtree.LogEntry;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Follows the whole log of a node through all ends of the stream, and counts lost and repeated
 * lines: positions grow by one with each entry of the whole log, so a gap or a repetition shows.
 */
final class LogFollower implements AutoCloseable {

  /** The number of fault lines that are kept: as many as a person would read. */
  private static final int KEPT = 20;

  private static final Pattern TOKEN = Pattern.compile("fencing token is ([0-9]+)");

  private final OwnerApi owner;
  private final Thread thread;
  private volatile boolean over;
  private final Queue<String> faults = new ConcurrentLinkedQueue<>();
  private final Set<String> tokens = new TreeSet<>();
  private long position; // 0 until the node has sent one
  private long missed; // since the position
  private long lines;
  private long lost;
  private long doubled;
  private long tooSlow;
  private long streams;

  LogFollower(OwnerApi owner) {
    this.owner = owner;
    this.thread = Thread.ofVirtual().name("follower of the log").start(this::run);
  }

  private void run() {
    while (!over) {
      try {
        owner.followLog(next(), this::accept);
      } catch (StatusException e) {
        if (e.getStatus().getCode() != Status.Code.UNAVAILABLE) {
          fault("the stream ended with " + e.getStatus());
        }
      } catch (Exception e) {
        fault("the stream ended with " + e);
      }
    }
  }

  private synchronized LogsRequest next() {
    streams++;
    LogsRequest.Builder request =
        OwnerApi.wholeLog().setStreamMode(LogsRequest.StreamMode.STREAM_MODE_UNBUFFERED);
    return position == 0
        ? request.setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT).setBacklogCount(1).build()
        : request.setBacklogMode(BacklogMode.BACKLOG_MODE_ALL).setAfter(position).build();
  }

  private void fault(String what) {
    if (!over && faults.size() < KEPT) {
      faults.add(what);
    }
  }

  private synchronized void accept(LogsResponse response) {
    missed += response.getMissedEntries();
    tooSlow += response.getMissedEntries();
    if (response.getGap()) {
      fault("the log did not go back to position " + position);
    }
    int count = response.getBacklogEntriesCount() + response.getStreamEntriesCount();
    if (count == 0) {
      return;
    }
    if (position > 0) {
      long there = response.getPosition() - position - missed;
      lost += Math.max(0, there - count);
      doubled += Math.max(0, count - there);
    }
    position = response.getPosition();
    missed = 0;
    lines += count;
    Stream.concat(
            response.getBacklogEntriesList().stream(), response.getStreamEntriesList().stream())
        .forEach(this::read);
  }

  private void read(LogEntry entry) {
    String text = String.join("\n", entry.getLeveled().getLinesList()) + entry.getRaw().getData();
    if (entry.getLeveled().getSeverityValue() >= LeveledLogSeverity.LEVELED_LOG_SEVERITY_ERROR_VALUE
        || text.contains("Exception")) {
      fault(entry.getDn() + ": " + text);
    }
    Matcher token = TOKEN.matcher(text);
    if (token.find()) {
      tokens.add(token.group(1));
    }
  }

  /** Returns errors and exceptions in the log, and unexpected ends of the stream. */
  List<String> faults() {
    return List.copyOf(faults);
  }

  /**
   * Returns the fencing tokens that leaders have logged: one per election, which hand-overs keep.
   */
  synchronized Set<String> tokens() {
    return Set.copyOf(tokens);
  }

  synchronized long lines() {
    return lines;
  }

  synchronized long lost() {
    return lost;
  }

  synchronized long doubled() {
    return doubled;
  }

  /** Returns the number of lines that the node left out because they were not read in time. */
  synchronized long tooSlow() {
    return tooSlow;
  }

  synchronized long streams() {
    return streams;
  }

  @Override
  public void close() {
    over = true;
    thread.interrupt();
  }
}
