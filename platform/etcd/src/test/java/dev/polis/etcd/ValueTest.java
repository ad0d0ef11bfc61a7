package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Value;
import dev.polis.base.values.ValueException;
import dev.polis.base.values.Watcher;
import dev.polis.base.values.WatcherClosedException;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.MachineSpeed;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ValueTest {

  private static final Duration SOON = Duration.ofSeconds(10);
  private static final Duration NOT = Duration.ofMillis(150);
  private static final ValueDecoder<String> TEXT =
      (key, stored) -> stored.map(bytes -> new String(bytes, UTF_8)).orElse("");
  private static final ValueDecoder<String> KEY_AND_TEXT =
      (key, stored) -> key + "=" + TEXT.decode(key, stored);

  private static EtcdFixture etcd;
  private FaultyProxy proxy;
  private EtcdClient writer;
  private EtcdClient client;

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @BeforeEach
  void connect() throws Exception {
    proxy = FaultyProxy.to(etcd.member(0));
    writer = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub("test"));
    writer.kv().delete(KeyRange.all());
    client = EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub("test"));
  }

  @AfterEach
  void disconnect() {
    client.close();
    writer.close();
    proxy.close();
  }

  private long put(String key, String value) throws InterruptedException {
    return writer.kv().put(key, value.getBytes(UTF_8));
  }

  private Watcher<String> watch(String key) {
    return client.value(key, TEXT).watch();
  }

  private Watcher<String> watchRange() {
    return client.range(KeyRange.prefix(""), KEY_AND_TEXT).watch();
  }

  @Test
  @DisplayName("EVT-10 a key: one, two, then after a burst eventually six")
  void evt10_singleKey() throws Exception {
    put("k", "one");
    try (Watcher<String> watcher = watch("k")) {
      assertEquals("one", watcher.get(SOON));
      put("k", "two");
      assertEquals("two", watcher.get(SOON));
      for (String value : List.of("three", "four", "five", "six")) {
        put("k", value);
      }
      assertEquals("six", watcher.get("six"::equals, SOON));
    }
  }

  @Test
  @DisplayName("EVT-11 a range: the newest of three keys, then each update")
  void evt11_range() throws Exception {
    put("a", "one");
    put("b", "two");
    put("c", "three");
    put("b", "four");
    try (Watcher<String> watcher = watchRange()) {
      List<String> first = List.of(watcher.get(SOON), watcher.get(SOON), watcher.get(SOON));
      assertEquals(List.of("a=one", "c=three", "b=four"), first);
      put("a", "five");
      assertEquals("a=five", watcher.get(SOON));
      put("e", "six");
      assertEquals("e=six", watcher.get(SOON));
    }
  }

  @Test
  @DisplayName(
      "EVT-12 an interrupted get, also the first one under a partition, works after healing")
  void evt12_interruption() throws Exception {
    put("k", "one");
    proxy.stall();
    try (Watcher<String> watcher = watch("k")) {
      interruptGet(watcher);
      proxy.heal();
      assertEquals("one", watcher.get(SOON));
      interruptGet(watcher);
      put("k", "two");
      assertEquals("two", watcher.get(SOON));
    }
  }

  private static void interruptGet(Watcher<String> watcher) throws Exception {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread reader =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    watcher.get();
                  } catch (Throwable failure) {
                    thrown.set(failure);
                  }
                });
    Await.until(SOON, "the get to wait", () -> reader.getState() == Thread.State.WAITING);
    reader.interrupt();
    Await.end(reader);
    assertTrue(thrown.get() instanceof InterruptedException, "got " + thrown.get());
  }

  @Test
  @DisplayName("EVT-13 the endpoint changes, and the connection is cut and heals")
  void evt13_endpointsAndPartition() throws Exception {
    put("k", "one");
    try (Watcher<String> watcher = watch("k")) {
      assertEquals("one", watcher.get(SOON));
      client.moveTo(List.of(EtcdEndpoint.of(etcd.member(0).endpoint())));
      proxy.refuse();
      put("k", "two");
      assertEquals("two", watcher.get(SOON));

      proxy.heal();
      client.moveTo(List.of(EtcdEndpoint.of(proxy.endpoint())));
      put("k", "three");
      assertEquals("three", watcher.get(SOON));
      proxy.stall();
      put("k", "four");
      assertThrows(TimeoutException.class, () -> watcher.get(NOT));
      proxy.heal();
      assertEquals("four", watcher.get(SOON));
    }
  }

  @Test
  @DisplayName("EVT-14 a key made later is delivered, a deletion is decoded as absent")
  void evt14_laterAndDeleted() throws Exception {
    try (Watcher<String> watcher = watch("k");
        Watcher<String> range = watchRange()) {
      assertThrows(TimeoutException.class, () -> watcher.get(NOT));
      put("k", "one");
      assertEquals("one", watcher.get(SOON));
      assertEquals("k=one", range.get(SOON));
      writer.kv().delete("k");
      assertEquals("", watcher.get(SOON));
      assertEquals("k=", range.get(SOON));
    }
  }

  @Test
  @DisplayName("EVT-15 a value put between the first listing and the watch is not lost")
  void evt15_noGapBetweenListingAndWatch() throws Exception {
    // The listing is answered without the key, and the client opens the watch after the put.
    proxy.beforeNextAnswer(FaultyProxy.RANGE, () -> putNow("gap", "there"));
    try (Watcher<String> watcher = watch("gap")) {
      assertEquals("there", watcher.get(SOON));
    }
    put("changed", "before");
    proxy.beforeNextAnswer(FaultyProxy.RANGE, () -> putNow("changed", "in the gap"));
    try (Watcher<String> watcher = watch("changed")) {
      assertEquals("before", watcher.get(SOON));
      assertEquals("in the gap", watcher.get(SOON));
    }
  }

  private void putNow(String key, String value) {
    try {
      put(key, value);
    } catch (InterruptedException closing) {
      throw new IllegalStateException("interrupted while putting " + key, closing);
    }
  }

  @Test
  @DisplayName(
      "EVT-16 a value that cannot be decoded fails one get; the next valid value is delivered")
  void evt16_decoderErrors() throws Exception {
    ValueDecoder<Integer> multiplesOfThree =
        (key, stored) -> {
          int number = Integer.parseInt(new String(stored.orElseThrow(), UTF_8));
          if (number % 3 != 0) {
            throw new IllegalArgumentException(number + " is no multiple of 3");
          }
          return number;
        };
    put("n", "3");
    try (Watcher<Integer> watcher = client.value("n", multiplesOfThree).watch()) {
      assertEquals(3, watcher.get(SOON));
      put("n", "4");
      var bad = assertThrows(ValueException.class, () -> watcher.get(SOON));
      assertTrue(bad.getMessage().contains("4 is no multiple of 3"), bad.getMessage());
      put("n", "5");
      assertThrows(ValueException.class, () -> watcher.get(SOON));
      put("n", "6");
      assertEquals(6, watcher.get(SOON));
    }
  }

  @Test
  @DisplayName("EVT-17 after a thousand unread puts the newest value arrives within a second")
  void evt17_converges() throws Exception {
    try (Watcher<String> watcher = watch("k0");
        Watcher<String> range = watchRange()) {
      put("k0", "first");
      assertEquals("first", watcher.get(SOON));
      MachineSpeed speed = MachineSpeed.measure();
      for (int n = 0; n < 1000; n++) {
        put("k" + n % 10, "val-" + n);
      }
      long begin = System.nanoTime();
      assertEquals("val-990", watcher.get("val-990"::equals, SOON));
      Map<String, String> newest = new HashMap<>();
      while (newest.values().stream().filter(text -> text.startsWith("val-99")).count() < 10) {
        String[] pair = range.get(SOON).split("=");
        newest.put(pair[0], pair[1]);
      }
      Duration took = Duration.ofNanos(System.nanoTime() - begin);
      speed.assertWithin("both watchers had the newest", Duration.ofSeconds(1), took);
      assertEquals("val-999", newest.get("k9"));
    }
  }

  @Test
  @DisplayName("EVT-18 polling gives the backlog only")
  void evt18_backlogOnly() throws Exception {
    put("k", "one");
    try (Watcher<String> watcher = watch("k")) {
      assertEquals(Optional.of("one"), watcher.poll());
      assertEquals(Optional.empty(), watcher.poll());
      put("k", "two");
      assertEquals(Optional.empty(), watcher.poll());
      assertEquals("two", watcher.get(SOON));
    }
  }

  @Test
  @DisplayName("EVT-18 polling a range: a hundred puts on two keys are exactly two updates")
  void evt18_rangedBacklog() throws Exception {
    for (int n = 0; n < 100; n++) {
      put("k" + n % 2, "val-" + n);
    }
    try (Watcher<String> watcher = watchRange()) {
      List<String> backlog = new ArrayList<>();
      for (Optional<String> next = watcher.poll(); next.isPresent(); next = watcher.poll()) {
        put("k0", "during");
        backlog.add(next.get());
      }
      assertEquals(List.of("k0=val-98", "k1=val-99"), backlog);
      assertEquals("k0=during", watcher.get(SOON));
    }
  }

  @Test
  void deletionsThatWereCompactedAwayAreMadeUpFromTheListing() throws Exception {
    put("gone", "1");
    put("kept", "1");
    put("changed", "1");
    try (Watcher<String> watcher = watchRange()) {
      for (int n = 0; n < 3; n++) {
        watcher.get(SOON);
      }
      proxy.refuse();
      writer.kv().delete("gone");
      put("changed", "2");
      long last = put("new", "1");
      compact(last);
      proxy.heal();
      List<String> seen = new ArrayList<>();
      for (int n = 0; n < 3; n++) {
        seen.add(watcher.get(SOON));
      }
      assertEquals(List.of("changed=2", "new=1", "gone="), seen);
      assertThrows(TimeoutException.class, () -> watcher.get(NOT));
    }
  }

  private static void compact(long revision) throws InterruptedException {
    try (EtcdClient root = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()))) {
      root.admin().compact(revision);
    }
  }

  @Test
  void aWatcherFollowsThroughEveryKindOfStreamEnd() throws Exception {
    List<Runnable> ends =
        List.of(
            () -> proxy.complete(FaultyProxy.WATCH),
            () -> proxy.fail(FaultyProxy.WATCH, Status.UNAVAILABLE),
            () -> proxy.fail(FaultyProxy.WATCH, Status.CANCELLED),
            () -> proxy.fail(FaultyProxy.WATCH, Status.INTERNAL),
            proxy::reset);
    put("k", "start");
    try (Watcher<String> watcher = watch("k")) {
      assertEquals("start", watcher.get(SOON));
      for (int n = 0; n < ends.size(); n++) {
        Await.until(SOON, "the watch stream to be open", () -> proxy.open(FaultyProxy.WATCH) > 0);
        ends.get(n).run();
        put("k", "after " + n);
        assertEquals("after " + n, watcher.get(SOON));
      }
    }
  }

  @Test
  void peekReadsOnce() throws Exception {
    Value<String> value = client.value("k", TEXT);
    assertEquals(Optional.empty(), value.peek());
    put("k", "one");
    assertEquals(Optional.of("one"), value.peek());
  }

  @Test
  void closingEndsAWaitingGetAndTheStream() throws Exception {
    Watcher<String> watcher = watch("k");
    CompletableFuture<Throwable> ended = new CompletableFuture<>();
    Thread reader =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    watcher.get();
                  } catch (Throwable failure) {
                    ended.complete(failure);
                  }
                });
    Await.until(SOON, "the get to wait", () -> reader.getState() == Thread.State.WAITING);
    Await.until(SOON, "the watch stream to be open", () -> proxy.open(FaultyProxy.WATCH) > 0);
    assertThrows(IllegalStateException.class, watcher::get);
    watcher.close();
    assertTrue(ended.get() instanceof WatcherClosedException, "got " + ended.get());
    Await.until(SOON, "the watch stream to end", () -> proxy.open(FaultyProxy.WATCH) == 0);
  }
}
