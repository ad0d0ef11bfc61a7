package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Counts calls and their ends, and judges the ends. Safe for use by any thread. */
final class FuzzTally {

  /** The codes that a caller must never get, since they mean an unforeseen call. */
  private static final Set<Status.Code> DEFECTS =
      Set.of(Status.Code.INTERNAL, Status.Code.UNKNOWN, Status.Code.DATA_LOSS);

  /**
   * The allowed ends of a stranger's call of a closed method: refused, too large, or ended by the
   * stranger.
   */
  private static final Set<Status.Code> REFUSALS =
      Set.of(
          Status.Code.UNAUTHENTICATED,
          Status.Code.RESOURCE_EXHAUSTED,
          Status.Code.CANCELLED,
          Status.Code.DEADLINE_EXCEEDED);

  /** The ends of calls that did not reach their handler. */
  private static final Set<Status.Code> TURNED_AWAY =
      Set.of(
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNIMPLEMENTED,
          Status.Code.RESOURCE_EXHAUSTED,
          Status.Code.CANCELLED,
          Status.Code.DEADLINE_EXCEEDED);

  /** The ends of calls that were done, or may have been. */
  private static final Set<Status.Code> PERHAPS_DONE =
      Set.of(
          Status.Code.OK,
          Status.Code.CANCELLED,
          Status.Code.DEADLINE_EXCEEDED,
          Status.Code.UNAVAILABLE);

  /** The node's message about bytes that its decoder cannot read. */
  private static final String UNREADABLE = "no message of this method's type";

  private static final int EXAMPLE_BYTES = 96;

  private final Map<FuzzCell, LongAdder> calls = new ConcurrentHashMap<>();
  private final Map<FuzzMethod, LongAdder> reached = new ConcurrentHashMap<>();
  private final Map<FuzzMethod, Map<Status.Code, LongAdder>> ends = new ConcurrentHashMap<>();
  private final Map<String, String> offenders = new ConcurrentHashMap<>();

  /** Holds the end of a call. */
  record End(Status status, boolean answered, boolean stray, boolean mustEnd) {
    private Status.Code code() {
      return status.getCode();
    }

    private String words() {
      return String.valueOf(status.getDescription());
    }
  }

  void ended(FuzzCell cell, List<byte[]> messages, End end) {
    count(calls, cell);
    count(ends.computeIfAbsent(cell.method(), method -> new ConcurrentHashMap<>()), end.code());
    boolean refused = TURNED_AWAY.contains(end.code()) || end.words().contains(UNREADABLE);
    if (end.answered() || !refused) {
      count(reached, cell.method());
    }
    if (isDefect(cell, end)) {
      offenders.putIfAbsent(kind(cell, end), example(messages));
    }
  }

  private static <K> void count(Map<K, LongAdder> counts, K what) {
    counts.computeIfAbsent(what, first -> new LongAdder()).increment();
  }

  private static boolean isDefect(FuzzCell cell, End end) {
    boolean admitted =
        !cell.credential().member()
            && !cell.method().open()
            && !end.stray()
            && !REFUSALS.contains(end.code())
            && !isWithoutPlace(end);
    boolean hung = end.mustEnd() && end.code() == Status.Code.DEADLINE_EXCEEDED;
    return admitted || hung || DEFECTS.contains(end.code());
  }

  /**
   * Returns whether a stranger was refused before authorization, because it had too many open
   * calls.
   */
  private static boolean isWithoutPlace(End end) {
    return end.code() == Status.Code.UNAVAILABLE
        && end.words().contains("without a certificate of the cluster may have");
  }

  private static String kind(FuzzCell cell, End end) {
    String words = end.words().replaceAll("[0-9a-f]{8}$", "…");
    Throwable cause = end.status().getCause();
    return "%s by %s with %s: %s %s%s"
        .formatted(
            cell.method().name(),
            cell.credential(),
            cell.content(),
            end.code(),
            words,
            cause == null ? "" : ", caused by " + cause);
  }

  private static String example(List<byte[]> messages) {
    return messages.stream()
        .map(
            message ->
                "%d bytes %s"
                    .formatted(
                        message.length,
                        HexFormat.of()
                            .formatHex(
                                Arrays.copyOf(message, Math.min(message.length, EXAMPLE_BYTES)))))
        .toList()
        .toString();
  }

