package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthTable;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.process.Commands;
import dev.polis.supervision.SupervisionTree;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Answers as the system's {@code ip} does about a bridge of a former range. */
class PodBridgeTest {
  private static final String FORMER =
      "5: cni0    inet 10.244.0.1/24 brd 10.244.0.255 scope global cni0\\       valid_lft forever\n";
  private static final String POD =
      "7: veth1@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue master cni0 state UP\n";

  private final List<String> asked = new ArrayList<>();
  private int exit;
  private String address = FORMER;
  private String pods = POD;

  private Commands.Result ip(List<String> arguments) {
    String line = String.join(" ", arguments);
    asked.add(line);
    String output = line.contains("master") ? pods : line.contains("show dev") ? address : "";
    return new Commands.Result(arguments, line.contains("show dev") ? exit : 0, output);
  }

  @Test
  @DisplayName("a bridge of a former range is named while Pods use it, and removed after the last")
  void formerRange() throws Exception {
    LogTree logs = LogTree.create();
    Log log = logs.log("test");
    try (SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      PodBridge bridge = new PodBridge(this::ip, scope);

      assertFalse(bridge.renew("10.244.3.0/24", log));
      HealthCondition named = health.all().peek().orElseThrow().getFirst().conditions().getFirst();
      assertEquals("pod-bridge-of-former-range", named.code());
      assertTrue(
          named.reason().contains("cni0 has the address 10.244.0.1/24")
              && named.reason().contains("10.244.3.0/24")
              && named.reason().contains("1 Pods"),
          named::reason);
      assertTrue(named.remedy().startsWith("delete the Pods"), named::remedy);
      assertFalse(asked.contains("link delete cni0"), asked::toString);

      pods = "";
      assertTrue(bridge.renew("10.244.3.0/24", log));
      assertTrue(asked.contains("link delete cni0"), asked::toString);
      assertEquals(List.of(), health.all().peek().orElseThrow().getFirst().conditions());
    }
  }

  @Test
  @DisplayName("a bridge of the present range, and a missing one, stay as they are")
  void presentRange() throws Exception {
    LogTree logs = LogTree.create();
    try (SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      PodBridge bridge = new PodBridge(this::ip, scope);
      pods = "";

      assertTrue(bridge.renew("10.244.0.0/24", logs.log("test")));
      exit = 1;
      address = "";
      assertTrue(bridge.renew("10.244.3.0/24", logs.log("test")));

      assertFalse(asked.contains("link delete cni0"), asked::toString);
      assertEquals(List.of(), health.all().peek().orElseThrow().getFirst().conditions());
    }
  }
}
