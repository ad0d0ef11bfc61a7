package dev.polis.supervision;

import static dev.polis.supervision.RunState.HEALTHY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.logtree.Severity;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sends signals out of order, and from wrong threads. */
@Timeout(60)
final class SignalsTest {

  private static void kills(Task wrong, String because) throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run("neighbour", world.steady());
      world.await("root.foo.neighbour", HEALTHY);

      organ.run("wrong", wrong);

      world.await("root.foo.wrong", at -> at.lastError().contains(because), because);
      assertTrue(
          world.logged("root.foo.wrong", Severity.FATAL).getFirst().contains(because),
          () -> world.logged("root.foo.wrong", Severity.FATAL).toString());
      assertEquals(0, world.status("root.foo.neighbour").restarts());
    }
  }

  @Test
  @DisplayName("a second healthy() kills only that runnable")
  void healthyTwice() throws Exception {
    kills(
        context -> {
          context.healthy();
          context.healthy();
        },
        "root.foo.wrong signals healthy in state HEALTHY, possible only in state NEW");
  }

  @Test
  @DisplayName("the place of a runnable's thread in the code is visible while it has one")
  void stack() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .run(
              "slow",
              context -> {
                go.await();
                context.healthy();
                context.done();
              });
      Await.until(
          "the thread to wait",
          () ->
              world.tree.stack("root.foo.slow").stream()
                  .anyMatch(frame -> frame.getMethodName().equals("await")));
      assertTrue(
          world.tree.stack("root.foo.slow").stream()
              .anyMatch(frame -> frame.getClassName().equals(SignalsTest.class.getName())));
      assertEquals(List.of(), world.tree.stack("root.foo"));
      assertEquals(List.of(), world.tree.stack("root.foo.other"));

      go.countDown();
      world.await("root.foo.slow", RunState.DONE);
      assertEquals(List.of(), world.tree.stack("root.foo.slow"));
    }
  }

  @Test
  @DisplayName("a second done() kills only that runnable")
  void doneTwice() throws Exception {
    kills(
        context -> {
          context.healthy();
          context.done();
          context.done();
        },
        "root.foo.wrong signals done twice");
  }

  @Test
  @DisplayName("starting a child while healthy kills only that runnable")
  void childWhileHealthy() throws Exception {
    kills(
        context -> {
          context.healthy();
          context.run("late", Context::awaitCancelled);
        },
        "root.foo.wrong starts children [late] in state HEALTHY, possible only in state NEW");
  }

  @Test
  @DisplayName("starting an empty group kills only that runnable")
  void emptyGroup() throws Exception {
    kills(context -> context.group(Map.of()), "a group under root.foo.wrong has no members");
  }

  @Test
  @DisplayName("an unrequested interrupt is a failure")
  void interruptWithoutCancellation() throws Exception {
    kills(
        context -> {
          throw new InterruptedException("out of the blue");
        },
        "InterruptedException: out of the blue");
  }

  @Test
  @DisplayName("unlimited nesting is stopped at 64 levels")
  void endlessNesting() throws Exception {
    AtomicInteger deepest = new AtomicInteger();
    AtomicReference<Task> self = new AtomicReference<>();
    MutableValue<String> refusal = new MutableValue<>();
    self.set(
        context -> {
          deepest.accumulateAndGet(
              (int) context.dn().chars().filter(c -> c == '.').count(), Math::max);
          try {
            context.run("d", self.get());
          } catch (SupervisionException refused) {
            refusal.set(refused.getMessage());
          }
          context.healthy();
          context.awaitCancelled();
        });
    try (Supervised world = new Supervised()) {
      world.tree.organ("foo").run("d", self.get());

      String message =
          Await.value(refusal, m -> true, Supervised.LONG, "the nesting to be refused");

      assertTrue(message.contains("is 64 levels deep"), message);
      assertEquals(64, deepest.get());
    }
  }

  @Test
  @DisplayName("a context is invalid after its run, and a helper thread may use it during the run")
  void staleContext() throws Exception {
    MutableValue<Context> contexts = new MutableValue<>();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "one",
          world.traced(
              context -> {
                contexts.set(context);
                context.awaitCancelled();
              }));
      Context context = Await.value(contexts, c -> true, Supervised.LONG, "a context");

      context.healthy();
      world.await("root.foo.one", HEALTHY);
      organ.close(StopReason.CODE_REPLACED);

      assertTrue(context.cancelled());
      context.awaitCancelled();
      SupervisionException stale = assertThrows(SupervisionException.class, context::done);
      assertTrue(stale.getMessage().contains("has ended"), stale.getMessage());
    }
  }

  @Test
  @DisplayName(
      "signals of a cancelled run have no effect, and new children are refused as cancelled")
  void signalsAfterCancellation() throws Exception {
    MutableValue<String> outcome = new MutableValue<>();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      organ.run(
          "slow",
          world.traced(
              context -> {
                outcome.set("started");
                try {
                  context.awaitCancelled();
                } catch (InterruptedException end) {
                  context.healthy();
                  context.done();
                  outcome.set(
                      assertThrows(
                              CancellationException.class,
                              () -> context.run("late", world.steady()))
                          .getMessage());
                }
              }));
      Await.value(outcome, "started"::equals, Supervised.LONG, "the start");

      organ.close(StopReason.CODE_REPLACED);

      assertEquals(
          "root.foo.slow starts children [late], but is cancelled: root.foo is stopped (code replaced)",
          outcome.peek().orElseThrow());
      assertEquals(List.of(), world.logged("root", Severity.WARNING));
    }
  }

  @Test
  @DisplayName("a listener that throws is logged and does not disturb the tree or other listeners")
  void throwingListener() throws Exception {
    try (Supervised world = new Supervised()) {
      Supervisor.Registration bad =
          world.tree.listen(
              new TransitionListener() {
                @Override
                public void changed(Transition transition) {
                  throw new IllegalStateException("bad listener");
                }

                @Override
                public void removed(String dn) {
                  throw new IllegalStateException("bad listener");
                }
              });
      TransitionHistory later = new TransitionHistory();
      world.tree.listen(later);

      world.tree.organ("foo").run("one", world.steady());
      world.await("root.foo.one", HEALTHY);

      Await.until(
          "the changes at the other listener",
          () -> later.states("root.foo.one").equals(List.of(RunState.NEW, HEALTHY)));
      world.awaitLogged("supervision", Severity.ERROR, "bad listener");
      bad.close();
    }
  }
}
