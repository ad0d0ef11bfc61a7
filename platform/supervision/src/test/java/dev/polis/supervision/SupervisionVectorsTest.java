package dev.polis.supervision;

import static dev.polis.supervision.RunState.CANCELED;
import static dev.polis.supervision.RunState.DEAD;
import static dev.polis.supervision.RunState.DONE;
import static dev.polis.supervision.RunState.HEALTHY;
import static dev.polis.supervision.RunState.NEW;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.backoff.Uninterrupted;
import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.logtree.Severity;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the vectors of supervision, by their ids. */
@Timeout(60)
final class SupervisionVectorsTest {

  /** Fails with each exception that is put into its queue. */
  private static Task failingOnDemand(BlockingQueue<Throwable> demand) {
    return context -> {
      context.healthy();
      switch (demand.take()) {
        case Error error -> throw error;
        case Exception exception -> throw exception;
        case Throwable other -> throw new AssertionError(other);
      }
    };
  }

  /**
   * Returns a chain of groups of two with so many levels, which counts the starts of its last
   * level.
   */
  private static Task nested(Supervised world, int levels, AtomicInteger starts) {
    if (levels == 0) {
      return world.traced(
          context -> {
            starts.incrementAndGet();
            context.healthy();
            context.awaitCancelled();
          });
    }
    return world.traced(
        context -> {
          context.group(Map.of("left", nested(world, levels - 1, starts), "right", world.steady()));
          context.healthy();
          context.awaitCancelled();
        });
  }

