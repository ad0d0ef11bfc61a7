package dev.polis.supervision;

import static dev.polis.supervision.RunState.CANCELED;
import static dev.polis.supervision.RunState.DONE;
import static dev.polis.supervision.RunState.HEALTHY;
import static dev.polis.supervision.RunState.NEW;
import static dev.polis.supervision.RunState.STOPPING;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.backoff.Uninterrupted;
import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.logtree.Severity;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Closes subtrees, asks for restarts, and stops runnables that refuse to end. */
@Timeout(60)
final class StoppingTest {

  private static void awaitStubbornly(CountDownLatch latch) {
    Uninterrupted.await(latch, Duration.ofMinutes(1));
  }

  @Test
  @DisplayName("closing passes through STOPPING, logs no FATAL, and frees the name (D-21)")
  void closingLogsNoFatal() throws Exception {
    try (Supervised world = new Supervised()) {
      for (int instance = 0; instance < 3; instance++) {
        Subtree organ = world.tree.organ("roles");
        organ.group(Map.of("one", world.steady(), "two", world.steady()));
        organ.run(
            "setup",
            world.traced(
                context -> {
                  context.run("inner", world.steady());
                  context.healthy();
                  context.done();
                }));
        world.awaitHealthy("root.roles.one", "root.roles.two");
        world.await("root.roles.setup", DONE);
        world.await("root.roles.setup.inner", HEALTHY);

        assertEquals(List.of(), organ.close(StopReason.CODE_REPLACED, Supervised.LONG));

        assertFalse(world.has("root.roles"), world.statuses()::toString);
        assertEquals(1, world.statuses().size());
      }
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
      world.awaitHistory("root.roles.one", List.of(NEW, HEALTHY, STOPPING, CANCELED));
      world.awaitHistory("root.roles.setup", List.of(NEW, HEALTHY, DONE, STOPPING, CANCELED));
      assertEquals(
          List.of(NEW, HEALTHY, STOPPING, CANCELED),
          world.history.states("root.roles.one").subList(0, 4));
      assertEquals(
          List.of(NEW, HEALTHY, DONE, STOPPING, CANCELED),
          world.history.states("root.roles.setup").subList(0, 5));
    }
  }

