package dev.polis.handover.component;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.logtree.LogTree;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BundleHandOversTest {
  private final HandOverTable table = HandOverTable.open(LogTree.create());
  private final List<String> calls = Collections.synchronizedList(new ArrayList<>());

  /** Notes what it is asked for. */
  private record Instance(String name, List<String> calls) implements OrganInstance {
    @Override
    public OrganState give() {
      calls.add(name + " gives");
      return OrganState.NONE.with("name", name);
    }

    @Override
    public void resume(OrganState state) {
      calls.add(name + " resumes " + state.require("name", String.class));
    }
  }

  private HandOvers.Membership<Instance> join(HandOvers of, String name) {
    return of.join(
        "organ",
        predecessor -> {
          predecessor.take();
          return new Instance(name, calls);
        });
  }

  @Test
  @DisplayName(
      "an instance whose bundle ends without its leave gives the state back to its predecessor")
  void theStateGoesBack() {
    join(new BundleHandOvers(table), "first");
    try (BundleHandOvers second = new BundleHandOvers(table)) {
      join(second, "second");
    }
    assertEquals(List.of("first gives", "second gives", "first resumes second"), calls);
  }

  @Test
  @DisplayName("an instance that has left is not asked again when its bundle ends")
  void leftInOrder() {
    BundleHandOvers first = new BundleHandOvers(table);
    HandOvers.Membership<Instance> left = join(first, "first");
    join(new BundleHandOvers(table), "second");
    left.leave(() -> calls.add("first is closed"));
    first.close();
    assertEquals(List.of("first gives", "first is closed"), calls);
  }
}
