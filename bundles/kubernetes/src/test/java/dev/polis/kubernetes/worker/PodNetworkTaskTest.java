package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Parses routes as the system's {@code ip} prints them. */
class PodNetworkTaskTest {
  private static final String OURS =
      "10.244.0.0/24 via 198.18.1.3 dev polis0 src 198.18.1.2 onlink \n";
  private static final String THEIRS =
      "10.244.0.0/24 via 198.18.9.3 dev polis01 src 198.18.9.2 onlink \n";

  @Test
  @DisplayName("routes to the Pods of other nodes are found, and this node's own are not")
  void otherRoute() {
    assertEquals(Optional.empty(), PodNetworkTask.otherRoute("", "polis0"));
    assertEquals(Optional.empty(), PodNetworkTask.otherRoute(OURS, "polis0"));
    assertEquals(Optional.of(THEIRS.strip()), PodNetworkTask.otherRoute(THEIRS, "polis0"));
    assertEquals(Optional.of(THEIRS.strip()), PodNetworkTask.otherRoute(OURS + THEIRS, "polis0"));
  }
}
