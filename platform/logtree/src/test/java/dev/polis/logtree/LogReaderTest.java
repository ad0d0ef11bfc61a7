package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.MachineSpeed;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LogReaderTest {
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final LogQuery MAIN = LogQuery.of("main").withChildren().backlogAll().follow();

  private final JournalTree tree = new JournalTree(LogLimits.DEFAULT);

  @Test
  @DisplayName("LOG-04 earlier entries arrive as backlog, later ones as a stream within a second")
  void log04_backlogThenStream() throws Exception {
    tree.log("main").info("hello, backlog");
    tree.raw("main.process").line("hello, raw backlog");

    try (LogReader reader = tree.read(MAIN)) {
      tree.log("main").info("hello, stream");
      tree.raw("main.process").line("hello, raw stream");

      assertEquals(
          List.of("hello, backlog", "hello, raw backlog"), LogTreeTest.messages(reader.backlog()));
      assertEquals(
          List.of("hello, stream", "hello, raw stream"),
          LogTreeTest.messages(reader.next(SOON).orElseThrow().entries()));
      assertTrue(reader.next(Duration.ZERO).orElseThrow().entries().isEmpty());

      CompletableFuture<Optional<LogBatch>> got = new CompletableFuture<>();
      startWaiting(reader, got);
      MachineSpeed speed = MachineSpeed.measure();
      long begin = System.nanoTime();
      tree.log("main").info("hello, reader that waits");

      assertEquals(
          List.of("hello, reader that waits"),
          LogTreeTest.messages(
              got.get(SOON.toSeconds(), TimeUnit.SECONDS).orElseThrow().entries()));
      Duration took = Duration.ofNanos(System.nanoTime() - begin);
      speed.assertWithin("the stream had the entry", Duration.ofSeconds(1), took);
    }
  }

  private static List<String> pages(LogReader reader, long bytes) {
    List<String> all = new ArrayList<>();
    for (LogPage page = reader.page(bytes); !page.entries().isEmpty(); page = reader.page(bytes)) {
      assertFalse(page.gap());
      assertTrue(page.entries().size() <= 1 + bytes / 152, "page of " + page.entries().size());
      all.addAll(LogTreeTest.messages(page.entries()));
    }
    return all;
  }

  @Test
  @DisplayName(
      "a backlog read in parts of any size equals the backlog read at once, in all journals")
  void pagesAreTheBacklog() {
    for (int i = 0; i < 1000; i++) {
      tree.log("main." + i % 7).info("%d", i);
      tree.raw("main.raw").line("foreign");
    }
    LogQuery leveled = LogQuery.of("main").withChildren().leveledOnly();
    for (LogQuery query : List.of(leveled.backlogAll(), leveled.backlog(123), leveled.backlog(0))) {
      for (long bytes : List.of(1L, 1000L, 20_000L, Long.MAX_VALUE / 2)) {
        try (LogReader parts = tree.read(query);
            LogReader whole = tree.read(query)) {
          tree.log("main").info("later");
          assertEquals(LogTreeTest.messages(whole.backlog()), pages(parts, bytes));
        }
      }
    }
  }

  @Test
  @DisplayName("a reader whose backlog was dropped before it was read gets one report of it")
  void slowPagesHaveAGap() {
    JournalTree small = new JournalTree(new LogLimits(100, 1 << 20, Duration.ofHours(1)));
    IntStream.range(0, 100).forEach(i -> small.log("main").info("%d", i));
    try (LogReader reader = small.read(LogQuery.of("main").backlogAll())) {
      assertEquals(List.of("0"), LogTreeTest.messages(reader.page(1).entries()));
      IntStream.range(100, 150).forEach(i -> small.log("main").info("%d", i));

      LogPage second = reader.page(1);
      assertTrue(second.gap());
      assertEquals(List.of("50"), LogTreeTest.messages(second.entries()));
      assertEquals(49, pages(reader, 1).size());
    }
  }

  @Test
  @DisplayName("the newest entries are as many as fit, oldest first")
  void newestThatFit() {
    IntStream.range(0, 100).forEach(i -> tree.log("main." + i % 3).info("%d", i));
    LogQuery all = LogQuery.of("main").withChildren().backlogAll();
    assertEquals(List.of("99"), LogTreeTest.messages(tree.newest(all, 1)));
    assertEquals(100, tree.newest(all, 1 << 20).size());
    assertEquals(
        List.of("97", "98", "99"), LogTreeTest.messages(tree.newest(all.backlog(3), 1 << 20)));
    assertEquals(List.of(), tree.newest(all.backlog(0), 1 << 20));
  }

  @Test
  @DisplayName("unread entries of any length take a bounded part of the memory")
  void followersAreBounded() throws InterruptedException {
    try (LogReader reader = tree.read(LogQuery.of("main").follow())) {
      String kibibyte = "x".repeat(1 << 10);
      for (int i = 0; i < 300; i++) {
        tree.log("main").info("%s", (kibibyte + "\n").repeat(16));
      }
      LogBatch batch = reader.next().orElseThrow();
      assertTrue(
          batch.entries().size() * (16L << 10) <= LogReader.BUFFER_BYTES,
          "buffered " + batch.entries().size());
      assertEquals(300, batch.entries().size() + batch.missed());
    }
  }

  @Test
  @DisplayName("LOG-16 D-01 the stream is filtered by name, children, severity and kind")
  void log16_streamIsFiltered() throws InterruptedException {
    try (LogReader alone = tree.read(LogQuery.of("a").follow());
        LogReader family = tree.read(LogQuery.of("a").withChildren().follow());
        LogReader severe = tree.read(LogQuery.of("a").minimumSeverity(Severity.ERROR).follow());
        LogReader raw = tree.read(LogQuery.of("a").rawOnly().follow());
        LogReader leveled = tree.read(LogQuery.of("a").leveledOnly().follow())) {
      tree.log("b").fatal("b");
      tree.log("ab").fatal("ab");
      tree.log("a.c").error("a.c");
      tree.log("a").warning("warning");
      tree.log("a").error("error");
      tree.raw("a").line("raw");

      assertEquals(List.of("warning", "error", "raw"), streamed(alone));
      assertEquals(List.of("a.c", "warning", "error", "raw"), streamed(family));
      assertEquals(List.of("error"), streamed(severe));
      assertEquals(List.of("raw"), streamed(raw));
      assertEquals(List.of("warning", "error"), streamed(leveled));
    }
  }

  @Test
  @DisplayName("LOG-17 D-23 a reader that lags gets the number and the place of missed entries")
  void log17_missedEntriesAreCounted() throws InterruptedException {
    try (LogReader reader =
        tree.read(LogQuery.of("main").minimumSeverity(Severity.ERROR).follow())) {
      Log log = tree.log("main");
      for (int i = 0; i < LogReader.BUFFER + 7; i++) {
        log.error("%d", i);
        log.info("not wanted, hence not missed");
      }

      LogBatch first = reader.next().orElseThrow();
      log.error("after");
      LogBatch second = reader.next().orElseThrow();

      assertEquals(
          IntStream.range(0, LogReader.BUFFER).mapToObj(Integer::toString).toList(),
          LogTreeTest.messages(first.entries()));
      assertEquals(7, first.missed());
      assertEquals(List.of("after"), LogTreeTest.messages(second.entries()));
      assertEquals(0, second.missed());
    }
  }

  @RepeatedTest(50)
  @DisplayName("backlog and stream join without gap or repetition under 8 writers")
  void streamIsGapFree() throws Exception {
    int writers = 8;
    int each = 200;
    int beforeOpening = 40;
    // Fewer unread entries than the buffer can hold, so that none may be missed.
    Semaphore room = new Semaphore(LogReader.BUFFER - 1);
    CountDownLatch opening = new CountDownLatch(beforeOpening);
    List<String> seen = new ArrayList<>();
    List<Long> order = new ArrayList<>();
    // Not closed, since closing would wait for ever for writers that a failed test leaves blocked.
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (int writer = 0; writer < writers; writer++) {
        RawLog raw = tree.raw("main.w" + writer);
        ends.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < each; i++) {
                    room.acquire();
                    raw.line(raw.dn() + "#" + i);
                    opening.countDown();
                  }
                  return null;
                }));
      }
      assertTrue(opening.await(10, TimeUnit.SECONDS), "no writer came to write");
      try (LogReader reader = tree.read(MAIN)) {
        take(reader.backlog(), seen, order, room);
        assertTrue(seen.size() >= beforeOpening, () -> "backlog of " + seen.size());
        while (seen.size() < writers * each) {
          LogBatch batch = reader.next(Duration.ofSeconds(10)).orElseThrow();
          assertFalse(batch.entries().isEmpty(), () -> "nothing came after " + seen.size());
          assertEquals(0, batch.missed());
          take(batch.entries(), seen, order, room);
          assertEquals(order.getLast(), reader.cursor());
        }
      }
      for (Future<?> end : ends) {
        end.get(10, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    long first = order.getFirst();
    assertEquals(LongStream.range(first, first + writers * each).boxed().toList(), order);
    for (int writer = 0; writer < writers; writer++) {
      String prefix = "main.w" + writer + "#";
      assertEquals(
          IntStream.range(0, each).mapToObj(i -> prefix + i).toList(),
          seen.stream().filter(message -> message.startsWith(prefix)).toList());
    }
  }

  @RepeatedTest(10)
  @DisplayName("every entry that a slow reader loses under 8 writers is counted")
  void missedIsExact() throws Exception {
    int writers = 8;
    int each = 2000;
    long delivered = 0;
    long missed = 0;
    try (LogReader reader = tree.read(MAIN);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      CountDownLatch writing = new CountDownLatch(writers);
      for (int writer = 0; writer < writers; writer++) {
        RawLog raw = tree.raw("main.w" + writer);
        threads.submit(
            () -> {
              IntStream.range(0, each).forEach(i -> raw.line("line"));
              writing.countDown();
            });
      }
      while (delivered + missed < writers * each) {
        LogBatch batch = reader.next(Duration.ofSeconds(10)).orElseThrow();
        assertFalse(batch.entries().isEmpty(), "delivered " + delivered + ", missed " + missed);
        delivered += batch.entries().size();
        missed += batch.missed();
      }
      assertTrue(writing.await(10, TimeUnit.SECONDS), "writers still write");
      assertTrue(reader.next(Duration.ZERO).orElseThrow().entries().isEmpty());
    }
    assertEquals(writers * each, delivered + missed);
  }

  @Test
  @DisplayName("D-22 closing from another thread wakes a waiting reader at once and frees it")
  void closeWakesReader() throws Exception {
    LogReader reader = tree.read(MAIN);
    assertEquals(1, tree.followerCount());
    CompletableFuture<Optional<LogBatch>> got = new CompletableFuture<>();
    Thread waiting = startWaiting(reader, got);

    MachineSpeed speed = MachineSpeed.measure();
    long begun = System.nanoTime();
    reader.close();

    assertEquals(Optional.empty(), got.get(SOON.toSeconds(), TimeUnit.SECONDS));
    assertTrue(waiting.join(SOON), "the reading thread lives on");
    Duration took = Duration.ofNanos(System.nanoTime() - begun);
    speed.assertWithin("the reader woke", Duration.ofSeconds(1), took);
    assertEquals(0, tree.followerCount());
    reader.close();
  }

  @Test
  @DisplayName("entries that were buffered before closing can still be read")
  void closeKeepsBuffer() throws InterruptedException {
    LogReader reader = tree.read(MAIN);
    tree.log("main").info("last line");
    reader.close();
    tree.log("main").info("unheard");

    assertEquals(List.of("last line"), LogTreeTest.messages(reader.next().orElseThrow().entries()));
    assertEquals(Optional.empty(), reader.next());
  }

  @Test
  @DisplayName("an interrupted wait ends without a loss")
  void interruptEndsWait() throws Exception {
    try (LogReader reader = tree.read(MAIN)) {
      CompletableFuture<Optional<LogBatch>> got = new CompletableFuture<>();
      Thread waiting = startWaiting(reader, got);

      waiting.interrupt();

      var end =
          assertThrows(ExecutionException.class, () -> got.get(SOON.toSeconds(), TimeUnit.SECONDS));
      assertSame(InterruptedException.class, end.getCause().getClass());
      tree.log("main").info("still here");
      assertEquals(List.of("still here"), streamed(reader));
    }
  }

  @Test
  @DisplayName("a reader that does not follow has only its backlog, and is not kept")
  void withoutFollowThereIsNoStream() throws InterruptedException {
    LogReader reader = tree.read(LogQuery.of("main").backlogAll());

    assertEquals(Optional.empty(), reader.next());
    assertEquals(0, tree.followerCount());
  }

  @Test
  @DisplayName("a reader resumes after its cursor")
  void resumes() throws InterruptedException {
    tree.log("main").info("0");
    long cursor;
    try (LogReader reader = tree.read(MAIN)) {
      tree.log("main.a").info("1");
      streamed(reader);
      cursor = reader.cursor();
    }
    tree.log("main.b").info("2");
    tree.log("main.a").info("3");

    try (LogReader reader = tree.read(MAIN.after(cursor))) {
      tree.log("main.a").info("4");

      assertEquals(List.of("2", "3"), LogTreeTest.messages(reader.backlog()));
      assertEquals(List.of("4"), streamed(reader));
      assertFalse(reader.resumedWithGap());
    }
  }

  @Test
  @DisplayName("a reader gets a report if the quota removed the entry at its cursor")
  void resumeTellsGap() {
    LogTree small = LogTree.create(new LogLimits(2, 1 << 20, Duration.ofHours(1)));
    RawLog raw = small.raw("main");
    raw.line("0");
    long cursor = small.read(MAIN).cursor();
    raw.line("1");
    raw.line("2");
    assertFalse(small.read(MAIN.after(cursor)).resumedWithGap());

    raw.line("3");

    LogReader late = small.read(MAIN.after(cursor));
    assertTrue(late.resumedWithGap());
    assertEquals(List.of("2", "3"), LogTreeTest.messages(late.backlog()));
    assertFalse(small.read(MAIN).resumedWithGap());
    assertFalse(small.read(LogQuery.of("other").backlogAll().after(cursor)).resumedWithGap());
  }

  @Test
  @DisplayName("a cursor of an earlier process hides no entry, and the gap is reported")
  void resumeAcrossLives() {
    InstantSource then = InstantSource.fixed(Instant.parse("2026-01-01T00:00:00Z"));
    JournalTree earlier = new JournalTree(LogLimits.DEFAULT, then, System::nanoTime);
    for (int i = 0; i < 100; i++) {
      earlier.raw("main").line("old " + i);
    }
    long cursor = earlier.read(MAIN).cursor();
    InstantSource later = InstantSource.fixed(then.instant().plusMillis(1));
    JournalTree restarted = new JournalTree(LogLimits.DEFAULT, later, System::nanoTime);
    restarted.raw("main").line("new");

    LogReader reader = restarted.read(MAIN.after(cursor));

    assertEquals(List.of("new"), LogTreeTest.messages(reader.backlog()));
    assertTrue(reader.resumedWithGap());
  }

  @Test
  @DisplayName("D-22 a journal without a handle is dropped after its time to live")
  void vanishedJournalIsDropped() {
    AtomicLong now = new AtomicLong();
    JournalTree aging = new JournalTree(LogLimits.DEFAULT, InstantSource.system(), now::get);
    Log held = aging.log("held");
    held.info("quiet for long");
    aging.setVerbosity("tuned", 1);
    aging.append("vanished", LogPayload.Raw.of("gone"));
    long cursor = aging.read(LogQuery.of("held")).cursor() - 1;
    long life = LogLimits.DEFAULT.timeToLive().toNanos();

    now.set(life - 1);
    assertTrue(aging.names().contains("vanished"));
    now.set(life * 2);

    assertEquals(List.of("held", "tuned"), List.copyOf(aging.names()));
    assertTrue(
        aging.read(LogQuery.of("").withChildren().backlogAll().after(cursor)).resumedWithGap());
    aging.append("vanished", LogPayload.Raw.of("back"));
    assertEquals(
        List.of("back"),
        LogTreeTest.messages(aging.read(LogQuery.of("vanished").backlogAll()).backlog()));
    held.info("still held");
  }

  @Test
  @DisplayName("D-22 the journal of a released handle is dropped, and its bytes are freed")
  void releasedHandleVanishes() {
    AtomicLong now = new AtomicLong();
    JournalTree aging = new JournalTree(LogLimits.DEFAULT, InstantSource.system(), now::get);
    AtomicReference<Log> handle = new AtomicReference<>(aging.log("run.17"));
    handle.get().info("one run of many");
    assertTrue(aging.bytes() > 0);

    handle.set(null);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!aging.names().isEmpty()) {
      assertTrue(System.nanoTime() < deadline, "journal of a released handle was not dropped");
      System.gc();
      now.addAndGet(LogLimits.DEFAULT.timeToLive().toNanos());
    }

    assertEquals(0, aging.bytes());
  }

  private static Thread startWaiting(
      LogReader reader, CompletableFuture<Optional<LogBatch>> result) {
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    result.complete(reader.next());
                  } catch (InterruptedException e) {
                    result.completeExceptionally(e);
                  }
                });
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (thread.getState() != Thread.State.WAITING) {
      assertTrue(System.nanoTime() < deadline, "the reading thread does not wait");
      Thread.onSpinWait();
    }
    return thread;
  }

  private static void take(
      List<LogEntry> entries, List<String> seen, List<Long> order, Semaphore room) {
    seen.addAll(LogTreeTest.messages(entries));
    entries.forEach(entry -> order.add(entry.sequence()));
    room.release(entries.size());
  }

  private static List<String> streamed(LogReader reader) throws InterruptedException {
    return LogTreeTest.messages(reader.next(SOON).orElseThrow().entries());
  }
}
