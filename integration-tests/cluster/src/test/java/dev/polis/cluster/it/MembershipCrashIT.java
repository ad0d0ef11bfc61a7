package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Kills nodes, and polisctl, at steps of changes of the membership; in the short form, of each
 * third change. {@code -Dpolis.seed=N} repeats which changes these are, and which kills end etcd,
 * too.
 */
@Tag("full")
@Tag("longer")
final class MembershipCrashIT extends MembershipCrashSuite {

  /**
   * A step of polisctl: not sent yet, accepted, half put in its place.
   *
   * @param command of the owner that passes it
   */
  private record StepOfOwner(String command, String method) {}

  private static final List<StepOfOwner> IN_POLISCTL =
      Stream.of(
              new StepOfOwner("recover", "dev.polis.ctl.owner.OwnerKeyRotation.finish"),
              new StepOfOwner("rotate", "dev.polis.ctl.owner.OwnerKeyRotation.request"),
              new StepOfOwner("recover", "dev.polis.ctl.owner.OwnerCertificate.answered"),
              new StepOfOwner("rotate", "dev.polis.ctl.session.CtlFiles.move"))
          .limit(Tier.isLong() ? 4 : 1)
          .toList();

  @BeforeAll
  static void grow() throws Exception {
    grow(new ProcessKill(directory, random()), "127.0.92.");
  }

  static List<Change> changes() {
    return Change.chosen(Slice.of(List.of(Change.values()), 3));
  }

  /** In each round, other kills end etcd, too. */
  @Override
  List<List<Step>> kills(List<Step> all, String... usual) {
    return Tier.isLong()
        ? alone(all, Integer.getInteger("polis.times", 2))
        : List.of(all.stream().filter(step -> List.of(usual).contains(step.report())).toList());
  }

  @Test
  @Order(1)
  @DisplayName(
      "killed in polisctl, at each step of a rotation or a recovery: one other key is the owner's, and the former one opens nothing")
  void inPolisctl() throws Exception {
    for (StepOfOwner step : IN_POLISCTL) {
      anotherKey(
          step.command(),
          command -> {
            List<String> line = new ArrayList<>(List.of("--endpoint", cluster().endpoint()));
            line.addAll(List.of(command));
            Finished killed =
                cluster()
                    .first()
                    .ctlKilled(
                        CrashAgent.whenEntered(0, step.method()), line.toArray(String[]::new));
            assertEquals(CrashAgent.KILLED, killed.code(), killed::all);
          });
    }
  }
}
