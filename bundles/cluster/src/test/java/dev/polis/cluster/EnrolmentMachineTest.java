package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.base.values.Watcher;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class EnrolmentMachineTest {

  private final LogTree logs = LogTree.create();
  private final EnrolmentMachine machine = new EnrolmentMachine(logs.log("cluster"));

  private static final Set<String> ALLOWED =
      Set.of(
          "NEW>CREATING_CLUSTER",
          "NEW>REGISTERING",
          "NEW>JOINING",
          "CREATING_CLUSTER>RUNNING",
          "CREATING_CLUSTER>FAILED",
          "REGISTERING>RUNNING",
          "REGISTERING>FAILED",
          "JOINING>RUNNING",
          "JOINING>FAILED");

  static Stream<Arguments> allTransitions() {
    return Stream.of(EnrolmentPhase.values())
        .flatMap(from -> Stream.of(EnrolmentPhase.values()).map(to -> Arguments.of(from, to)));
  }

  @ParameterizedTest
  @MethodSource("allTransitions")
  @DisplayName(
      "SEED-01 only the allowed transitions succeed, all others end in FAILED and name both")
  void seed01_transitions(EnrolmentPhase from, EnrolmentPhase to) {
    bring(from);
    if (ALLOWED.contains(from + ">" + to)) {
      machine.transition(to, "test");
      assertEquals(to, machine.phase());
      return;
    }
    var refused = assertThrows(EnrolmentException.class, () -> machine.transition(to, "test"));
    assertEquals(EnrolmentPhase.FAILED, machine.phase());
    String both = "from " + from + " to " + to;
    assertTrue(refused.getMessage().contains(both), refused.getMessage());
    assertTrue(logged().contains(both), logged());
  }

  private void bring(EnrolmentPhase phase) {
    switch (phase) {
      case NEW -> {}
      case CREATING_CLUSTER, REGISTERING, JOINING -> machine.transition(phase, "test");
      case RUNNING -> {
        machine.transition(EnrolmentPhase.CREATING_CLUSTER, "test");
        machine.transition(EnrolmentPhase.RUNNING, "test");
      }
      case FAILED -> machine.fail("test");
    }
  }

  private String logged() {
    try (LogReader reader = logs.read(LogQuery.of("cluster").backlogAll())) {
      return reader.backlog().stream().map(LogEntry::toString).collect(Collectors.joining("\n"));
    }
  }

  @Test
  @DisplayName("SEED-02 a second run leaves a visible failure")
  void seed02_secondRun() {
    machine.start();
    var refused = assertThrows(EnrolmentException.class, machine::start);
    assertTrue(
        refused.getMessage().startsWith("cannot restart cluster manager"), refused.getMessage());
    assertEquals(EnrolmentPhase.FAILED, machine.phase());
  }

  @Test
  @DisplayName("SEED-02 a second run of a node that is a member does not harm it")
  void seed02_secondRunOfMember() {
    machine.start();
    bring(EnrolmentPhase.RUNNING);
    assertThrows(EnrolmentException.class, machine::start);
    assertEquals(EnrolmentPhase.RUNNING, machine.phase());
  }

  @Test
  @DisplayName("SEED-03 ten waiters all wake, before and after success")
  void seed03_waitersOfSuccess() throws Exception {
    assertTrue(finishWithTenWaiters(EnrolmentPhase.RUNNING));
    assertTrue(awaitFinished());
  }

  @Test
  @DisplayName("SEED-03 ten waiters all wake, before and after failure")
  void seed03_waitersOfFailure() throws Exception {
    assertFalse(finishWithTenWaiters(EnrolmentPhase.FAILED));
    assertFalse(awaitFinished());
  }

  /** Waits until the machine ends; returns whether the node became a member. */
  private boolean awaitFinished() throws InterruptedException {
    try (Watcher<EnrolmentMachine.Standing> watcher = machine.standing().watch()) {
      return watcher.get(now -> now.phase().isTerminal()).phase() == EnrolmentPhase.RUNNING;
    }
  }

  private boolean finishWithTenWaiters(EnrolmentPhase end) throws Exception {
    try (ExecutorService threads = new TestThreads()) {
      List<Future<Boolean>> waiters = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        waiters.add(threads.submit(this::awaitFinished));
      }
      bring(end);
      Set<Boolean> answers = new java.util.HashSet<>();
      for (Future<Boolean> waiter : waiters) {
        answers.add(waiter.get(5, TimeUnit.SECONDS));
      }
      assertEquals(1, answers.size(), "waiters disagree: " + answers);
      return answers.iterator().next();
    }
  }
}
