package dev.polis.etcd;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks etcd's nine promises about watches on everything that one watch has delivered, against the
 * history of writes.
 */
final class WatchValidators {

  private final String name;
  private final KeyRange range;
  private final WatchOptions options;
  private final long start;
  private final List<WatchUpdate> seen;
  private final WatchHistory history;

  /** The revisions that the watch must deliver. */
  private final NavigableSet<Long> wanted = new TreeSet<>();

  private final List<String> broken = new ArrayList<>();

  /**
   * @param start the revision after which the watch began
   */
  WatchValidators(
      String name,
      KeyRange range,
      WatchOptions options,
      long start,
      List<WatchUpdate> seen,
      WatchHistory history) {
    this.name = name;
    this.range = range;
    this.options = options;
    this.start = start;
    this.seen = seen;
    this.history = history;
    history
        .after(start)
        .forEach(
            (revision, events) -> {
              if (events.stream().anyMatch(this::matches)) {
                wanted.add(revision);
              }
            });
  }

  /** Returns the broken rules, as text; empty if all hold. */
  List<String> check() {
    filter();
    ordered();
    unique();
    bookmarkable();
    isCreate();
    reliableAtomicAndResumable();
    previous();
    return broken;
  }

  private void fail(String promise, Object what) {
    if (broken.size() < 5) {
      broken.add(name + ": " + promise + ": " + what);
    }
  }

  private List<WatchEvent> events() {
    return seen.stream().flatMap(WatchValidators::events).toList();
  }

  private static Stream<WatchEvent> events(WatchUpdate update) {
    return update instanceof WatchUpdate.Changes(long at, var events)
        ? events.stream()
        : Stream.empty();
  }

  private boolean matches(WatchEvent event) {
    return inRange(event.key()) && options.types().contains(event.type());
  }

  private boolean inRange(String key) {
    return switch (range) {
      case KeyRange.Single(String only) -> key.equals(only);
      case KeyRange.Prefix(String prefix) -> key.startsWith(prefix);
      case KeyRange.Between(String from, String to) ->
          key.compareTo(from) >= 0 && key.compareTo(to) < 0;
    };
  }

  private void filter() {
    events().stream().filter(event -> !matches(event)).forEach(event -> fail("filter", event));
  }

  private void ordered() {
    long before = 0;
    for (WatchUpdate update : seen) {
      boolean progress = update instanceof WatchUpdate.Progress;
      if (progress ? update.revision() < before : update.revision() <= before) {
        fail("ordered", update + " after " + before);
      }
      events(update)
          .filter(event -> event.revision() != update.revision())
          .forEach(event -> fail("ordered", event + " within " + update.revision()));
      before = update.revision();
    }
  }

  private void unique() {
    Set<String> keys = new HashSet<>();
    events().stream()
        .filter(event -> !keys.add(event.key() + "@" + event.revision()))
        .forEach(event -> fail("unique", event));
  }

  private void bookmarkable() {
    long bookmark = 0;
    for (WatchUpdate update : seen) {
      if (update instanceof WatchUpdate.Progress(long revision)) {
        bookmark = revision;
        if (revision > history.last()) {
          fail("bookmarkable", "bookmark " + revision + " is behind the end " + history.last());
        }
      } else if (update.revision() <= bookmark) {
        fail("bookmarkable", update + " after bookmark " + bookmark);
      }
    }
  }

  private void isCreate() {
    for (WatchEvent event : events()) {
      original(event)
          .filter(written -> written.isCreate() != event.isCreate())
          .ifPresent(written -> fail("is-create", event));
    }
  }

  private Optional<WatchEvent> original(WatchEvent event) {
    return history.after(event.revision() - 1).getOrDefault(event.revision(), List.of()).stream()
        .filter(written -> written.key().equals(event.key()))
        .findFirst();
  }

  /**
   * Reliable: nothing is missing. Atomic: no revision is split. Resumable: it begins at its start.
   */
  private void reliableAtomicAndResumable() {
    long covered = start;
    for (WatchUpdate update : seen) {
      if (update instanceof WatchUpdate.Snapshot snapshot) {
        sameState(snapshot);
      } else {
        // Changes deliver their own revision; a bookmark states that it was delivered before.
        nothingBetween(covered, update.revision(), update instanceof WatchUpdate.Progress);
      }
      if (update instanceof WatchUpdate.Changes changes) {
        sameEvents(changes);
      }
      covered = Math.max(covered, update.revision());
    }
    NavigableSet<Long> missed = wanted.tailSet(covered, false);
    if (!missed.isEmpty()) {
      fail("reliable", "ends at " + covered + " but " + missed + " were written");
    }
  }

  private void nothingBetween(long covered, long revision, boolean inclusive) {
    for (long missed : wanted.subSet(covered, false, Math.max(covered, revision), inclusive)) {
      fail(covered == start ? "resumable" : "reliable", missed + " is missing before " + revision);
    }
  }

  private void sameEvents(WatchUpdate.Changes changes) {
    Set<String> written =
        history.after(changes.revision() - 1).getOrDefault(changes.revision(), List.of()).stream()
            .filter(this::matches)
            .map(WatchValidators::text)
            .collect(Collectors.toSet());
    Set<String> delivered =
        changes.events().stream().map(WatchValidators::text).collect(Collectors.toSet());
    if (!written.equals(delivered)) {
      fail("atomic", "revision " + changes.revision() + ": " + delivered + " of " + written);
    }
  }

  private static String text(WatchEvent event) {
    return event.type() == WatchEvent.Type.DELETE
        ? "DELETE " + event.key()
        : "PUT " + event.kv() + event.kv().text();
  }

  private void sameState(WatchUpdate.Snapshot snapshot) {
    Set<KeyValue> written =
        history.at(snapshot.revision()).stream()
            .filter(kv -> inRange(kv.key()))
            .collect(Collectors.toSet());
    if (!written.equals(Set.copyOf(snapshot.keys()))) {
      fail("reliable", "snapshot at " + snapshot.revision() + " differs from the written events");
    }
  }

  private void previous() {
    for (WatchEvent event : events()) {
      Optional<KeyValue> written = original(event).flatMap(WatchEvent::previous);
      Optional<KeyValue> expected = options.previous() ? written : Optional.empty();
      // The previous value may have been compacted away; then etcd leaves it out.
      boolean compacted = event.previous().isEmpty() && history.compacted() >= event.revision() - 1;
      if (!expected.equals(event.previous()) && !compacted) {
        fail("prev-KV", event + " had " + event.previous() + " instead of " + expected);
      }
    }
  }
}
