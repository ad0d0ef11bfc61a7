package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChildTest {

  private static final Duration SOON = Duration.ofMillis(20);
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final String SLEEPER = "echo up; exec sleep 1000";

  private final Children children = new Children();
  private final Program program = new Program();

  @TempDir private Path folder;
  private ProcessManager.OpenManager manager;

  /** Answers as the test wants, and keeps the calls. */
  private static final class Program implements ChildProgram {
    private final List<String> published = new ArrayList<>();
    private boolean ready = true;
    private boolean answers = true;

    @Override
    public boolean ready(ManagedProcess process) {
      return ready;
    }

    @Override
    public boolean answers(ManagedProcess process) {
      return answers;
    }

    @Override
    public String hint(ManagedProcess process) {
      return "; a hint";
    }

    @Override
    public void silent(ManagedProcess process, String text, boolean answered) {
      published.add(answered + " " + text);
    }

    @Override
    public void heard() {
      published.add("heard");
    }
  }

  @BeforeEach
  void open() {
    manager = ProcessManager.open(folder, LogTree.create());
  }

  @AfterEach
  void close() throws Exception {
    manager.close();
    children.killAll();
  }

  private Child child(String script, Duration hanging, Duration starting) throws Exception {
    return Child.start(
        manager,
        new ChildPlan(
            children.shell("child", script),
            program,
            new ChildPlan.Patience(Duration.ZERO, Duration.ZERO, hanging, starting),
            LineConverter.raw()));
  }

  @Test
  @DisplayName("silence is published until the child answers again, and then taken back once")
  void silence() throws Exception {
    try (Child child = child(SLEEPER, LONG, LONG)) {
      child.requireAnswer();
      assertEquals(List.of(), program.published);

      program.answers = false;
      child.requireAnswer();
      assertEquals(1, program.published.size());
      String said = "true child (pid %d) has not answered for ".formatted(child.process().pid());
      assertTrue(program.published.getFirst().startsWith(said), program.published::toString);

      program.answers = true;
      Await.until(
          "it is asked again",
          () -> {
            child.requireAnswer();
            return program.published.contains("heard");
          });
      child.requireAnswer();
      assertEquals(1, program.published.stream().filter("heard"::equals).count());
    }
  }

  @Test
  @DisplayName("a child that hangs is ended, and the reason quotes its log and the hint")
  void hangs() throws Exception {
    try (Child child = child(SLEEPER, SOON, LONG)) {
      child.awaitReady(LONG);
      Await.until("its log", () -> child.process().log().toFile().length() > 0);
      program.answers = false;

      ProcessException hung = ended(child);

      assertEquals(
          "%s did not answer for 0 s and was ended; a hint; its log says: up"
              .formatted(child.process()),
          hung.getMessage().replaceFirst("for \\d+ s", "for 0 s"));
      assertEquals(List.of(), children.alive());
    }
  }

  @Test
  @DisplayName("a child that has never answered is given the longer time of a start")
  void starts() throws Exception {
    program.answers = false;
    try (Child child = child(SLEEPER, Duration.ZERO, LONG)) {
      child.requireAnswer();
      assertTrue(program.published.getFirst().startsWith("false "), program.published::toString);
      assertFalse(child.hasEnded(SOON));
    }
  }

  @Test
  @DisplayName("a child that ends before it is ready, or is late, is explained by its own log")
  void notReady() throws Exception {
    program.ready = false;
    try (Child first = child("echo old; exit 3", LONG, LONG)) {
      ProcessException ended = assertThrows(ProcessException.class, () -> first.awaitReady(LONG));
      assertEquals(
          "child ended before it was ready (exit code 3); a hint; its log says: old",
          ended.getMessage());
    }
    try (Child second = child("exec sleep 1000", LONG, LONG)) {
      ProcessException late =
          assertThrows(ProcessException.class, () -> second.awaitReady(Duration.ZERO));
      assertEquals(
          "%s is not ready after 0 s; a hint; its log says: it has logged nothing"
              .formatted(second.process()),
          late.getMessage());
    }
  }

  @Test
  @DisplayName("of a child that was killed, the kernel's log is asked and not its own")
  void killed() throws Exception {
    try (Child child = child("echo busy; kill -KILL $$", LONG, LONG)) {
      assertTrue(child.hasEnded(LONG), "it did not end");
      String said = child.ended().getMessage();
      assertTrue(
          said.startsWith(child.process() + " ended: killed by signal 9; ")
              && !said.contains("busy")
              && said.contains("kernel"),
          said);
    }
  }

  /** Checks until the child was ended. */
  private static ProcessException ended(Child child) throws Exception {
    List<ProcessException> hung = new ArrayList<>();
    Await.until(
        "it is ended",
        () -> {
          try {
            child.requireAnswer();
          } catch (ProcessException failure) {
            hung.add(failure);
          }
          return !hung.isEmpty();
        });
    return hung.getFirst();
  }
}
