package dev.polis.rpc.audit;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Writes the audit log of this node. Records wait in memory until one thread has written them; its
 * creator closes it. Safe for any thread.
 */
public final class AuditLog implements AutoCloseable {
  /**
   * The number of records, of half a kibibyte each, that wait in memory before the log refuses
   * changes.
   */
  public static final int HELD = 1024;

  /** The number of outcomes that wait in memory at most; the log only counts further ones. */
  private static final int MOST = 4 * HELD;

  /** The time that outcomes wait for the fsync of another record, so that one fsync serves both. */
  private static final Duration LAZY = Duration.ofMillis(100);

  /** The interval between attempts to write to a full disk. */
  private static final Duration RETRY = Duration.ofSeconds(2);

  /**
   * The first period of refusals: a person sees an attack begin after 10 s, and a lasting one adds
   * 24 lines a day.
   */
  private static final Duration REFUSALS_FIRST = Duration.ofSeconds(10);

  /** The time for the last records; a disk that needs longer hangs, and the process has to end. */
  private static final Duration LAST_WRITE = Duration.ofSeconds(10);

  private static final Duration HOUR = Duration.ofHours(1);

  /** The UTF-8 bytes that a char takes at most. */
  private static final int BYTES_PER_CHAR = 3;

  /** The bytes of a line's hash, number, time and tabs. */
  private static final int LINE_OVERHEAD = 160;

  private static final long NOTHING = Long.MAX_VALUE;

  private record Pending(long ticket, AuditRecord.Draft draft) {
    int bytes() {
      return LINE_OVERHEAD
          + BYTES_PER_CHAR
              * (draft.call().length()
                  + draft.peer().length()
                  + draft.method().length()
                  + draft.text().length());
    }
  }

  private final AuditSettings settings;
  private final Log log;
  private final boolean kept;
  private final MutableValue<AuditStatus> status = new MutableValue<>();
  private final AuditTally refusals =
      new AuditTally("calls of strangers refused", REFUSALS_FIRST, HOUR, System::nanoTime);
  private final AuditTally reports =
      new AuditTally("reports of nodes about themselves", HOUR, HOUR, System::nanoTime);

  // Guarded by this.
  private final Deque<Pending> queue = new ArrayDeque<>();
  private Path wanted; // null while there is no data volume
  private Path open; // null while the writer has no file
  private boolean failing;
  private boolean busy; // true while the writer uses its files
  private boolean stopping;
  private boolean stopped;
  private long tickets;
  private long settled;
  private long lazyUntil = NOTHING;
  private long retryAt;
  private boolean urgent;
  private long dropped;
  private long confirmed;

  // Used by the writing thread alone.
  private AuditWriter writer; // null while no file is open
  private Path known; // null until a directory was open; owns knownSequence
  private long knownSequence;

  /**
   * Starts the log; its records wait until {@link #open} names the directory.
   *
   * @param log receives the errors of the disk
   */
  public AuditLog(AuditSettings settings, Log log) {
    this(settings, log, true);
    Thread.ofPlatform().daemon().name("audit").start(this::run);
  }

  private AuditLog(AuditSettings settings, Log log, boolean kept) {
    this.settings = settings;
    this.log = log;
    this.kept = kept;
    this.stopped = !kept;
    status.set(new AuditStatus.Closed());
  }

  /** Returns a log that drops all records, for a host of calls without a data volume. */
  public static AuditLog discarding(Log log) {
    return new AuditLog(AuditSettings.DEFAULT, log, false);
  }

  /** Returns the present state of the log. */
  public Value<AuditStatus> status() {
    return status;
  }

  // ---- the volume

  /**
   * Writes to this directory from now on, the waiting records first. It does nothing if the
   * directory is open already, as after the replacement of an organ.
   */
  public synchronized void open(Path directory) {
    if (!directory.equals(wanted)) {
      wanted = directory;
      retryAt = 0;
      notifyAll();
    }
  }

  /** Writes the waiting records and closes the file, so that the volume can be unmounted. */
  public synchronized void release() throws InterruptedException {
    wanted = null;
    notifyAll();
    while ((open != null || busy) && !stopped) {
      wait();
    }
  }

  // ---- the records

  /**
   * Records that a changing call begins.
   *
   * @return a ticket for {@link #await}
   * @throws AuditFullException if too many records wait for the disk
   */
  public synchronized long begin(String call, String peer, String method, String text) {
    if (queue.size() >= HELD) {
      throw full();
    }
    return add(AuditKind.BEGIN, call, peer, method, text, true);
  }

