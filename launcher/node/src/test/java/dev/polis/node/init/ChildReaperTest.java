package dev.polis.node.init;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ChildReaperTest {
  private final List<Long> zombies = new ArrayList<>();
  private final List<Long> reaped = new ArrayList<>();
  private final List<String> logged = new ArrayList<>();
  private final ChildReaper reaper =
      new ChildReaper(
          new ChildTable() {
            @Override
            public List<Long> exited() {
              return List.copyOf(zombies);
            }

            @Override
            public boolean reap(long pid) {
              reaped.add(pid);
              return zombies.remove(pid);
            }
          },
          logged::add);

  @Test
  @DisplayName(
      "SEED-15 three exited children are all reaped; a child that the JDK started is left to the JDK")
  void seed15_allOrphansAreReaped() throws Exception {
    zombies.addAll(List.of(11L, 12L, 13L, 20L));

    assertTrue(reaper.sweep(), "fresh ones have to be looked at again");
    // The JDK reaps its own children within the grace period.
    zombies.remove(20L);
    reaper.sweep();

    assertEquals(List.of(11L, 12L, 13L), reaped);
    assertEquals(List.of(), zombies);
  }

  @Test
  @DisplayName("SEED-15 SIGURG is ignored, SIGUSR1 is logged")
  void seed15_otherSignals() {
    Pid1Duties duties = new Pid1Duties(reaper);

    duties.handle("URG", logged::add);
    duties.handle("CHLD", logged::add);
    assertEquals(List.of(), logged);

    duties.handle("USR1", logged::add);
    assertEquals(List.of("signal SIGUSR1 received, nothing to do"), logged);
  }
}