  // ---- results

  /** Returns the only call if it was refused, so that it must have changed nothing. */
  Optional<String> refused() {
    return ends().keySet().stream().anyMatch(PERHAPS_DONE::contains)
        ? Optional.empty()
        : Optional.of(calls.keySet() + " ended " + ends());
  }

  /** Returns calls that ended in a forbidden way, with an example for each kind. */
  Map<String, String> offenders() {
    return new TreeMap<>(offenders);
  }

  long calls() {
    return calls.values().stream().mapToLong(LongAdder::sum).sum();
  }

  /** Returns the number of calls, by code. */
  Map<Status.Code, Long> ends() {
    Map<Status.Code, Long> sums = new TreeMap<>();
    ends.values()
        .forEach(codes -> codes.forEach((code, count) -> sums.merge(code, count.sum(), Long::sum)));
    return sums;
  }

  private Map<String, Long> by(Function<FuzzCell, Object> part) {
    return calls.entrySet().stream()
        .collect(
            Collectors.groupingBy(
                entry -> part.apply(entry.getKey()).toString(),
                TreeMap::new,
                Collectors.summingLong(entry -> entry.getValue().sum())));
  }

  private long of(FuzzMethod method) {
    return ends.getOrDefault(method, Map.of()).values().stream().mapToLong(LongAdder::sum).sum();
  }

  private long reached(FuzzMethod method) {
    return reached.getOrDefault(method, new LongAdder()).sum();
  }

  /** Returns all counts, as text. */
  String report(List<FuzzMethod> methods) {
    List<String> lines = new ArrayList<>();
    lines.add("%d calls ended %s".formatted(calls(), ends()));
    lines.add("by caller " + by(FuzzCell::credential));
    lines.add("by content " + by(FuzzCell::content));
    for (FuzzMethod method : methods) {
      lines.add(
          "%-70s %6d calls, %6d came to the handler, ended %s"
              .formatted(
                  method.name(),
                  of(method),
                  reached(method),
                  new TreeMap<>(ends.getOrDefault(method, Map.of()))));
    }
    offenders().forEach((kind, example) -> lines.add("OFFENDER " + kind + "\n  " + example));
    return String.join("\n", lines);
  }

  // ---- requirements

  /**
   * Fails if there were too few calls of a kind, or too few that reached a handler, so that little
   * was tested.
   *
   * @param expected the number of all calls
   */
  void requireCoverage(List<FuzzMethod> methods, long expected) {
    List<String> gaps = new ArrayList<>();
    require(gaps, "calls", calls(), expected);
    // Half of a method's share of the calls, since the last round may be unfinished, and some calls
    // are not sent.
    long each = expected / methods.size() / 2;
    for (FuzzMethod method : methods) {
      require(gaps, "calls of " + method.name(), of(method), each);
      require(gaps, "calls that came to " + method.name(), reached(method), each / 100);
    }
    // Only the long form reaches each kind of call often enough.
    if (each >= 1_000) {
      requireCells(gaps, methods, each);
    }
    require(gaps, "calls answered OK", ends().getOrDefault(Status.Code.OK, 0L), expected / 50);
    assertTrue(gaps.isEmpty(), () -> "less was tried than should be: " + gaps);
  }

  /**
   * Requires that each method got each kind of content from each caller that its listener allows.
   */
  private void requireCells(List<String> gaps, List<FuzzMethod> methods, long each) {
    for (FuzzMethod method : methods) {
      for (FuzzCredential credential : FuzzCredential.values()) {
        for (FuzzContent content : FuzzContent.values()) {
          FuzzCell cell = new FuzzCell(method, credential, content);
          boolean plaintext =
              calls.containsKey(new FuzzCell(method, FuzzCredential.PLAINTEXT, content));
          if (plaintext == (credential == FuzzCredential.PLAINTEXT)) {
            long floor = Math.max(1, each * content.timesIn(1) / 100);
            require(gaps, cell.toString(), calls.getOrDefault(cell, new LongAdder()).sum(), floor);
          }
        }
      }
    }
  }

  private static void require(List<String> gaps, String what, long found, long floor) {
    if (found < floor) {
      gaps.add("%d %s, of %d at least".formatted(found, what, floor));
    }
  }
}