  @Test
  @DisplayName("SUP-01 a parent that starts a group and is done leaves both members running")
  void sup01_groupRunsUnderDoneParent() throws Exception {
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .run(
              "setup",
              context -> {
                context.group(Map.of("one", world.steady(), "two", world.steady()));
                context.healthy();
                context.done();
              });

      world.await("root.foo.setup", DONE);
      world.awaitHealthy("root.foo.setup.one", "root.foo.setup.two");
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
    }
  }

  @Test
  @DisplayName("SUP-02 when one member of a group fails, the other is cancelled and both run again")
  void sup02_groupFallsTogether() throws Exception {
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .group(Map.of("one", world.steady(), "two", world.traced(failingOnDemand(demand))));
      world.awaitHealthy("root.foo.one", "root.foo.two");

      demand.put(new IOException("the disk\nis gone"));

      world.awaitRestart("root.foo.one", 1, HEALTHY);
      world.awaitRestart("root.foo.two", 1, HEALTHY);
      world.awaitStates("root.foo.one", List.of(NEW, HEALTHY, CANCELED, NEW, HEALTHY));
      world.awaitStates("root.foo.two", List.of(NEW, HEALTHY, DEAD, NEW, HEALTHY));
      assertEquals(
          List.of("root.foo.two FATAL failed in state HEALTHY: IOException: the disk is gone"),
          world.logged("root", Severity.WARNING));
      assertEquals("IOException: the disk is gone", world.status("root.foo.two").lastError());
    }
  }

  @Test
  @DisplayName(
      "SUP-02 a failure with a message for operators is logged in one line, unless its cause is a defect")
  void sup02_toldInOneLine() throws Exception {
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    try (Supervised world = new Supervised()) {
      world.tree.organ("foo").run("one", world.traced(failingOnDemand(demand)));
      world.await("root.foo.one", HEALTHY);
      demand.put(new Told("the disk is full; free some space", null));
      world.awaitRestart("root.foo.one", 1, HEALTHY);
      demand.put(new UncheckedIOException(new IOException("the disk is gone")));
      world.awaitRestart("root.foo.one", 2, HEALTHY);
      demand.put(new Told("the disk cannot be read", new IllegalStateException("no such page")));
      world.awaitRestart("root.foo.one", 3, HEALTHY);

      List<String> fatal = world.logged("root", Severity.FATAL);
      assertEquals(
          List.of(
              "root.foo.one FATAL failed in state HEALTHY: Told: the disk is full; free some space",
              "root.foo.one FATAL failed in state HEALTHY: UncheckedIOException:"
                  + " java.io.IOException: the disk is gone; caused by IOException: the disk is gone"),
          fatal.subList(0, 2));
      assertTrue(fatal.get(2).contains("no such page"), fatal.get(2));
      assertTrue(fatal.get(2).contains("\tat "), "no stack trace in: " + fatal.get(2));
    }
  }

  private static final class Told extends RuntimeException {
    private static final long serialVersionUID = 1;

    Told(String message, Throwable cause) {
      super(message, cause);
    }
  }

  @Test
  @DisplayName("SUP-03 a sibling with five levels of groups restarts as a whole")
  void sup03_subtreeRestartsAsAWhole() throws Exception {
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    AtomicInteger leafStarts = new AtomicInteger();
    String leaf = "root.foo.one" + ".left".repeat(5);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .group(
              Map.of(
                  "one",
                  nested(world, 5, leafStarts),
                  "two",
                  world.traced(failingOnDemand(demand))));
      world.await(leaf, HEALTHY);
      world.await("root.foo.two", HEALTHY);

      demand.put(new IOException("down"));

      world.awaitRestart(leaf, 1, HEALTHY);
      world.awaitRestart("root.foo.one.left.right", 1, HEALTHY);
      world.awaitRestart("root.foo.two", 1, HEALTHY);
      assertEquals(2, leafStarts.get());
    }
  }

  @Test
  @DisplayName("SUP-04 a panic is contained: runtime exceptions, errors and overflown stacks")
  void sup04_panicIsContained() throws Exception {
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .group(
              Map.of(
                  "one",
                  world.steady(),
                  "two",
                  world.traced(
                      context -> {
                        try {
                          failingOnDemand(demand).run(context);
                        } catch (StackOverflowError wanted) {
                          overflow(0);
                        }
                      })));
      List<Throwable> panics =
          List.of(
              new IllegalArgumentException("bad"),
              new AssertionError("worse"),
              new NoClassDefFoundError("dev/polis/Gone"),
              new StackOverflowError());
      world.await("root.foo.two", HEALTHY);
      for (int i = 0; i < panics.size(); i++) {
        demand.put(panics.get(i));
        world.awaitRestart("root.foo.two", i + 1, HEALTHY);
        world.awaitRestart("root.foo.one", i + 1, HEALTHY);
      }

      List<String> fatal = world.logged("root", Severity.FATAL);
      assertEquals(4, fatal.size(), fatal::toString);
      assertTrue(
          fatal
              .get(0)
              .startsWith(
                  "root.foo.two FATAL panicked in state HEALTHY: IllegalArgumentException: bad"),
          fatal.get(0));
      assertTrue(fatal.get(0).contains("\tat "), "no stack trace in: " + fatal.get(0));
      assertTrue(fatal.get(3).contains("StackOverflowError"), fatal.get(3));
    }
  }

  private static int overflow(int depth) {
    return overflow(depth + 1) + 1;
  }

  @Test
  @DisplayName("SUP-05 two trees of four levels start without a deadlock")
  void sup05_deepTreesStart() throws Exception {
    AtomicInteger starts = new AtomicInteger();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run("one", nested(world, 4, starts));
      organ.run("two", nested(world, 4, starts));

      world.awaitHealthy("root.foo.one.left.left.left.left", "root.foo.two.left.left.left.left");
      assertEquals(2, starts.get());
    }
  }

  @Test
  @DisplayName(
      "SUP-06 delays grow while a runnable dies before it is healthy, and health resets them")
  void sup06_backoff() throws Exception {
    ManualTimer timer = new ManualTimer();
    AtomicBoolean becomesHealthy = new AtomicBoolean();
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    try (Supervised world = new Supervised(timer)) {
      becomesHealthy.set(true);
      world
          .tree
          .organ("foo")
          .run(
              "one",
              world.traced(
                  context -> {
                    if (becomesHealthy.get()) {
                      context.healthy();
                    }
                    throw (Exception) demand.take();
                  }));
      world.await("root.foo.one", HEALTHY);
      becomesHealthy.set(false);
      demand.put(new IOException("first"));
      world.awaitRestart("root.foo.one", 1, NEW);

      long delay = 500_000_000;
      for (int death = 1; death <= 5; death++) {
        demand.put(new IOException("death " + death));
        assertEquals(delay, restartDelay(world, timer, "root.foo.one"), "after death " + death);
        timer.advance(Duration.ofNanos(delay - 1));
        assertEquals(DEAD, world.status("root.foo.one").state(), "not a moment early");
        if (death == 5) {
          becomesHealthy.set(true);
        }
        timer.advance(Duration.ofNanos(1));
        world.awaitRestart("root.foo.one", 1 + death, death == 5 ? HEALTHY : NEW);
        delay = (long) (delay * 1.5);
      }
      assertTrue(delay >= 1_000_000_000L, "the sixth delay would have been " + delay + " ns");

      demand.put(new IOException("after health"));
      world.awaitRestart("root.foo.one", 7, HEALTHY);
      demand.put(new IOException("and again in the same second"));
      assertEquals(500_000_000, restartDelay(world, timer, "root.foo.one"), "the shortest again");
    }
  }

  private static long restartDelay(Supervised world, ManualTimer timer, String dn)
      throws Exception {
    world.await(
        dn, at -> at.restart() instanceof NextRestart.At, dn + " to have a restart scheduled");
    NextRestart.At at = assertInstanceOf(NextRestart.At.class, world.status(dn).restart());
    return Duration.between(timer.time(), at.time()).toNanos();
  }

  @Test
  @DisplayName("SUP-07 an outer failure cancels the delay of an inner one, and does not add to it")
  void sup07_innerDelayIsCalledOff() throws Exception {
    ManualTimer timer = new ManualTimer();
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    AtomicInteger innerStarts = new AtomicInteger();
    try (Supervised world = new Supervised(timer)) {
      world
          .tree
          .organ("foo")
          .run(
              "outer",
              world.traced(
                  context -> {
                    context.run(
                        "inner",
                        inner -> {
                          innerStarts.incrementAndGet();
                          throw new IOException("never works");
                        });
                    failingOnDemand(demand).run(context);
                  }));
      world.await("root.foo.outer", HEALTHY);
      for (int i = 0; i < 6; i++) {
        timer.advance(Duration.ofNanos(restartDelay(world, timer, "root.foo.outer.inner")));
        awaitCount(innerStarts, i + 2, "starts of inner");
      }
      assertTrue(restartDelay(world, timer, "root.foo.outer.inner") > 5_000_000_000L);

      demand.put(new IOException("outer"));

      world.awaitRestart("root.foo.outer", 1, HEALTHY);
      assertEquals(500_000_000, restartDelay(world, timer, "root.foo.outer.inner"));
      timer.awaitPending(1, "only the new inner waits");
      assertEquals(8, innerStarts.get());
    }
  }

  private static void awaitCount(AtomicInteger counter, int wanted, String what) {
    long start = System.nanoTime();
    while (counter.get() < wanted) {
      assertTrue(
          System.nanoTime() - start < Supervised.LONG.toNanos(),
          () -> "waited for %d %s, there are %d".formatted(wanted, what, counter.get()));
      Thread.yield();
    }
  }

  @Test
  @DisplayName("SUP-08 the parent waits until a child that signalled done has returned")
  void sup08_doneButNotReturned() throws Exception {
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    CountDownLatch signalled = new CountDownLatch(1);
    CountDownLatch mayReturn = new CountDownLatch(1);
    AtomicInteger inside = new AtomicInteger();
    AtomicBoolean twoAtOnce = new AtomicBoolean();
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .run(
              "parent",
              world.traced(
                  context -> {
                    context.run(
                        "child",
                        world.traced(
                            child -> {
                              twoAtOnce.compareAndSet(false, inside.incrementAndGet() > 1);
                              child.healthy();
                              child.done();
                              signalled.countDown();
                              awaitStubbornly(mayReturn);
                              inside.decrementAndGet();
                            }));
                    failingOnDemand(demand).run(context);
                  }));
      assertTrue(signalled.await(10, SECONDS));
      world.await("root.foo.parent", HEALTHY);

      demand.put(new IOException("parent"));

      world.await("root.foo.parent", DEAD);
      assertEquals(0, world.status("root.foo.parent").restarts());
      assertEquals(
          HEALTHY, world.status("root.foo.parent.child").state(), "done counts after the return");
      mayReturn.countDown();
      world.awaitRestart("root.foo.parent", 1, HEALTHY);
      world.awaitRestart("root.foo.parent.child", 1, DONE);
      assertFalse(twoAtOnce.get(), "two runs of one runnable at the same time");
    }
  }

  /** Waits and ignores interrupts, like code that swallows them. */
  private static void awaitStubbornly(CountDownLatch latch) {
    Uninterrupted.await(latch, Duration.ofMinutes(1));
  }

  @Test
  @DisplayName("SUP-09 the children of a done sibling are cancelled, and run again")
  void sup09_doneSiblingRestarts() throws Exception {
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .group(
              Map.of(
                  "done",
                  world.traced(
                      context -> {
                        context.run("inner", world.steady());
                        context.healthy();
                        context.done();
                      }),
                  "sibling",
                  world.traced(failingOnDemand(demand))));
      world.await("root.foo.done", DONE);
      world.awaitHealthy("root.foo.done.inner", "root.foo.sibling");

      demand.put(new IOException("sibling"));

      world.awaitRestart("root.foo.done", 1, DONE);
      world.awaitRestart("root.foo.done.inner", 1, HEALTHY);
      world.awaitStates("root.foo.done.inner", List.of(NEW, HEALTHY, CANCELED, NEW, HEALTHY));
    }
  }

  @Test
  @DisplayName(
      "SUP-10 a healthy pair beside misbehaving runnables of every kind answers each time within a second")
  void sup10_offendersHarmNobody() throws Exception {
    AtomicReference<Context> foreign = new AtomicReference<>();
    AtomicBoolean spin = new AtomicBoolean(true);
    SynchronousQueue<Integer> ping = new SynchronousQueue<>();
    BlockingQueue<Throwable> demand = new ArrayBlockingQueue<>(1);
    MachineSpeed speed = MachineSpeed.measure();
    long slowest = 0;
    try (Supervised world = new Supervised()) {
      CountDownLatch foreignRefused =
          world.reason("root.foo.foreign", "with the context of root.foo.victim");
      CountDownLatch breederEnded = world.reason("root.foo.breeder", "more than 4096 children");
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "victim",
          context -> {
            foreign.set(context);
            context.awaitCancelled();
          });
      organ.run(
          "foreign",
          context -> {
            Context other = foreign.get();
            if (other == null) {
              throw new IOException("no victim yet");
            }
            other.healthy();
          });
      organ.run("premature", Context::done);
      organ.run(
          "busy",
          context -> {
            while (spin.get()) {
              Thread.onSpinWait();
            }
          });
      organ.run(
          "breeder",
          context -> {
            for (int i = 0; ; i++) {
              context.run("child-" + i, Context::awaitCancelled);
            }
          });
      Map<String, Task> pair = new LinkedHashMap<>();
      pair.put(
          "one",
          context -> {
            context.healthy();
            while (true) {
              ping.take();
            }
          });
      pair.put("one-sibling", failingOnDemand(demand));
      organ.group(pair);

      try {
        world.awaitHistory("root.foo.one", List.of(NEW, HEALTHY));
        for (int round = 0; round < 5; round++) {
          long begin = System.nanoTime();
          assertTrue(
              ping.offer(round, Supervised.LONG.toMillis(), MILLISECONDS),
              "one did not answer in round " + round);
          slowest = Math.max(slowest, System.nanoTime() - begin);
          demand.put(new IllegalStateException("round " + round));
        }

        assertTrue(
            foreignRefused.await(10, SECONDS), "the use of a foreign context is not refused");
        assertTrue(
            world.status("root.foo.premature").lastError().contains("signals done in state NEW"));
        assertEquals(NEW, world.status("root.foo.victim").state(), "the victim is not touched");
        assertEquals(0, world.status("root.foo.victim").restarts());
        assertTrue(breederEnded.await(20, SECONDS), "the runnable that starts children continues");
      } finally {
        spin.set(false);
      }
      speed.assertWithin("each answer came", Duration.ofSeconds(1), Duration.ofNanos(slowest));
      organ.close(StopReason.CODE_REPLACED);
    }
  }

  @Test
  @DisplayName("SUP-11 children and their logs have the same names")
  void sup11_subLogsReserveNames() throws Exception {
    BlockingQueue<String> refusals = new ArrayBlockingQueue<>(2);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .run(
              "setup",
              context -> {
                context.subLog("dut").info("hello from the sub-log");
                context.subLog("dut").info("the same again");
                refusals.put(refusal(() -> context.run("dut", world.steady())));
                context.run("child", world.steady());
                refusals.put(refusal(() -> context.subLog("child")));
                context.healthy();
                context.done();
              });
      world.await("root.foo.setup", DONE);

      assertEquals(
          "root.foo.setup already has a sub-log named 'dut': choose another name, or close the subtree that has it",
          refusals.poll());
      assertTrue(refusals.poll().startsWith("root.foo.setup already has a child named 'child'"));
      assertEquals(
          List.of(
              "root.foo.setup.dut INFO hello from the sub-log",
              "root.foo.setup.dut INFO the same again"),
          world.logged("root.foo.setup.dut", Severity.INFO));
    }
  }

  private static String refusal(Runnable attempt) {
    return assertThrows(SupervisionException.class, attempt::run).getMessage();
  }

  @Test
  @DisplayName("SUP-12 a listener sees every state of every DN within a second")
  void sup12_transitionsAreReported() throws Exception {
    AtomicBoolean crash = new AtomicBoolean(true);
    CountDownLatch childHealthy = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      MachineSpeed speed = MachineSpeed.measure();
      long begin = System.nanoTime();
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "finishes",
          context -> {
            context.healthy();
            context.done();
          });
      organ.run(
          "crasher",
          context -> {
            context.run(
                "child",
                child -> {
                  child.healthy();
                  childHealthy.countDown();
                  child.awaitCancelled();
                });
            childHealthy.await();
            if (crash.getAndSet(false)) {
              throw new IOException("crash");
            }
            context.healthy();
            context.awaitCancelled();
          });

      world.awaitHistory("root.foo.finishes", List.of(NEW, HEALTHY, DONE));
      world.awaitHistory("root.foo.crasher", List.of(NEW, DEAD));
      world.awaitHistory("root.foo.crasher.child", List.of(NEW, HEALTHY, CANCELED));
      Duration took = Duration.ofNanos(System.nanoTime() - begin);
      speed.assertWithin("all states were reported", Duration.ofSeconds(1), took);
      List<Transition> all = world.history.transitions().peek().orElseThrow();
      Transition first =
          all.stream().filter(t -> t.dn().equals("root.foo.finishes")).findFirst().get();
      assertEquals(DEAD, first.from(), "a first start counts as a start from DEAD");
      Transition canceled = all.stream().filter(t -> t.to() == CANCELED).findFirst().get();
      assertEquals("root.foo.crasher died", canceled.reason());
    }
  }

  @ParameterizedTest
  @DisplayName("SUP-13 malformed names are refused with the name")
  @ValueSource(
      strings = {
        "a.b",
        "Upper",
        "",
        "console-/dev/tty0",
        "a b",
        "ä",
        "a\n",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      })
  void sup13_malformedNamesAreRefused(String name) throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");

      String message = refusal(() -> organ.run(name, world.steady()));

      assertTrue(message.startsWith("'" + name + "' cannot be a name under root.foo"), message);
      refusal(() -> world.tree.organ(name));
      refusal(() -> organ.subtree(name));
      Map<String, Task> group = new LinkedHashMap<>();
      group.put("good", world.steady());
      group.put(name, world.steady());
      refusal(() -> organ.group(group));
      assertFalse(world.has("root.foo.good"), "of a group, all are started or none");
    }
  }

  @Test
  @DisplayName("SUP-13 well-formed names are accepted, each only once")
  void sup13_wellFormedNamesAreTaken() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      for (String name : List.of("a", "0", "a-b_c-9", "-", "x".repeat(64))) {
        organ.run(name, world.steady());
        world.await("root.foo." + name, HEALTHY);
        assertTrue(refusal(() -> organ.run(name, world.steady())).contains("already has a child"));
      }
      organ.subtree("sub");
      assertTrue(refusal(() -> organ.subtree("sub")).contains("already has a child named 'sub'"));
    }
  }

  @Test
  @DisplayName("SUP-14 a return without done is a failure that names the state")
  void sup14_returnWithoutDone() throws Exception {
    ManualTimer timer = new ManualTimer();
    try (Supervised world = new Supervised(timer)) {
      Subtree organ = world.tree.organ("foo");
      organ.run("silent", context -> assertNotNull(context.dn()));
      world.await("root.foo.silent", at -> at.restart() instanceof NextRestart.At, "a delay");

      assertEquals(DEAD, world.status("root.foo.silent").state());
      assertEquals(
          List.of(
              "root.foo.silent FATAL returned in state NEW without having signalled healthy and done"),
          world.logged("root.foo.silent", Severity.FATAL));

      AtomicBoolean first = new AtomicBoolean(true);
      organ.run(
          "brief",
          context -> {
            context.healthy();
            if (!first.getAndSet(false)) {
              context.awaitCancelled();
            }
          });
      world.awaitRestart("root.foo.brief", 1, HEALTHY);
      assertEquals(
          List.of("root.foo.brief FATAL returned in state HEALTHY without having signalled done"),
          world.logged("root.foo.brief", Severity.FATAL));
    }
  }
}
