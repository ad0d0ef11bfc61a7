package dev.polis.cluster.it;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.wire.api.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Loads a node, in the long form at full speed: with eight writers, a reader, four watchers, two
 * followers of the log, and two callers of the replaced organ.
 */
final class CycleLoad implements AutoCloseable {

  private static final int WRITERS = 8;
  private static final int WATCHERS = 4;
  private static final int FOLLOWERS = 2;
  private static final int PROBES = 2;

  /** Shorter than a swap, and long enough to leave the swap, or other tests, a core. */
  private static final Duration PAUSE = Duration.ofMillis(Tier.pick(20, 5, 0));

  /**
   * The same for the more callers of several nodes, whose swaps may leave a second without answer.
   */
  private static final Duration PAUSE_OF_MANY =
      Tier.isLong() ? Duration.ZERO : Duration.ofMillis(25);

  private final OwnerApi owner;
  private final String node;
  private final AnswerClock curatorClock = new AnswerClock();
  private final AnswerClock organClock;
  private final List<NumberedWriter> writers;
  private final List<CountingCaller> callers = new ArrayList<>();
  private final List<RecordWatcher> watchers;
  private final List<LogFollower> followers;

  /**
   * Starts a load.
   *
   * @param owners the calls of the owner; writers, watchers and readers share them in turn
   * @param followers the followers of the log of each of them
   * @param pause the time between an answer and the next call of the same caller
   * @param probes the callers of the replaced organ; empty if it has none of its own
   */
  private CycleLoad(
      List<OwnerApi> owners,
      String node,
      int writers,
      int watchers,
      int followers,
      Duration pause,
      List<SteadyCaller.Call> probes)
      throws Exception {
    this.owner = owners.getFirst();
    this.node = node;
    Node record = owner.node(node);
    this.writers =
        IntStream.range(0, writers)
            .mapToObj(
                n -> {
                  OwnerApi way = owners.get(n % owners.size());
                  NumberedWriter fresh = new NumberedWriter(way, node, n, 0);
                  return new NumberedWriter(way, node, n, fresh.in(record.getLabels()));
                })
            .toList();
    for (NumberedWriter writer : this.writers) {
      callers.add(CountingCaller.of(writer.label(), curatorClock, pause, writer::write));
    }
    for (OwnerApi each : owners) {
      callers.add(CountingCaller.of("clusterInfo", curatorClock, pause, each::clusterInfo));
    }
    this.organClock = probes.isEmpty() ? curatorClock : new AnswerClock();
    probes.forEach(call -> callers.add(CountingCaller.of("the organ", organClock, pause, call)));
    this.watchers =
        IntStream.range(0, watchers)
            .mapToObj(n -> new RecordWatcher(owners.get(n % owners.size()), node, this.writers))
            .toList();
    this.followers =
        owners.stream()
            .flatMap(each -> IntStream.range(0, followers).mapToObj(n -> new LogFollower(each)))
            .toList();
  }

  static CycleLoad on(TestNode node, OwnerApi owner, String organ) throws Exception {
    Optional<SteadyCaller.Call> probe = OrganProbe.of(organ, node, owner);
    CycleLoad load =
        new CycleLoad(
            List.of(owner),
            node.id(),
            WRITERS,
            WATCHERS,
            FOLLOWERS,
            PAUSE,
            IntStream.range(0, PROBES).boxed().flatMap(n -> probe.stream()).toList());
    load.awaitAnswers("before the swaps of " + organ);
    return load;
  }

  /**
   * Loads all nodes of a cluster: through each, two writers, a reader and a watcher of the records
   * of one node, and a follower of its log.
   *
   * @param owners the calls of the owner through each node
   * @param probes further calls, whose failures count, too
   */
  static CycleLoad over(List<OwnerApi> owners, String node, List<SteadyCaller.Call> probes)
      throws Exception {
    int nodes = owners.size();
    CycleLoad load = new CycleLoad(owners, node, 2 * nodes, nodes, 1, PAUSE_OF_MANY, probes);
    load.awaitAnswers("at each node");
    return load;
  }