  private AuditFullException full() {
    String where =
        switch (status.peek().orElseThrow()) {
          case AuditStatus.Failing(Path folder, String reason) ->
              "the disk refuses them (%s): make room at %s, or repair it".formatted(reason, folder);
          case AuditStatus.Open(Path folder) -> folder + " is slow: try again";
          case AuditStatus.Closed() -> "the data volume is not mounted: wait, or mount it";
        };
    return new AuditFullException(
        "nothing was changed: %d records of the audit log wait to be written, and %s"
            .formatted(HELD, where),
        RETRY);
  }

  /** Records the outcome of a call that has a BEGIN. */
  public synchronized void end(String call, String peer, String method, String text) {
    add(AuditKind.END, call, peer, method, text, false);
  }

  /**
   * Records the outcome of a call without a BEGIN.
   *
   * @return a ticket for {@link #await}
   */
  public synchronized long call(String call, String peer, String method, String text) {
    return add(AuditKind.CALL, call, peer, method, text, true);
  }

  /** Records an event that is no call. */
  public synchronized void note(String text) {
    add(AuditKind.NOTE, "", "", "", text, true);
  }

  /**
   * Counts a stranger's refused call or connection.
   *
   * @param source its address
   * @param reason one of a bounded number of reasons, such as a status code and a method
   */
  public void refused(String source, String reason) {
    count(refusals, "from " + source + " " + reason);
  }

  /** Counts a node's report about itself. */
  public void reported(String peer, String method, String outcome) {
    count(reports, peer + " " + method + " " + outcome);
  }

  private void count(AuditTally tally, String key) {
    if (kept && tally.add(key)) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  private long add(
      AuditKind kind, String call, String peer, String method, String text, boolean soon) {
    if (!kept) {
      return settled;
    }
    if (queue.size() >= MOST) {
      dropped++;
      return settled;
    }
    tickets++;
    queue.addLast(
        new Pending(tickets, new AuditRecord.Draft(Instant.now(), kind, call, peer, method, text)));
    if (soon && !urgent) {
      urgent = true;
      notifyAll();
    } else if (!soon && lazyUntil == NOTHING) {
      lazyUntil = System.nanoTime() + LAZY.toNanos();
      notifyAll();
    }
    return tickets;
  }

  /**
   * Waits until a record is on the disk, or held because there is no disk for it.
   *
   * @param ticket the ticket of the record
   */
  public synchronized void await(long ticket) throws InterruptedException {
    while (settled < ticket && wanted != null && !failing && !stopped) {
      wait();
    }
  }

  // ---- readers

  /** Returns the folder of the files; empty while no file is open. */
  public synchronized Optional<AuditFolder> folder() {
    return Optional.ofNullable(open).map(AuditFolder::new);
  }

  /** Returns the number of the last record that is on the disk. */
  public synchronized long confirmed() {
    return confirmed;
  }

  /** Waits until a later record is on the disk, and returns the number of the last one. */
  public synchronized long awaitAfter(long sequence) throws InterruptedException {
    while (confirmed <= sequence && !stopped) {
      wait();
    }
    return confirmed;
  }

  // ---- the writing thread

  private void run() {
    try {
      boolean last = false;
      while (!last) {
        last = awaitWork();
        sum(last && target() != null);
        write();
        rest();
      }
    } catch (InterruptedException e) {
      log.error("the audit log's writer was interrupted; nothing is written any more");
    } finally {
      closeWriter();
      synchronized (this) {
        stopped = true;
        open = null;
        notifyAll();
      }
    }
  }

  /** Waits for work; returns true when it is the last. */
  private synchronized boolean awaitWork() throws InterruptedException {
    long left = pause();
    while (left > 0 && !stopping) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
      left = pause();
    }
    busy = true;
    return stopping;
  }

  private synchronized void rest() {
    busy = false;
    notifyAll();
  }

  /** Returns the nanoseconds until the next work. */
  private long pause() {
    long now = System.nanoTime();
    if (wanted == null) {
      return open == null ? sums() : 0;
    }
    if (open == null) {
      return retryAt == 0 ? 0 : Math.min(sums(), Math.max(0, retryAt - now));
    }
    if (urgent || !wanted.equals(open)) {
      return 0;
    }
    return Math.min(sums(), lazyUntil == NOTHING ? NOTHING : Math.max(0, lazyUntil - now));
  }

  private long sums() {
    return Math.min(orNever(refusals.left()), orNever(reports.left()));
  }

  private static long orNever(OptionalLong nanos) {
    return nanos.orElse(NOTHING);
  }

  private void sum(boolean all) {
    sum(refusals, AuditKind.REFUSALS, all);
    sum(reports, AuditKind.REPORTS, all);
  }

