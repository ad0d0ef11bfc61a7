package dev.polis.curator.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.WatchEvent;
import dev.polis.etcd.WatchUpdate;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RecordMemoryTest {

  private static final String A = RecordKeys.node("metropolis-" + "a".repeat(32));
  private static final String B = RecordKeys.node("metropolis-" + "b".repeat(32));

  private final List<String> damages = new ArrayList<>();
  private final List<String> changes = new ArrayList<>();
  private final RecordMemory memory = new RecordMemory(damages::add);

  RecordMemoryTest() {
    memory.listen((now, keys) -> keys.forEach(key -> changes.add(key + now.state(key).revision())));
  }

  private static KeyValue stored(String key, long revision) {
    return new KeyValue(key, node(revision).toByteArray(), 1, revision, 1, 0);
  }

  private static Node node(long revision) {
    return Node.newBuilder().setPublicKey(ByteString.copyFromUtf8("of " + revision)).build();
  }

  private static WatchUpdate put(String key, long revision) {
    KeyValue stored = stored(key, revision);
    return new WatchUpdate.Changes(
        revision, List.of(new WatchEvent(WatchEvent.Type.PUT, stored, null)));
  }

  private static WatchUpdate delete(String key, long revision) {
    return new WatchUpdate.Changes(
        revision,
        List.of(
            new WatchEvent(
                WatchEvent.Type.DELETE, new KeyValue(key, new byte[0], 0, revision, 0, 0), null)));
  }

  private void list(long revision, KeyValue... keys) {
    memory.replace(memory.mark(), revision, List.of(keys));
  }

  private void wrote(String key, long revision) {
    memory.wrote(revision, Map.of(key, Optional.of(node(revision))));
  }

  private long revision(String key) {
    return memory.now().state(key).revision();
  }

  @Test
  void nothingIsKnownBeforeTheFirstListing() {
    assertFalse(memory.isCurrent());
    list(5, stored(A, 3));
    assertTrue(memory.isCurrent());
    assertEquals(3, revision(A));
    assertEquals(0, revision(B));
  }

  @Test
  void anOwnWriteIsNotUndoneByWhatTheWatchReportsLater() {
    list(5, stored(A, 3));
    wrote(A, 6);
    memory.wrote(7, Map.of(A, Optional.empty()));
    wrote(B, 8);

    memory.watched(put(A, 6));
    assertEquals(0, revision(A), "the record was deleted at revision 7");
    memory.watched(delete(A, 7));
    memory.watched(put(B, 8));

    assertEquals(0, revision(A));
    assertEquals(8, revision(B));
    assertEquals(List.of(A + 3, A + 6, A + 0, B + 8), changes, "each change is delivered once");
  }

  @Test
  void anOwnWriteIsKeptByAListingThatIsOlder() {
    list(5, stored(A, 3));
    wrote(B, 8);
    memory.wrote(9, Map.of(A, Optional.empty()));

    list(7, stored(A, 6));

    assertEquals(8, revision(B));
    assertEquals(0, revision(A));
    list(9, stored(B, 8));
    assertEquals(8, revision(B));
    assertEquals(0, revision(A));
  }

  @Test
  void aListingThatIsOlderThanTheWatchChangesNothing() {
    list(5, stored(A, 3));
    memory.watched(put(A, 9));
    memory.watched(delete(B, 10));

    list(8, stored(A, 6), stored(B, 7));

    assertEquals(9, revision(A));
    assertEquals(0, revision(B));
  }

  @Test
  void aChangeByAnotherIsSeen() {
    list(5, stored(A, 3), stored(B, 4));
    memory.watched(put(A, 6));
    memory.watched(delete(B, 7));
    assertEquals(6, revision(A));
    assertEquals(0, revision(B));
    assertEquals(List.of(A), List.copyOf(memory.now().keys()));
  }

  @Test
  void onceDistrustedOnlyAListingThatBeganAfterwardsCounts() {
    long before = memory.mark();
    list(5, stored(A, 3));
    memory.distrust();
    assertFalse(memory.isCurrent());

    memory.replace(before, 6, List.of(stored(A, 3)));
    memory.watched(new WatchUpdate.Snapshot(7, List.of(stored(A, 3)), 0));
    assertFalse(memory.isCurrent());

    list(8, stored(A, 3));
    assertTrue(memory.isCurrent());
  }

  @Test
  void aDamagedRecordIsNamedOnceAndHidesNoOther() {
    KeyValue damaged = new KeyValue(A, new byte[] {(byte) 0xff}, 1, 3, 1, 0);
    list(5, damaged, stored(B, 4));
    list(6, damaged, stored(B, 4));
    assertEquals(1, damages.size());
    assertTrue(damages.getFirst().contains(A), damages.getFirst());
    assertInstanceOf(RecordState.Damaged.class, memory.now().state(A));
    assertEquals(1, memory.now().nodes().size());
    assertEquals(2, memory.now().nodeIds().size());
  }

  @Test
  void keysThatAreNoRecordsAreNotKept() {
    list(
        5,
        new KeyValue(RecordKeys.LEADER.key("1"), new byte[] {1}, 1, 3, 1, 1),
        new KeyValue(RecordKeys.JOIN_KEYS.key("00"), new byte[] {1}, 1, 3, 1, 1),
        new KeyValue(
            RecordKeys.REGISTER_TICKET,
            RegisterTicket.getDefaultInstance().toByteArray(),
            1,
            3,
            1,
            0));
    assertEquals(List.of(RecordKeys.REGISTER_TICKET), List.copyOf(memory.now().keys()));
  }
}