  /** Waits until each caller gets an answer to a call that begins from now on. */
  void awaitAnswers(String when) throws Exception {
    List<Long> before = callers.stream().map(CountingCaller::answered).toList();
    Await.until(
        TestNode.PATIENCE,
        "answers to each caller " + when + "; " + failures(),
        () ->
            IntStream.range(0, callers.size())
                .allMatch(n -> callers.get(n).answered() >= before.get(n) + 2));
  }

  /** Returns whether the organ has callers of its own. */
  boolean hasProbe() {
    return organClock != curatorClock;
  }

  /** Returns the clock of the organ's callers, or of the curator's if it has none. */
  AnswerClock organClock() {
    return organClock;
  }

  AnswerClock curatorClock() {
    return curatorClock;
  }

  /**
   * Ends the calls, waits until each watcher has received the last write, and returns the tally.
   */
  Tally end() throws Exception {
    for (CountingCaller caller : callers) {
      caller.end();
    }
    Node record = owner.node(node);
    long lostWrites =
        writers.stream().filter(each -> each.in(record.getLabels()) < each.acknowledged()).count();
    long behind = 0;
    try {
      Await.until(
          TestNode.PATIENCE,
          "the watchers to see the last writes",
          () -> watchers.stream().allMatch(RecordWatcher::isUpToDate));
    } catch (AssertionError e) {
      behind = watchers.stream().filter(each -> !each.isUpToDate()).count();
    }
    close();
    List<String> troubles = new ArrayList<>(failures());
    watchers.forEach(each -> troubles.addAll(each.troubles()));
    followers.forEach(each -> troubles.addAll(each.faults()));
    return new Tally(
        callers.stream().mapToLong(CountingCaller::answered).sum(),
        callers.stream().mapToLong(CountingCaller::failed).sum(),
        lostWrites,
        watchers.stream().mapToLong(RecordWatcher::events).sum(),
        behind,
        sum(followers.stream().mapToLong(LogFollower::lines)),
        sum(followers.stream().mapToLong(LogFollower::lost)),
        sum(followers.stream().mapToLong(LogFollower::doubled)),
        sum(followers.stream().mapToLong(LogFollower::tooSlow)),
        Stream.concat(
                watchers.stream().map(RecordWatcher::streams),
                followers.stream().map(LogFollower::streams))
            .mapToLong(Long::longValue)
            .sum(),
        followers.stream()
            .flatMap(each -> each.tokens().stream())
            .collect(Collectors.toCollection(TreeSet::new)),
        troubles.stream().distinct().limit(20).toList());
  }

  private static long sum(LongStream values) {
    return values.sum();
  }

  private List<String> failures() {
    return callers.stream().flatMap(each -> each.failures().stream()).toList();
  }

  /**
   * Holds the results of a load.
   *
   * @param answered calls
   * @param failed calls
   * @param lostWrites writers whose last acknowledged number is lost
   * @param events that watchers received
   * @param behind watchers that never received the last number of a writer
   * @param lines that followers received
   * @param lostLines lines that followers did not receive
   * @param doubledLines lines that followers received twice
   * @param slowLines lines that the node left out since a follower did not read them in time
   * @param streams the number of streams that watchers and followers opened
   * @param tokens fencing tokens that leaders have logged; each election has one of its own
   * @param troubles the texts of faults
   */
  record Tally(
      long answered,
      long failed,
      long lostWrites,
      long events,
      long behind,
      long lines,
      long lostLines,
      long doubledLines,
      long slowLines,
      long streams,
      Set<String> tokens,
      List<String> troubles) {

    String words() {
      return "calls %,d, failed %d; writes lost %d; events %,d, watchers behind %d; log lines %,d, lost %d, doubled %d, left out for slowness %d; streams opened %,d; fencing tokens %s"
          .formatted(
              answered,
              failed,
              lostWrites,
              events,
              behind,
              lines,
              lostLines,
              doubledLines,
              slowLines,
              streams,
              tokens);
    }
  }

  @Override
  public void close() {
    watchers.forEach(RecordWatcher::close);
    followers.forEach(LogFollower::close);
  }
}
