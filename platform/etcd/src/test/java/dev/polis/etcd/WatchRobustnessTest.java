package dev.polis.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.Tier;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Watches random histories under random faults. A failure prints the seed; {@code polis test
 * --long} makes three hundred faults instead of thirty.
 */
@Tag("longer")
class WatchRobustnessTest {

  private static final boolean LONG = Tier.isLong();
  private static final int FAULTS = LONG ? 300 : 30;
  private static final Duration PATIENCE = Duration.ofSeconds(LONG ? 300 : 30);

  private static final String FREQUENT_PROGRESS =
      "--experimental-watch-progress-notify-interval=100ms";

  private static EtcdFixture etcd;

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.durable(1, FREQUENT_PROGRESS);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @Test
  @DisplayName("the nine promises hold over random histories with faults on every stream")
  void promisesHoldUnderFaults() throws Exception {
    run(etcd, "plain", false);
  }

  @Test
  @DisplayName("the nine promises hold when histories are compacted away under the watches")
  void promisesHoldUnderCompaction() throws Exception {
    run(etcd, "compacted", true);
  }

  @Test
  @Tag("full")
  @DisplayName("the nine promises hold on etcd's current release, with compactions")
  void promisesHoldOnTheCurrentRelease() throws Exception {
    try (EtcdFixture current = EtcdFixture.durableCurrent(1, FREQUENT_PROGRESS)) {
      run(current, "current", true);
    }
  }