  private void sum(AuditTally tally, AuditKind kind, boolean all) {
    OptionalLong left = tally.left();
    if (left.isPresent() && (all || left.getAsLong() == 0)) {
      tally
          .take()
          .ifPresent(
              line -> {
                synchronized (this) {
                  add(kind, "", "", "", line, true);
                }
              });
    }
  }

  private void write() {
    Path target = target();
    try {
      if (target == null || !target.equals(openNow())) {
        switchTo(target);
      }
      while (writer != null) {
        List<Pending> batch = take();
        if (batch.isEmpty()) {
          return;
        }
        append(batch);
      }
    } catch (IOException | RuntimeException e) {
      failed(e);
    }
  }

  private synchronized Path target() {
    return wanted;
  }

  private synchronized Path openNow() {
    return open;
  }

  private void switchTo(Path target) throws IOException {
    if (writer != null) {
      sum(true);
      drain();
    }
    closeWriter();
    publish(null, new AuditStatus.Closed());
    if (target == null) {
      known = null;
      return;
    }
    long sure = target.equals(known) ? knownSequence : Long.MAX_VALUE;
    writer = AuditWriter.open(new AuditFolder(target), settings, sure);
    known = target;
    knownSequence = writer.last().sequence();
    publish(target, new AuditStatus.Open(target));
  }

  private void drain() throws IOException {
    for (List<Pending> batch = take(); !batch.isEmpty(); batch = take()) {
      append(batch);
    }
  }

  private void publish(Path now, AuditStatus next) {
    synchronized (this) {
      boolean recovered = failing && next instanceof AuditStatus.Open;
      open = now;
      failing = false;
      retryAt = 0;
      confirmed = now == null ? confirmed : knownSequence;
      if (recovered) {
        log.info("the audit log is written again, with %d records that were held", queue.size());
      }
      notifyAll();
    }
    status.set(next);
  }

  /** Takes as many records as one append may write. */
  private synchronized List<Pending> take() {
    if (dropped > 0 && queue.size() < MOST) {
      long lost = dropped;
      dropped = 0;
      add(
          AuditKind.NOTE,
          "",
          "",
          "",
          "%d records are lost: the disk took none for too long".formatted(lost),
          true);
    }
    urgent = false;
    lazyUntil = NOTHING;
    List<Pending> batch = new ArrayList<>();
    int bytes = 0;
    while (!queue.isEmpty() && bytes + queue.peek().bytes() <= AuditWriter.LONGEST_WRITE) {
      bytes += queue.peek().bytes();
      batch.add(queue.poll());
    }
    return batch;
  }

  private void append(List<Pending> batch) throws IOException {
    try {
      AuditMark mark = writer.append(batch.stream().map(Pending::draft).toList());
      knownSequence = mark.sequence();
    } catch (IOException | RuntimeException e) {
      synchronized (this) {
        batch.reversed().forEach(queue::addFirst);
      }
      throw e;
    }
    synchronized (this) {
      settled = batch.getLast().ticket();
      confirmed = knownSequence;
      notifyAll();
    }
  }

  private void failed(Exception failure) {
    closeWriter();
    AuditStatus next = new AuditStatus.Closed();
    boolean first;
    synchronized (this) {
      open = null;
      first = !failing;
      failing = wanted != null;
      if (failing) {
        next = new AuditStatus.Failing(wanted, String.valueOf(failure));
      }
      retryAt = System.nanoTime() + RETRY.toNanos();
      notifyAll();
    }
    status.set(next);
    if (first) {
      log.error(
          "the node cannot write the audit log; it keeps the records in memory and tries again: %s",
          failure);
    }
  }

  private void closeWriter() {
    if (writer == null) {
      return;
    }
    try {
      writer.close();
    } catch (IOException e) {
      log.error("a file of the audit log cannot be closed: %s", e);
    }
    writer = null;
  }

  private void awaitStopped() {
    try {
      long end = System.nanoTime() + LAST_WRITE.toNanos();
      while (!stopped && end - System.nanoTime() > 0) {
        TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
      }
    } catch (InterruptedException e) {
      log.error("interrupted while the audit log was written to its end");
      Thread.currentThread().interrupt();
    }
  }

  /** Writes the waiting records and ends the thread; logs the records that no disk accepts. */
  @Override
  public synchronized void close() {
    stopping = true;
    notifyAll();
    awaitStopped();
    if (!queue.isEmpty()) {
      log.error(
          "%d records of the audit log are lost, because the node could not write them to a disk",
          queue.size());
    }
  }
}
