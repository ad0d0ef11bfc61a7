package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Follows values through one member of a cluster of three while that member fails. */
class ValueClusterTest {

  /** Long enough for an election, and a client's move to another member, on a busy machine. */
  private static final Duration SOON = Duration.ofSeconds(30);

  /** Longer than the 100 ms for which a get must block. */
  private static final Duration NOT = Duration.ofMillis(500);

  private static final ValueDecoder<String> TEXT =
      (key, stored) -> stored.map(bytes -> new String(bytes, UTF_8)).orElse("");

  private EtcdFixture etcd;
  private EtcdClient writer;
  private EtcdClient client;

  @BeforeEach
  void start() throws Exception {
    etcd = EtcdFixture.start(3);
    writer =
        EtcdClient.connect(
            EtcdAccess.plaintext(etcd.member(1).endpoint(), etcd.member(2).endpoint()).sub("test"));
    client = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub("test"));
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    writer.close();
    etcd.close();
  }

  /** Writes until the cluster accepts it, since a leader may have to be elected first. */
  private void put(String value) throws Exception {
    Await.until(
        SOON,
        "the cluster to take the value " + value,
        () -> {
          try {
            writer.kv().put("k", value.getBytes(UTF_8));
            return true;
          } catch (EtcdException notYet) {
            return false;
          }
        });
  }

  @Test
  @DisplayName("EVT-13 a member is stopped, the client moves to another: the next value arrives")
  void evt13_memberStops() throws Exception {
    put("one");
    try (Watcher<String> watcher = client.value("k", TEXT).watch()) {
      assertEquals("one", watcher.get(SOON));
      etcd.member(0).stop();
      put("two");
      assertThrows(
          TimeoutException.class, () -> watcher.get(NOT), "its only member is not running");

      client.moveTo(List.of(EtcdEndpoint.of(etcd.member(1).endpoint())));

      assertEquals("two", watcher.get(SOON));
      put("three");
      assertEquals("three", watcher.get(SOON));
    }
  }

  @Test
  @DisplayName(
      "EVT-13 while the client's member is cut off from the others a get waits, and healing delivers")
  void evt13_memberIsCutOff() throws Exception {
    put("one");
    try (Watcher<String> watcher = client.value("k", TEXT).watch()) {
      assertEquals("one", watcher.get(SOON));
      etcd.partition(etcd.member(0));
      put("two");
      assertThrows(
          TimeoutException.class, () -> watcher.get(NOT), "its member cannot know the new value");

      etcd.heal();

      assertEquals("two", watcher.get(SOON));
    }
  }
}
