package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.polis.wire.cluster.RememberedChange;
import dev.polis.wire.cluster.RememberedChanges;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Remembers the last change of each client, with its answer. The caller's record is part of the
 * transaction that makes the change, and the transaction compares its revision. So of two attempts
 * to make the same change one fails, at whatever node and time they reach etcd.
 *
 * <p>The leader forgets by number and by age. That is safe for a client that repeats a change for
 * less than {@link #AGE} while its caller begins fewer than {@link #CLIENTS} others.
 */
public final class ChangeMemory {

  /** The clients of one caller. A program that is started for one change counts as one. */
  public static final int CLIENTS = 64;

  /** The time for which a change is remembered, twice as long as a client repeats it. */
  public static final Duration AGE = Duration.ofMinutes(10);

  /** The bytes of one caller's record: some hundred for each change, with room for long lists. */
  static final int BYTES = 64 << 10;

  /** The callers, in number about those of a large cluster: 100 operators and their former keys. */
  static final int CALLERS = 256;

  private ChangeMemory() {}

  /**
   * Returns the answer to a change that was applied; empty if it was not.
   *
   * @throws dev.polis.rpc.RpcException INVALID_ARGUMENT if the client has used the id for another
   *     change, or has made a later change
   */
  static Optional<ByteString> answer(RememberedChanges record, ChangeId id) {
    return record.getChangesList().stream()
        .filter(change -> change.getClient().equals(id.client()))
        .filter(change -> change.getNumber() >= id.number())
        .findFirst()
        .map(change -> checked(change, id).getAnswer());
  }

  private static RememberedChange checked(RememberedChange change, ChangeId id) {
    if (change.getNumber() > id.number()) {
      throw Refusal.invalid(
          "the client has made its change number %d, and this is number %d: a client makes one"
              + " change at a time; use another id; nothing was changed",
          change.getNumber(), id.number());
    }
    if (!change.getDigest().equals(id.digest())) {
      throw Refusal.invalid(
          "the id of this change, number %d of its client, was used for another request; give each"
              + " change an id of its own; nothing was changed",
          id.number());
    }
    return change;
  }

  /** Returns the record with one more change, without the changes that are forgotten for it. */
  static RememberedChanges with(
      RememberedChanges record, ChangeId id, MessageLite answer, long nowMillis) {
    RememberedChange added =
        RememberedChange.newBuilder()
            .setClient(id.client())
            .setNumber(id.number())
            .setDigest(id.digest())
            .setAnswer(answer.toByteString())
            .setAppliedMillis(nowMillis)
            .build();
    List<RememberedChange> kept = new ArrayList<>();
    kept.add(added);
    int bytes = added.getSerializedSize();
    for (RememberedChange change : record.getChangesList().reversed()) {
      bytes += change.getSerializedSize();
      if (kept.size() == CLIENTS || bytes > BYTES) {
        break;
      }
      if (!change.getClient().equals(id.client()) && !isOld(change, nowMillis)) {
        kept.add(change);
      }
    }
    return RememberedChanges.newBuilder().addAllChanges(kept.reversed()).build();
  }

  private static boolean isOld(RememberedChange change, long nowMillis) {
    return nowMillis - change.getAppliedMillis() > AGE.toMillis();
  }

  /**
   * Returns the key of a record to delete: the one with the oldest last change, if that is old or
   * there are too many records.
   */
  static Optional<String> forgettable(RecordSnapshot records, long nowMillis) {
    Map<String, RememberedChange> lasts = records.lastChanges();
    return lasts.entrySet().stream()
        .min(Comparator.comparingLong(last -> last.getValue().getAppliedMillis()))
        .filter(last -> lasts.size() > CALLERS || isOld(last.getValue(), nowMillis))
        .map(Map.Entry::getKey);
  }
}
