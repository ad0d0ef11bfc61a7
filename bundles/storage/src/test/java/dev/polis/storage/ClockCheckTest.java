package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClockCheckTest {
  private static final Instant NOON = Instant.parse("2026-05-01T12:00:00Z");

  @TempDir private Path folder;
  private Instant now = NOON;
  private long nanos;
  private ClockCheck check;

  @BeforeEach
  void make() {
    check = new ClockCheck(List.of(folder.resolve("missing"), folder), () -> now, () -> nanos);
  }

  private Path written(Instant at) throws IOException {
    Path file = Files.writeString(folder.resolve("audit-000001.log"), "a record");
    return Files.setLastModifiedTime(file, FileTime.from(at));
  }

  @Test
  @DisplayName("a clock more than a minute behind a file of the node is named with both times")
  void behindAFile() throws Exception {
    Path file = written(NOON.plusSeconds(61));

    HealthCondition condition = check.look().orElseThrow();

    assertEquals(HealthLevel.DEGRADED, condition.level());
    assertEquals(
        "this machine's clock went back: it shows 2026-05-01T12:00:00Z, but %s was written at 2026-05-01T12:01:01Z"
            .formatted(file),
        condition.reason());
    assertTrue(condition.remedy().startsWith("set the clock: timedatectl"), condition::remedy);
    now = NOON.plusSeconds(1);
    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a file that is rewritten after the clock was set back does not hide the change")
  void writtenAgain() throws Exception {
    written(NOON.plus(Duration.ofHours(1)));
    check.remember();
    written(NOON);

    assertTrue(check.look().orElseThrow().reason().contains("2026-05-01T13:00:00Z"));
  }

  @Test
  @DisplayName("a clock that is set back by more than a minute while the node runs is named")
  void behindItself() throws Exception {
    assertEquals(Optional.empty(), check.look());
    now = NOON.minusSeconds(60);
    assertEquals(Optional.empty(), check.look());
    now = NOON.minusSeconds(61);

    assertEquals(
        "this machine's clock went back: it shows 2026-05-01T11:58:59Z, but in this run it has shown 2026-05-01T12:00:00Z",
        check.look().orElseThrow().reason());
  }

  private void pass(Duration time) {
    now = now.plus(time);
    nanos += time.toNanos();
  }

  @Test
  @DisplayName(
      "a clock that was ahead in this run is well as soon as it is right again, with the files that were written meanwhile")
  void aheadForAWhile() throws Exception {
    assertEquals(Optional.empty(), check.look());
    now = now.plus(Duration.ofDays(1));
    assertEquals(Optional.empty(), check.look());
    pass(Duration.ofSeconds(20));
    written(now);
    assertEquals(Optional.empty(), check.look());

    now = now.minus(Duration.ofDays(1));
    assertEquals(Optional.empty(), check.look());

    now = now.minus(Duration.ofHours(1));
    assertTrue(check.look().orElseThrow().reason().contains("it has shown 2026-05-01T12:00:20Z"));
  }

  @Test
  @DisplayName(
      "a clock that was set forward to the right time, then ahead for a while, and is right again, is well")
  void setRightAndAheadForAWhile() throws Exception {
    for (Duration step : List.of(Duration.ofDays(2), Duration.ofHours(1), Duration.ofHours(-1))) {
      now = now.plus(step);
      pass(Duration.ofSeconds(20));
      assertEquals(Optional.empty(), check.look());
    }
  }

  @Test
  @DisplayName("a clock that was ahead, then set back too far, and is right again, is well")
  void setBackTooFar() throws Exception {
    assertEquals(Optional.empty(), check.look());
    now = now.plus(Duration.ofHours(1));
    assertEquals(Optional.empty(), check.look());
    now = now.minus(Duration.ofDays(1));
    assertTrue(check.look().isPresent());

    now = now.plus(Duration.ofHours(23));

    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName(
      "a clock that goes back by the same time again, after it was set right, is named again")
  void setBackTwice() throws Exception {
    for (int time = 0; time < 2; time++) {
      assertEquals(Optional.empty(), check.look());
      now = now.minus(Duration.ofHours(1));
      assertTrue(check.look().isPresent());
      now = now.plus(Duration.ofHours(1));
    }
  }

  @Test
  @DisplayName("a clock that was set back, then ahead, and is right again, is well")
  void setBackAndAheadForAWhile() throws Exception {
    assertEquals(Optional.empty(), check.look());
    now = now.minus(Duration.ofHours(1));
    assertTrue(check.look().isPresent());
    now = now.plus(Duration.ofDays(1));
    assertEquals(Optional.empty(), check.look());

    now = now.minus(Duration.ofHours(23));

    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a clock that was set forward to the right time, and then back by less, is named")
  void setRightAndBack() throws Exception {
    assertEquals(Optional.empty(), check.look());
    now = now.plus(Duration.ofDays(1));
    assertEquals(Optional.empty(), check.look());

    now = now.minus(Duration.ofHours(1));

    assertTrue(check.look().orElseThrow().reason().contains("it has shown 2026-05-02T12:00:00Z"));
  }

  @Test
  @DisplayName(
      "a node accepts the clock if it is restarted after the command that touches its files")
  void touched() throws Exception {
    written(NOON.plus(Duration.ofDays(300)));
    String remedy = check.look().orElseThrow().remedy();
    String command = remedy.substring(remedy.indexOf("find "), remedy.indexOf(" and a restart"));
    now = Instant.now();
    written(now.plus(Duration.ofDays(300)));

    new ProcessBuilder("sh", "-c", command).inheritIO().start().waitFor();

    make();
    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("the check reads a node's audit log, its identity, its ESP and its launcher's files")
  void files() throws Exception {
    Root root = Root.at(folder);
    for (Path each :
        List.of(
            root.data().path().resolve("audit"),
            root.data().node().path(),
            root.esp().path(),
            root.ephemeral().launcher().path())) {
      Path file = Files.writeString(Files.createDirectories(each).resolve("file"), "");
      Files.setLastModifiedTime(file, FileTime.from(Instant.now().plus(Duration.ofDays(1))));
      assertTrue(
          ClockCheck.of(root).look().orElseThrow().reason().contains(file + " was written at"));
      Files.delete(file);
    }
  }
}
