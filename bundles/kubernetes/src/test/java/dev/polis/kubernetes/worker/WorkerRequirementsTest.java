package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.Isolation;
import java.net.InetAddress;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Expects the refusal of a worker, with the reason, on a node that cannot run one. */
class WorkerRequirementsTest {

  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress OWN = InetAddress.ofLiteral("192.0.2.7");

  private static WorkerRequirements requirements(String isolation) {
    return new WorkerRequirements(WorkerFixture.settings(isolation));
  }

  @Test
  @DisplayName("a user other than root is refused, with the user's name and the remedy")
  void notRoot() {
    String refusal =
        assertThrows(WorkerException.class, () -> requirements("auto").requireRoot("alice"))
            .getMessage();
    assertTrue(refusal.contains("alice"), refusal);
    assertTrue(refusal.contains("node role remove"), refusal);
  }

  @Test
  @DisplayName(
      "a worker runs in namespaces at a loopback address, and directly on a machine of the node's own")
  void auto() throws Exception {
    assertEquals(Isolation.NAMESPACES, requirements("auto").isolation(LOOPBACK, false));
    assertEquals(Isolation.NAMESPACES, requirements("auto").isolation(LOOPBACK, true));
    assertEquals(Isolation.MACHINE, requirements("auto").isolation(OWN, true));
    assertEquals(Isolation.MACHINE, requirements("machine").isolation(OWN, false));
  }

  @Test
  @DisplayName("a machine that is not the node's own is left alone unless the operator allows it")
  void notIsolated() {
    String refusal =
        assertThrows(WorkerException.class, () -> requirements("auto").isolation(OWN, false))
            .getMessage();
    assertTrue(refusal.contains("isolation=machine"), refusal);
    assertTrue(refusal.contains("192.0.2.7"), refusal);
    assertThrows(WorkerException.class, () -> requirements("namespaces").isolation(OWN, true));
    assertThrows(WorkerException.class, () -> requirements("machine").isolation(LOOPBACK, true));
  }
}