  @ParameterizedTest
  @EnumSource(StopReason.class)
  @DisplayName("a stopped run gets the stop reason, at any depth")
  void reasonIsRead(StopReason reason) throws Exception {
    Map<String, Optional<StopReason>> seen = new ConcurrentHashMap<>();
    Task remembering =
        context -> {
          // Done before it is healthy, because from then on it may be stopped.
          assertEquals(Optional.empty(), context.stopReason());
          context.healthy();
          try {
            context.awaitCancelled();
          } finally {
            seen.put(context.dn(), context.stopReason());
          }
        };
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run("one", remembering);
      organ.subtree("sub").run("two", remembering);
      world.awaitHealthy("root.foo.one", "root.foo.sub.two");

      organ.close(reason);

      assertEquals(
          Map.of("root.foo.one", Optional.of(reason), "root.foo.sub.two", Optional.of(reason)),
          seen);
    }
  }

  @Test
  @DisplayName("a run that is cancelled for a restart has no stop reason")
  void restartHasNoReason() throws Exception {
    AtomicInteger deaths = new AtomicInteger();
    CountDownLatch mayDie = new CountDownLatch(1);
    AtomicReference<Optional<StopReason>> seen = new AtomicReference<>();
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .group(
              Map.of(
                  "fickle",
                  context -> {
                    context.healthy();
                    mayDie.await();
                    if (deaths.getAndIncrement() == 0) {
                      throw new IOException("fickle");
                    }
                    context.awaitCancelled();
                  },
                  "sibling",
                  Supervised.endingWith(
                      context -> {
                        seen.compareAndSet(null, context.stopReason());
                      })));
      world.awaitHealthy("root.foo.fickle", "root.foo.sibling");

      mayDie.countDown();

      world.awaitRestart("root.foo.sibling", 1, HEALTHY);
      assertEquals(Optional.empty(), seen.get());
    }
  }

  @Test
  @DisplayName("a run that is stopped while it fails gets the reason before it returns")
  void stopReachesWhatFalls() throws Exception {
    CountDownLatch falling = new CountDownLatch(1);
    AtomicReference<Optional<StopReason>> atFirst = new AtomicReference<>();
    AtomicReference<Optional<StopReason>> atLast = new AtomicReference<>();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.group(
          Map.of(
              "fickle",
              context -> {
                context.healthy();
                throw new IOException("fickle");
              },
              "slow",
              Supervised.endingWith(
                  context -> {
                    atFirst.set(context.stopReason());
                    falling.countDown();
                    Await.until("the stop", () -> context.stopReason().isPresent());
                    atLast.set(context.stopReason());
                  })));
      assertTrue(falling.await(10, SECONDS));

      organ.close(StopReason.POWER_OFF);

      assertEquals(Optional.empty(), atFirst.get());
      assertEquals(Optional.of(StopReason.POWER_OFF), atLast.get());
    }
  }

  @Test
  @DisplayName(
      "runnables end in reverse order of their start, children before their parent, a group together")
  void stopsInOrder() throws Exception {
    List<String> ends = new CopyOnWriteArrayList<>();
    CountDownLatch together = new CountDownLatch(2);
    Task leaving =
        Supervised.endingWith(
            context -> {
              ends.add(context.dn());
            });
    Task member =
        Supervised.endingWith(
            context -> {
              together.countDown();
              assertTrue(together.await(10, SECONDS), "the other member is not cancelled");
              ends.add("member");
            });
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run("mount", leaving);
      organ.run(
          "runtime",
          context -> {
            context.run("shim", leaving);
            leaving.run(context);
          });
      organ.group(Map.of("a", member, "b", member));
      organ.subtree("late").run("kubelet", leaving);
      for (String dn : List.of("mount", "runtime", "runtime.shim", "a", "b", "late.kubelet")) {
        world.await("root.foo." + dn, HEALTHY);
      }

      assertEquals(List.of(), organ.close(StopReason.ROLE_REMOVED, Supervised.LONG));

      assertEquals(
          List.of(
              "root.foo.late.kubelet",
              "member",
              "member",
              "root.foo.runtime.shim",
              "root.foo.runtime",
              "root.foo.mount"),
          ends);
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
    }
  }

  @Test
  @DisplayName(
      "a runnable that does not return delays those that it depends on for only half of the patience")
  void refuserDoesNotHoldUpTheOrderForEver() throws Exception {
    CountDownLatch mayReturn = new CountDownLatch(1);
    CountDownLatch first = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "mount",
          Supervised.endingWith(
              context -> {
                first.countDown();
              }));
      organ.run(
          "deaf",
          world.traced(
              context -> {
                context.healthy();
                awaitStubbornly(mayReturn);
              }));
      world.awaitHealthy("root.foo.mount", "root.foo.deaf");

      assertEquals(
          List.of("root.foo.deaf"), organ.close(StopReason.ROLE_REMOVED, Duration.ofSeconds(4)));

      assertTrue(first.await(10, SECONDS), "mount was not cancelled");
      mayReturn.countDown();
      Await.value(
          world.tree.runnables(),
          all -> all.stream().noneMatch(at -> at.dn().equals("root.foo.deaf")),
          Supervised.LONG,
          "the deaf one to leave");
      world.joinThreads();
    }
  }

  @Test
  @DisplayName("a runnable that ends by itself before its turn is neither FATAL nor restarted")
  void endsBeforeItsTurn() throws Exception {
    AtomicInteger starts = new AtomicInteger();
    CountDownLatch lost = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "client",
          context -> {
            starts.incrementAndGet();
            context.healthy();
            lost.await();
            throw new IOException("the server is gone");
          });
      organ.run(
          "server",
          Supervised.endingWith(
              context -> {
                lost.countDown();
                Await.until(
                    "the client to end",
                    () -> world.status("root.foo.client").lastError().contains("gone"));
              }));
      world.awaitHealthy("root.foo.client", "root.foo.server");

      assertEquals(List.of(), organ.close(StopReason.CODE_REPLACED, Supervised.LONG));

      assertEquals(
          List.of(
              "root.foo.client WARNING failed while it waited to be cancelled because root.foo is "
                  + "stopped (code replaced): IOException: the server is gone"),
          world.logged("root", Severity.WARNING));
      assertEquals(1, starts.get());
    }
  }

  @Test
  @DisplayName("a run that is being stopped closes a subtree whose turn has not come")
  void closesWhatWouldComeLater() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      Subtree plugins = organ.subtree("plugins");
      plugins.run("one", world.steady());
      organ.run(
          "server",
          world.traced(
              Supervised.endingWith(
                  context -> {
                    plugins.close(StopReason.ROLE_REMOVED);
                  })));
      world.awaitHealthy("root.foo.plugins.one", "root.foo.server");

      long start = System.nanoTime();
      assertEquals(List.of(), organ.close(StopReason.CODE_REPLACED, Supervised.LONG));

      assertTrue(
          System.nanoTime() - start < Supervised.LONG.toNanos() / 2,
          "the two waited for each other");
    }
  }

  @Test
  @DisplayName("a failure during a stop is a warning, neither FATAL nor restarted")
  void failureWhileStopping() throws Exception {
    AtomicInteger starts = new AtomicInteger();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "one",
          context -> {
            starts.incrementAndGet();
            context.healthy();
            try {
              context.awaitCancelled();
            } catch (InterruptedException end) {
              throw new IOException("could not say goodbye");
            }
          });
      world.await("root.foo.one", HEALTHY);

      organ.close(StopReason.CODE_REPLACED);

      assertEquals(
          List.of(
              "root.foo.one WARNING failed while it was cancelled because root.foo is stopped (code replaced): "
                  + "IOException: could not say goodbye"),
          world.logged("root", Severity.WARNING));
      assertEquals(1, starts.get());
    }
  }

  @Test
  @DisplayName("a cancellation wrapped in any exception is no failure")
  void wrappedCancellation() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      List<Exception> ends =
          List.of(
              new IllegalStateException("wrapped", new InterruptedException()),
              new CancellationException("by hand"),
              new ClosedByInterruptException());
      for (int i = 0; i < ends.size(); i++) {
        Exception end = ends.get(i);
        organ.run(
            "end-" + i,
            context -> {
              context.healthy();
              try {
                context.awaitCancelled();
              } catch (InterruptedException interrupted) {
                throw end;
              }
            });
        world.await("root.foo.end-" + i, HEALTHY);
      }

      organ.close(StopReason.CODE_REPLACED);

      assertEquals(List.of(), world.logged("root", Severity.WARNING));
    }
  }

  @Test
  @DisplayName("a runnable in its delay is stopped at once and not restarted")
  void stopDuringDelay() throws Exception {
    ManualTimer timer = new ManualTimer();
    AtomicInteger starts = new AtomicInteger();
    try (Supervised world = new Supervised(timer)) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "one",
          context -> {
            starts.incrementAndGet();
            throw new IOException("never works");
          });
      world.await("root.foo.one", at -> at.restart() instanceof NextRestart.At, "a delay");

      organ.close(StopReason.CODE_REPLACED);
      timer.advance(Duration.ofMinutes(5));

      assertEquals(1, starts.get());
      timer.awaitPending(0, "no restart is left");
    }
  }

  @Test
  @DisplayName("a member in its delay does not start while the group fails again")
  void delayedMemberWaitsForItsGroup() throws Exception {
    ManualTimer timer = new ManualTimer();
    CountDownLatch mayDie = new CountDownLatch(1);
    CountDownLatch mayReturn = new CountDownLatch(1);
    AtomicInteger delayedStarts = new AtomicInteger();
    AtomicInteger stubbornStarts = new AtomicInteger();
    CountDownLatch cancelledTwice = new CountDownLatch(1);
    try (Supervised world = new Supervised(timer)) {
      world
          .tree
          .organ("foo")
          .group(
              Map.of(
                  "delayed",
                  context -> {
                    delayedStarts.incrementAndGet();
                    throw new IOException("never works");
                  },
                  "fickle",
                  context -> {
                    context.healthy();
                    mayDie.await();
                    throw new IOException("fickle");
                  },
                  "stubborn",
                  context -> {
                    context.healthy();
                    if (stubbornStarts.incrementAndGet() < 2) {
                      context.awaitCancelled();
                    }
                    context.cancelled();
                    try {
                      context.awaitCancelled();
                    } finally {
                      cancelledTwice.countDown();
                      awaitStubbornly(mayReturn);
                    }
                  }));
      world.await(
          "root.foo.delayed", at -> at.restart() instanceof NextRestart.At, "delayed to wait");
      world.awaitRestart("root.foo.fickle", 1, HEALTHY);
      world.awaitRestart("root.foo.stubborn", 1, HEALTHY);
      int before = delayedStarts.get();

      mayDie.countDown();
      assertTrue(cancelledTwice.await(10, SECONDS));
      timer.advance(Duration.ofSeconds(3));

      assertEquals(before, delayedStarts.get(), "it rose though stubborn has not returned");
      mayReturn.countDown();
      world.await("root.foo.delayed", at -> at.restarts() >= 1, "delayed to rise with its group");
    }
  }

  @Test
  @DisplayName(
      "a runnable that ignores its cancellation is named every 5 s with its place in the code, and hinders no other")
  void overdueIsVisible() throws Exception {
    ManualTimer timer = new ManualTimer();
    CountDownLatch mayReturn = new CountDownLatch(1);
    CountDownLatch started = new CountDownLatch(1);
    try (Supervised world = new Supervised(timer)) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "deaf",
          world.traced(
              context -> {
                context.healthy();
                started.countDown();
                awaitStubbornly(mayReturn);
              }));
      organ.run("polite", world.steady());
      assertTrue(started.await(10, SECONDS));
      world.awaitHealthy("root.foo.deaf", "root.foo.polite");

      FutureTask<List<String>> closing =
          new FutureTask<>(() -> organ.close(StopReason.CODE_REPLACED, Supervised.LONG));
      Thread.startVirtualThread(closing);
      world.await("root.foo.deaf", STOPPING);
      world.await("root.foo.polite", CANCELED);
      timer.advance(Duration.ofNanos(4_999_999_999L));
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
      assertFalse(world.status("root.foo.deaf").overdue());
      timer.advance(Duration.ofNanos(1));
      assertTrue(world.status("root.foo.deaf").overdue());
      timer.advance(Duration.ofSeconds(10));

      List<String> reminders = world.logged("root.foo.deaf", Severity.WARNING);
      assertEquals(3, reminders.size(), reminders::toString);
      assertTrue(
          reminders
              .getLast()
              .startsWith(
                  "root.foo.deaf WARNING has not returned 15.0 s after it was cancelled "
                      + "because root.foo is stopped (code replaced); it is at dev.polis.supervision."),
          reminders.getLast());
      world.tree.organ("bar").run("new", world.steady());
      world.await("root.bar.new", HEALTHY);

      mayReturn.countDown();
      assertEquals(List.of(), closing.get(10, SECONDS));
      timer.awaitPending(0, "no reminder is left");
    }
  }

  @Test
  @DisplayName(
      "closing names a runnable that does not return, frees the name, and observes the runnable until it returns")
  void refuserIsNamed() throws Exception {
    CountDownLatch mayReturn = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "deaf",
          world.traced(
              context -> {
                context.healthy();
                awaitStubbornly(mayReturn);
              }));
      world.await("root.foo.deaf", HEALTHY);

      assertEquals(
          List.of("root.foo.deaf"), organ.close(StopReason.CODE_REPLACED, Duration.ofMillis(20)));

      assertEquals(
          List.of(
              "root.foo ERROR closed, though root.foo.deaf did not return when cancelled: "
                  + "defects, their threads are left behind"),
          world.logged("root", Severity.ERROR));
      assertEquals(STOPPING, world.status("root.foo.deaf").state());
      assertThrows(SupervisionException.class, () -> organ.run("more", world.steady()));
      Subtree successor = world.tree.organ("foo");
      successor.run("polite", world.steady());
      world.await("root.foo.polite", HEALTHY);
      mayReturn.countDown();
      Await.value(
          world.tree.runnables(),
          all -> all.stream().noneMatch(at -> at.dn().equals("root.foo.deaf")),
          Supervised.LONG,
          "the deaf one to leave");
      assertEquals(
          HEALTHY, world.status("root.foo.polite").state(), "the successor is not touched");
      successor.close(StopReason.CODE_REPLACED);
      assertEquals(1, world.statuses().size());
      world.joinThreads();
    }
  }

  @Test
  @DisplayName("an interrupted caller waits for the subtree that it closes and keeps its interrupt")
  void interruptedCloserStillWaits() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run("one", world.steady());
      world.await("root.foo.one", HEALTHY);

      Thread.currentThread().interrupt();
      List<String> refusing = organ.close(StopReason.CODE_REPLACED, Supervised.LONG);

      assertTrue(Thread.interrupted(), "the interrupt was swallowed");
      assertEquals(List.of(), refusing);
      assertFalse(world.has("root.foo"));
    }
  }

  @Test
  @DisplayName("a runnable cannot close its own subtree: it would wait for itself")
  void selfCloseIsRefused() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run("one", context -> organ.close(StopReason.CODE_REPLACED));

      world.await(
          "root.foo.one",
          at -> at.lastError().contains("would wait for itself"),
          "the closing to be refused");
    }
  }

  @Test
  @DisplayName("a runnable opens and closes subtrees of its own while it is healthy")
  void dynamicSubtrees() throws Exception {
    CountDownLatch mayClose = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("roles")
          .run(
              "server",
              world.traced(
                  context -> {
                    Subtree plugins = context.subtree("plugins");
                    context.healthy();
                    Subtree worker = plugins.subtree("worker");
                    worker.run("kubelet", world.steady());
                    mayClose.await();
                    worker.close(StopReason.ROLE_REMOVED);
                    plugins.run("next", world.steady());
                    context.awaitCancelled();
                  }));
      world.await("root.roles.server.plugins.worker.kubelet", HEALTHY);

      mayClose.countDown();

      world.await("root.roles.server.plugins.next", HEALTHY);
      assertFalse(world.has("root.roles.server.plugins.worker"));
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
    }
  }

  @Test
  @DisplayName("a subtree ends with the run that opened it, and its handle reports it")
  void subtreeFallsWithItsOwner() throws Exception {
    CountDownLatch mayDie = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    AtomicReference<Subtree> former = new AtomicReference<>();
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .run(
              "owner",
              world.traced(
                  context -> {
                    Subtree sub = context.subtree("sub");
                    sub.run("inner", world.steady());
                    former.compareAndSet(null, sub);
                    context.healthy();
                    if (runs.incrementAndGet() == 1) {
                      mayDie.await();
                      throw new IOException("owner");
                    }
                    context.awaitCancelled();
                  }));
      world.await("root.foo.owner.sub.inner", HEALTHY);

      mayDie.countDown();

      world.awaitRestart("root.foo.owner", 1, HEALTHY);
      world.awaitRestart("root.foo.owner.sub.inner", 1, HEALTHY);
      assertThrows(SupervisionException.class, () -> former.get().run("late", world.steady()));
      assertEquals(
          List.of(),
          former.get().close(StopReason.CODE_REPLACED, Duration.ZERO),
          "closing it again is harmless");
      assertTrue(world.has("root.foo.owner.sub.inner"));
    }
  }

  @Test
  @DisplayName("a requested restart includes the group, at once and without FATAL")
  void wantedRestart() throws Exception {
    CountDownLatch changed = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .group(
              Map.of(
                  "server",
                  world.steady(),
                  "config",
                  world.traced(
                      context -> {
                        context.healthy();
                        if (runs.incrementAndGet() == 1) {
                          changed.await();
                          throw new RestartRequest("configuration changed");
                        }
                        context.awaitCancelled();
                      })));
      world.awaitHealthy("root.foo.server", "root.foo.config");

      changed.countDown();

      world.awaitRestart("root.foo.config", 1, HEALTHY);
      world.awaitRestart("root.foo.server", 1, HEALTHY);
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
      assertTrue(
          world
              .logged("root.foo.config", Severity.INFO)
              .contains("root.foo.config INFO starts again: configuration changed"));
      world.awaitStates("root.foo.config", List.of(NEW, HEALTHY, CANCELED, NEW, HEALTHY));
    }
  }

  @Test
  @DisplayName("a closed tree starts no more runnables")
  void closedTree() throws Exception {
    Supervised world = new Supervised();
    Subtree organ = world.tree.organ("foo");
    organ.run("one", world.steady());
    world.await("root.foo.one", HEALTHY);

    world.close();
    world.close();

    assertThrows(SupervisionException.class, () -> world.tree.organ("bar"));
    assertThrows(SupervisionException.class, () -> organ.run("two", world.steady()));
    assertEquals(CANCELED, world.status("root").state());
  }
}
