package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.options.WatchOption;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Measures jetcd's own watch in a case where ours continues. Only our figure is checked. */
@Tag("long")
class JetcdComparisonTest {

  private static final Duration SOON = Duration.ofSeconds(10);
  private static final int ENDS = 20;
  private static final int PUTS = 50;

  @Test
  void eventsLostAfterGracefulStreamEnds() throws Exception {
    try (EtcdFixture etcd = EtcdFixture.start(1);
        FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient writer = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()));
        EtcdClient ours = EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()));
        Client jetcd = Client.builder().endpoints("http://" + proxy.endpoint()).build()) {
      AtomicInteger theirCount = new AtomicInteger();
      ByteSequence prefix = ByteSequence.from("k/", UTF_8);
      try (EtcdWatch watch = ours.watch(KeyRange.prefix("k/"), WatchOptions.now());
          Watch.Watcher _ =
              jetcd
                  .getWatchClient()
                  .watch(
                      prefix,
                      WatchOption.builder().isPrefix(true).build(),
                      response -> theirCount.addAndGet(response.getEvents().size()))) {
        Await.until(SOON, "both streams", () -> proxy.open(FaultyProxy.WATCH) == 2);
        int written = 0;
        int ourCount = 0;
        for (int end = 0; end <= ENDS; end++) {
          for (int put = 0; put < PUTS; put++) {
            writer.kv().put("k/" + put, "v".getBytes(UTF_8));
            written++;
          }
          while (ourCount < written) {
            ourCount += count(watch);
          }
          Await.until(SOON, "our stream", () -> proxy.open(FaultyProxy.WATCH) > 0);
          proxy.complete(FaultyProxy.WATCH);
        }
        System.out.printf(
            "%d graceful ends, %d events written: jetcd's watch delivered %d and lost %d;"
                + " ours delivered %d%n",
            ENDS, written, theirCount.get(), written - theirCount.get(), ourCount);
        assertEquals(written, ourCount);
      }
    }
  }

  private static int count(EtcdWatch watch) throws InterruptedException, TimeoutException {
    return watch.next(SOON) instanceof WatchUpdate.Changes(long at, var events) ? events.size() : 0;
  }
}
