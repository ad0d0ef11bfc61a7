package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.EtcdClient;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Changes the roles of nodes over gRPC. */
@Timeout(120)
class NodeRolesTest {

  private static final String WITHOUT_ROLES = "metropolis-" + "0".repeat(31) + "1";
  private static final String NEW_NODE = "metropolis-" + "0".repeat(31) + "2";

  private static CuratorFixture fixture;
  private static ManagementBlockingV2Stub owner;

  /** Is the change of one role in a request. */
  private enum Wish {
    ON,
    OFF,
    UNSET;

    boolean applied(boolean before) {
      return this == UNSET ? before : this == ON;
    }

    Optional<Boolean> wanted() {
      return this == UNSET ? Optional.empty() : Optional.of(this == ON);
    }
  }

  @BeforeAll
  static void start() throws Exception {
    fixture = CuratorFixture.leading();
    owner = fixture.management();
    fixture.store(WITHOUT_ROLES, Node.newBuilder().setFsmState(NodeState.NODE_STATE_UP));
    fixture.store(NEW_NODE, Node.newBuilder().setFsmState(NodeState.NODE_STATE_NEW));
  }

  @AfterAll
  static void stop() throws Exception {
    fixture.close();
  }

  private static void update(String id, Wish consensus, Wish controller, Wish worker)
      throws Exception {
    UpdateNodeRolesRequest.Builder request = UpdateNodeRolesRequest.newBuilder().setId(id);
    consensus.wanted().ifPresent(request::setConsensusMember);
    controller.wanted().ifPresent(request::setKubernetesController);
    worker.wanted().ifPresent(request::setKubernetesWorker);
    owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeRoles(request.build());
  }

  /** Reads ConsensusMember, KubernetesController and KubernetesWorker from the stored record. */
  private static List<Boolean> roles(String id) throws Exception {
    try (EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      NodeRoles roles = store.requireNode(id).getRoles();
      return List.of(
          roles.hasConsensusMember(), roles.hasKubernetesController(), roles.hasKubernetesWorker());
    }
  }

  @Test
  @DisplayName("CUR-11 each combination of roles switched on, off or not mentioned is applied")
  void cur11_combinations() throws Exception {
    List<Wish> states = List.of(Wish.ON, Wish.OFF);
    for (Wish controllerBefore : states) {
      for (Wish workerBefore : states) {
        for (Wish controller : Wish.values()) {
          for (Wish worker : Wish.values()) {
            update(fixture.id.text(), Wish.UNSET, controllerBefore, workerBefore);
            update(fixture.id.text(), Wish.ON, controller, worker);
            assertEquals(
                List.of(
                    true,
                    controller.applied(controllerBefore == Wish.ON),
                    worker.applied(workerBefore == Wish.ON)),
                roles(fixture.id.text()),
                Arrays.asList(controllerBefore, workerBefore, controller, worker).toString());
          }
        }
      }
    }
  }

  @Test
  @DisplayName(
      "CUR-11 a KubernetesController without ConsensusMember is refused, explicit or implicit")
  void cur11_impossible() throws Exception {
    update(fixture.id.text(), Wish.UNSET, Wish.ON, Wish.OFF);
    for (Wish consensus : List.of(Wish.OFF, Wish.UNSET)) {
      assertRefused(WITHOUT_ROLES, consensus, Wish.ON, Wish.ON, "without being a ConsensusMember");
    }
    for (Wish controller : Wish.values()) {
      assertRefused(fixture.id.text(), Wish.OFF, controller, Wish.ON, "only ConsensusMember");
    }
    assertRefused(NEW_NODE, Wish.UNSET, Wish.UNSET, Wish.ON, "NODE_STATE_NEW");

    update(WITHOUT_ROLES, Wish.OFF, Wish.OFF, Wish.ON);
    assertEquals(List.of(false, false, true), roles(WITHOUT_ROLES), "a worker needs no consensus");
    assertRefused(WITHOUT_ROLES, Wish.UNSET, Wish.ON, Wish.OFF, "without being a ConsensusMember");
  }

  private static void assertRefused(
      String id, Wish consensus, Wish controller, Wish worker, String reason) throws Exception {
    List<Boolean> before = roles(id);
    String refusal =
        CuratorFixture.refused(
            Status.Code.FAILED_PRECONDITION, () -> update(id, consensus, controller, worker));
    assertTrue(refusal.contains(reason) && refusal.contains(id), refusal);
    assertEquals(before, roles(id));
  }
}
