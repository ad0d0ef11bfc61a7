package dev.polis.supervision.component;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.SilentBoot;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.RunState;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionException;
import dev.polis.supervision.TransitionHistory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class SupervisionComponentTest {

  @Test
  @DisplayName("the component runs organs only while it is active")
  void lifecycle() throws Exception {
    SupervisionComponent component =
        new SupervisionComponent(new SilentBoot(StopReason.POWER_OFF), LogTree.create());
    TransitionHistory history = new TransitionHistory();
    component.listen(history);
    AtomicReference<StopReason> reason = new AtomicReference<>();
    Subtree organ = component.organ("storage");
    organ.run(
        "mount",
        context -> {
          context.healthy();
          try {
            context.awaitCancelled();
          } finally {
            reason.set(context.stopReason().orElseThrow());
          }
        });
    Await.value(
        component.runnables(),
        all ->
            all.stream()
                .anyMatch(
                    at -> at.dn().equals("root.storage.mount") && at.state() == RunState.HEALTHY),
        Duration.ofSeconds(10),
        "root.storage.mount to be HEALTHY");

    component.close();

    assertEquals(StopReason.POWER_OFF, reason.get());
    assertEquals(
        List.of(RunState.NEW, RunState.HEALTHY, RunState.STOPPING, RunState.CANCELED),
        history.states("root.storage.mount"));
    assertThrows(SupervisionException.class, () -> component.organ("network"));
    assertFalse(
        Thread.getAllStackTraces().keySet().stream()
            .anyMatch(thread -> thread.getName().startsWith("supervision-")));
  }
}
