package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SilenceTest {

  private final Children children = new Children();

  @TempDir private Path folder;

  @AfterEach
  void close() throws Exception {
    children.killAll();
  }

  @Test
  @DisplayName("silence begins at the last answer, and an answer ends it")
  void lasts() throws Exception {
    AtomicBoolean answers = new AtomicBoolean();
    Silence silence = new Silence(answers::get);

    assertTrue(silence.ask().isPositive());
    Await.until("some silence", () -> silence.ask().compareTo(Duration.ofMillis(50)) > 0);
    answers.set(true);
    assertEquals(Duration.ZERO, silence.ask());
    answers.set(false);
    assertTrue(silence.ask().compareTo(Duration.ofMillis(50)) < 0, "it begins anew");
  }

  @Test
  @DisplayName("a child that a signal stopped is named with the kernel's state")
  void stopped() throws Exception {
    try (ProcessManager.OpenManager manager = ProcessManager.open(folder, LogTree.create())) {
      ManagedProcess child = manager.ensure(children.shell("quiet", "kill -STOP $$; sleep 60"));
      String said = "quiet (pid %d) has not answered for 7 s".formatted(child.pid());
      String stopped =
          said
              + ": a signal has stopped it (state T); \"kill -CONT %d\" continues it"
                  .formatted(child.pid());
      Await.until("the child stops", () -> text(child).equals(stopped));
      assertEquals(
          0, new ProcessBuilder("kill", "-CONT", Long.toString(child.pid())).start().waitFor());
      Await.until("the child to continue", () -> text(child).equals(said + ": it runs (state S)"));
      child.stop();
      assertEquals(said + ": it has ended", text(child));
    }
    assertEquals(
        "etcd has not answered for 7 s",
        Silence.text("etcd", Optional.empty(), Duration.ofSeconds(7)));
  }

  private static String text(ManagedProcess child) {
    return Silence.text("quiet", Optional.of(child.pid()), Duration.ofSeconds(7));
  }

  @Test
  @DisplayName(
      "one thread in uninterruptible sleep is named with the kernel function in which it waits")
  void uninterruptible() throws Exception {
    Path process = Files.createDirectories(folder.resolve("7"));
    Files.writeString(process.resolve("stat"), stat(7, 'S'));
    Path thread = Files.createDirectories(process.resolve("task/8"));
    Files.writeString(thread.resolve("stat"), stat(8, 'D'));
    Files.writeString(thread.resolve("wchan"), "folio_wait_bit");
    String waits = ": a thread of it waits for a device or a file system (state D%s)";

    String known = Silence.kernel(process);
    Files.writeString(thread.resolve("wchan"), "0");
    String unknown = Silence.kernel(process);

    assertTrue(known.startsWith(waits.formatted(" in folio_wait_bit")), known);
    assertTrue(unknown.startsWith(waits.formatted("")), unknown);
  }

  private static String stat(long pid, char state) {
    return pid + " (a) " + state + " 1 1 1" + " 0".repeat(13) + " 2 0 100 0";
  }
}