  @Test
  @DisplayName("the validators find a bookmark before an undelivered event, or of the future")
  void bookmarksAreChecked() throws Exception {
    try (EtcdClient client =
        EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub("bookmarks"))) {
      long begin = client.kv().range(KeyRange.all()).revision();
      WatchHistory history = new WatchHistory(client.kv(), begin, new Random(1));
      long end = history.finish();
      List<WatchUpdate> all = new ArrayList<>();
      history
          .after(begin)
          .forEach((revision, events) -> all.add(new WatchUpdate.Changes(revision, events)));
      List<WatchUpdate> told = new ArrayList<>(all);
      told.add(new WatchUpdate.Progress(end));
      assertEquals(List.of(), broken(history, begin, told));

      // etcd-io/etcd#15220: the bookmark arrives first, and the reader stops there.
      List<WatchUpdate> early = new ArrayList<>(all.subList(0, all.size() - 1));
      early.add(new WatchUpdate.Progress(end));
      assertTrue(broken(history, begin, early).toString().contains("reliable: " + end));

      told.add(new WatchUpdate.Progress(end + 1));
      assertTrue(broken(history, begin, told).toString().contains("bookmark " + (end + 1)));
    }
  }

  private static List<String> broken(WatchHistory history, long begin, List<WatchUpdate> seen) {
    WatchOptions options = WatchOptions.from(begin + 1).withPrevious().withBookmarks();
    return new WatchValidators("seeded", KeyRange.prefix("key/"), options, begin, seen, history)
        .check();
  }

  private void run(EtcdFixture etcd, String namespace, boolean compacting) throws Exception {
    long seed = Long.getLong("polis.seed", System.nanoTime());
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient root = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()));
        EtcdClient direct = root.sub(namespace);
        EtcdClient faulty =
            EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub(namespace))) {
      long begin = direct.kv().range(KeyRange.all()).revision();
      WatchHistory history = new WatchHistory(direct.kv(), begin, new Random(seed));
      List<Reader> readers = readers(faulty, begin, history);
      AtomicBoolean stop = new AtomicBoolean();
      CompletableFuture<Void> writer =
          inBackground(
              () -> {
                while (!stop.get()) {
                  history.write();
                }
              });
      readers.forEach(Reader::start);
      Faults faults =
          new Faults(etcd, proxy, new Random(seed + 1), history, root.admin(), compacting);
      for (int n = 0; n < FAULTS; n++) {
        faults.next(readers);
      }
      stop.set(true);
      writer.get();
      long end = history.finish();
      List<String> broken = new ArrayList<>();
      for (Reader reader : readers) {
        reader.awaitRevision(end);
        broken.addAll(reader.validate(history));
      }
      report(namespace, seed, history, readers);
      assertEquals(List.of(), broken, "seed " + seed);
      assertTrue(history.size() > FAULTS, "only " + history.size() + " events were written");
    }
  }

  private static void report(
      String namespace, long seed, WatchHistory history, List<Reader> readers) {
    if (LONG) {
      System.out.printf(
          "%s: seed %d, %d faults, %d events written, updates seen: %s%n",
          namespace,
          seed,
          FAULTS,
          history.size(),
          readers.stream().map(reader -> reader.name + " " + reader.seen.size()).toList());
    }
  }

  private static List<Reader> readers(EtcdClient client, long begin, WatchHistory history) {
    KeyRange all = KeyRange.prefix("key/");
    WatchOptions from = WatchOptions.from(begin + 1);
    return List.of(
        new Reader("all with previous", client, all, from.withPrevious().withBookmarks(), begin),
        new Reader("one key", client, KeyRange.single("key/c"), from.withPrevious(), begin),
        new Reader("puts only", client, all, from.only(WatchEvent.Type.PUT), begin),
        new Reader("deletes only", client, all, from.only(WatchEvent.Type.DELETE), begin),
        new Reader("half", client, KeyRange.between("key/d", "key/i"), from, begin),
        new Reader("slow with a small buffer", client, all, from.withBuffer(16), begin)
            .readingAfterEvery(60, history),
        new Reader("opened anew all the time", client, all, from.withBookmarks(), begin),
        new Reader(
            "nothing matches", client, KeyRange.prefix("none/"), from.withBookmarks(), begin));
  }

  private interface Action {
    void run() throws Exception;
  }

  private static CompletableFuture<Void> inBackground(Action action) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                action.run();
                done.complete(null);
              } catch (Throwable failure) {
                done.completeExceptionally(failure);
              }
            });
    return done;
  }

  /** Makes one fault after another. */
  private record Faults(
      EtcdFixture etcd,
      FaultyProxy proxy,
      Random random,
      WatchHistory history,
      EtcdAdmin admin,
      boolean compacting) {

    private static final List<Status> STATUSES =
        List.of(
            Status.UNAVAILABLE, Status.CANCELLED, Status.INTERNAL, Status.UNKNOWN, Status.ABORTED);

    void next(List<Reader> readers) throws Exception {
      switch (random.nextInt(compacting ? 9 : 8)) {
        case 0, 1, 2 -> proxy.complete(FaultyProxy.WATCH);
        case 3, 4 -> proxy.fail(FaultyProxy.WATCH, STATUSES.get(random.nextInt(STATUSES.size())));
        case 5 -> proxy.reset();
        case 6 -> {
          proxy.stall();
          letWrite(1 + random.nextInt(20));
          proxy.heal();
        }
        case 7 -> memberTrouble();
        default -> {
          proxy.refuse();
          proxy.reset();
          letWrite(10);
          history.compact(admin);
          proxy.heal();
        }
      }
      readers.get(random.nextInt(readers.size())).askForBookmark();
      // Sometimes repeats at once, so that streams end while they are set up.
      letWrite(random.nextInt(25));
    }

    private void memberTrouble() throws Exception {
      if (random.nextInt(4) > 0) {
        etcd.member(0).pause();
        letWrite(0);
        etcd.member(0).resume();
        return;
      }
      history.writing.lockInterruptibly();
      try {
        etcd.member(0).kill();
        etcd.member(0).restart();
      } finally {
        history.writing.unlock();
      }
    }

    /** Waits for a number of writes. */
    private void letWrite(int writes) throws Exception {
      long wanted = history.last() + writes;
      Await.until(PATIENCE, "further writes", () -> history.last() >= wanted);
    }
  }

  /** Reads one watch, or several in sequence, into a list. */
  private static final class Reader {
    private static final int UPDATES_BEFORE_REOPENING = 7;

    private final String name;
    private final EtcdClient client;
    private final KeyRange range;
    private final WatchOptions options;
    private final long begin;
    private final List<WatchUpdate> seen = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private volatile long wanted = Long.MAX_VALUE;
    private Action beforeEach = () -> {};
    private volatile boolean bookmarkWanted;
    private volatile long revision;

    Reader(String name, EtcdClient client, KeyRange range, WatchOptions options, long begin) {
      this.name = name;
      this.client = client;
      this.range = range;
      this.options = options;
      this.begin = begin;
      this.revision = begin;
    }

    void start() {
      inBackground(this::read)
          .whenComplete(
              (done, failure) -> {
                if (failure == null) {
                  finished.complete(null);
                } else {
                  finished.completeExceptionally(failure);
                }
              });
    }

    void askForBookmark() {
      bookmarkWanted = true;
    }

    private void read() throws Exception {
      boolean reopening = name.startsWith("opened anew");
      while (!isDone()) {
        WatchOptions here =
            new WatchOptions(
                new WatchOptions.FromRevision(revision + 1),
                options.previous(),
                options.bookmarks(),
                options.types(),
                options.buffer());
        try (EtcdWatch watch = client.watch(range, here)) {
          int updates = 0;
          while (!isDone() && !(reopening && updates >= UPDATES_BEFORE_REOPENING)) {
            updates += readOne(watch);
          }
        }
      }
    }

    /** Reads rarely, so that writes exceed the buffer by far. */
    Reader readingAfterEvery(int writes, WatchHistory history) {
      long[] turn = {history.last()};
      beforeEach =
          () -> {
            if (revision >= turn[0]) {
              turn[0] = history.last() + writes;
              Await.until(
                  PATIENCE,
                  "the writer to be far ahead",
                  () -> history.last() >= turn[0] || wanted < Long.MAX_VALUE);
            }
          };
      return this;
    }

    private int readOne(EtcdWatch watch) throws Exception {
      beforeEach.run();
      if (bookmarkWanted) {
        bookmarkWanted = false;
        watch.requestProgress();
      }
      try {
        seen.add(watch.next(Duration.ofMillis(200)));
        revision = watch.revision();
        return 1;
      } catch (TimeoutException quiet) {
        return 0;
      }
    }

    private boolean isDone() {
      return revision >= wanted;
    }

    void awaitRevision(long end) throws Exception {
      // A watch that cannot see the last write is done when it has seen its own last one.
      wanted =
          switch (range) {
            case KeyRange.Prefix(String prefix) when prefix.equals("none/") -> end;
            default -> options.types().contains(WatchEvent.Type.PUT) ? end : end - 1;
          };
      finished.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).get();
    }

    List<String> validate(WatchHistory history) {
      return new WatchValidators(name, range, options, begin, seen, history).check();
    }
  }
}
