package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogBatch;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Runs two instances of an organ side by side, while one replaces the other. */
class InstancesTest {

  private static Task saying(String what) {
    return context -> {
      context.log().info(what);
      context.healthy();
      context.awaitCancelled();
    };
  }

  private static List<String> names(Supervised world) {
    return world.tree.runnables().peek().orElseThrow().stream().map(RunnableStatus::dn).toList();
  }

  private static String line(LogEntry entry) {
    return entry.dn() + " " + ((LogPayload.Leveled) entry.payload()).message();
  }

  @Test
  @DisplayName(
      "a second instance has a number in the tree, and the same names in the log as the first")
  void secondInstance() throws Exception {
    try (Supervised world = new Supervised();
        LogReader follower = world.logs.read(LogQuery.of("root.storage").withChildren().follow())) {
      Subtree first = world.tree.organ("storage");
      first.run("volume", saying("the first"));
      world.await("root.storage.volume", RunState.HEALTHY);
      Subtree second = world.tree.organ("storage");
      second.run("volume", saying("the second"));
      world.await("root.storage~2.volume", RunState.HEALTHY);

      assertEquals("root.storage", first.dn());
      assertEquals("root.storage~2", second.dn());
      assertEquals(
          List.of(
              "root.storage.volume the first",
              "root.storage another instance of this organ is open; this one is root.storage~2",
              "root.storage.volume the second"),
          followed(follower, 3),
          "a follower of the first reads both");
      assertEquals(
          List.of("root.storage.volume the first", "root.storage.volume the second"),
          logged(world, "root.storage~2.volume"),
          "a name with a number reads the same journal");
      assertFalse(world.logs.names().stream().anyMatch(name -> name.contains("~")));

      assertEquals(List.of(), first.close(StopReason.CODE_REPLACED));
      assertEquals(List.of("root", "root.storage~2", "root.storage~2.volume"), names(world));

      Subtree third = world.tree.organ("storage");
      assertEquals("root.storage", third.dn(), "the name is free again");
      third.close(StopReason.CODE_REPLACED);
      second.close(StopReason.CODE_REPLACED);
      assertEquals(List.of("root"), names(world));
    }
  }

  private static List<String> followed(LogReader follower, int count) throws Exception {
    List<String> lines = new ArrayList<>();
    while (lines.size() < count) {
      LogBatch batch = follower.next(Supervised.LONG).orElseThrow();
      assertFalse(batch.entries().isEmpty(), () -> "nothing follows " + lines);
      batch.entries().forEach(entry -> lines.add(line(entry)));
    }
    return lines;
  }

  private static List<String> logged(Supervised world, String dn) {
    try (LogReader reader = world.logs.read(LogQuery.of(dn).backlogAll())) {
      return reader.backlog().stream().map(InstancesTest::line).toList();
    }
  }

  @Test
  @DisplayName("a failure of one instance does not affect the other")
  void failures() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree first = world.tree.organ("storage");
      first.run("volume", saying("well"));
      world.await("root.storage.volume", RunState.HEALTHY);
      Subtree second = world.tree.organ("storage");
      second.run(
          "volume",
          context -> {
            throw new java.io.IOException("the disk is gone");
          });
      world.await("root.storage~2.volume", at -> at.restarts() > 1, "restarts");

      RunnableStatus untouched = world.status("root.storage.volume");
      assertEquals(RunState.HEALTHY, untouched.state());
      assertEquals(0, untouched.restarts());
      assertEquals("", untouched.lastError());
      second.close(StopReason.CODE_REPLACED);
      assertEquals(List.of("root", "root.storage", "root.storage.volume"), names(world));
    }
  }

  @RepeatedTest(50)
  @DisplayName(
      "instances that start and stop at the same time never share a name, and leave nothing behind")
  void concurrentInstances() throws Exception {
    int instances = 8;
    Set<String> living = ConcurrentHashMap.newKeySet();
    CyclicBarrier start = new CyclicBarrier(instances);
    try (Supervised world = new Supervised();
        ExecutorService threads = new TestThreads()) {
      Callable<Integer> replace =
          () -> {
            start.await(10, TimeUnit.SECONDS);
            for (int count = 0; count < 5; count++) {
              Subtree organ = world.tree.organ("storage");
              assertTrue(living.add(organ.dn()), () -> "two are called " + organ.dn());
              organ.run("volume", saying("here"));
              assertTrue(living.remove(organ.dn()));
              assertEquals(List.of(), organ.close(StopReason.CODE_REPLACED));
            }
            return 0;
          };
      List<Future<Integer>> all = new ArrayList<>();
      for (int i = 0; i < instances; i++) {
        all.add(threads.submit(replace));
      }
      for (Future<Integer> each : all) {
        assertEquals(0, each.get(30, TimeUnit.SECONDS));
      }

      assertEquals(List.of("root"), names(world));
      assertEquals("root.storage", world.tree.organ("storage").dn());
      assertFalse(world.logs.names().stream().anyMatch(name -> name.contains("~")));
    }
  }

  @Test
  @DisplayName("a moved subtree keeps running, with its name, when its former parent is closed")
  void movedSubtree() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree first = world.tree.organ("roles");
      Subtree plugins = first.subtree("plugins");
      plugins.run("backup", saying("runs"));
      world.await("root.roles.plugins.backup", RunState.HEALTHY);
      Subtree second = world.tree.organ("roles");

      plugins.moveTo(second);

      assertEquals(List.of(), first.close(StopReason.CODE_REPLACED));
      assertEquals(
          List.of("root", "root.roles~2", "root.roles.plugins", "root.roles.plugins.backup"),
          names(world));
      assertEquals(
          List.of("root.roles.plugins belongs to root.roles~2 from now on"),
          logged(world, "root.roles.plugins"));
      plugins.run("another", saying("too"));
      world.await("root.roles.plugins.another", RunState.HEALTHY);

      Subtree third = world.tree.organ("roles");
      plugins.moveTo(third);
      plugins.moveTo(second);
      assertEquals(List.of(), third.close(StopReason.CODE_REPLACED));
      world.await("root.roles.plugins.another", RunState.HEALTHY);

      assertEquals(List.of(), second.close(StopReason.CODE_REPLACED));
      assertEquals(List.of("root"), names(world));
    }
  }

  @Test
  @DisplayName("a subtree is moved neither into itself nor into a closed one")
  void movesThatAreRefused() throws Exception {
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("roles");
      Subtree plugins = organ.subtree("plugins");
      Subtree inner = plugins.subtree("inner");
      assertThrows(SupervisionException.class, () -> plugins.moveTo(inner));
      Subtree gone = world.tree.organ("gone");
      gone.close(StopReason.CODE_REPLACED);
      assertThrows(SupervisionException.class, () -> plugins.moveTo(gone));
      plugins.close(StopReason.CODE_REPLACED);
      assertThrows(SupervisionException.class, () -> plugins.moveTo(world.tree.organ("other")));
    }
  }
}
