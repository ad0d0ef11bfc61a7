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
import dev.polis.wire.roles.RoleChange;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Changes the roles of nodes over gRPC. */
@Timeout(120)
class NodeRolesTest {

  private static final String WITHOUT_ROLES = "metropolis-" + "0".repeat(31) + "1";
  private static final String NEW_NODE = "metropolis-00000000000000000000000000000002";
  private static final String STANDBY_NODE = "metropolis-00000000000000000000000000000003";
  private static final String OTHER_NODE = "metropolis-" + "0".repeat(31) + "4";

  /** Enough that two calls at once overlap in the check of some round. */
  private static final int ROUNDS = 20;

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
    fixture.store(OTHER_NODE, Node.newBuilder().setFsmState(NodeState.NODE_STATE_UP));
    fixture.store(NEW_NODE, Node.newBuilder().setFsmState(NodeState.NODE_STATE_NEW));
    fixture.store(STANDBY_NODE, Node.newBuilder().setFsmState(NodeState.NODE_STATE_STANDBY));
  }

  @AfterEach
  void takeRoles() throws Exception {
    for (String id : List.of(fixture.id.text(), WITHOUT_ROLES, OTHER_NODE)) {
      update(id, Wish.UNSET, Wish.OFF, Wish.OFF);
    }
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
    update(request.build());
  }

  private static void update(UpdateNodeRolesRequest request) throws Exception {
    owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeRoles(request);
  }

  private static Node stored(String id) throws Exception {
    try (EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      return store.requireNode(id);
    }
  }

  /** Reads ConsensusMember, KubernetesController and KubernetesWorker from the stored record. */
  private static List<Boolean> roles(String id) throws Exception {
    NodeRoles roles = stored(id).getRoles();
    return List.of(
        roles.hasConsensusMember(), roles.hasKubernetesController(), roles.hasKubernetesWorker());
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

  @ParameterizedTest
  @CsvSource({NEW_NODE + ",NODE_STATE_NEW", STANDBY_NODE + ",NODE_STATE_STANDBY"})
  @DisplayName("a node that is not UP gets no role, the refusal names its state, and it stays")
  void notUp(String id, String state) throws Exception {
    Node before = stored(id);
    UpdateNodeRolesRequest nothing = UpdateNodeRolesRequest.newBuilder().setId(id).build();
    for (UpdateNodeRolesRequest request :
        List.of(
            nothing.toBuilder().setConsensusMember(true).build(),
            nothing.toBuilder().setKubernetesController(true).build(),
            nothing.toBuilder().setKubernetesWorker(true).build(),
            nothing.toBuilder()
                .addOthers(RoleChange.newBuilder().setName("NightlyBackup").setWanted(true))
                .build())) {
      assertEquals(
          "node %s is %s; only a node that is UP can have roles".formatted(id, state),
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> update(request)));
    }
    assertEquals(before, stored(id));
  }

  @Test
  @DisplayName("a second KubernetesWorker is refused, and the refusal names the first one")
  void secondWorker() throws Exception {
    update(WITHOUT_ROLES, Wish.UNSET, Wish.UNSET, Wish.ON);
    update(WITHOUT_ROLES, Wish.UNSET, Wish.UNSET, Wish.ON);

    Node before = stored(OTHER_NODE);
    String refusal =
        CuratorFixture.refused(
            Status.Code.FAILED_PRECONDITION, () -> update(OTHER_NODE, Wish.ON, Wish.ON, Wish.ON));
    assertTrue(refusal.contains("node " + OTHER_NODE + " cannot be a KubernetesWorker"), refusal);
    assertTrue(
        refusal.contains("polisctl node role remove " + WITHOUT_ROLES + " KubernetesWorker"),
        refusal);
    assertEquals(before, stored(OTHER_NODE));

    update(fixture.id.text(), Wish.UNSET, Wish.ON, Wish.UNSET);
    update(OTHER_NODE, Wish.ON, Wish.ON, Wish.OFF);
    assertEquals(List.of(true, true, false), roles(OTHER_NODE), "the second controller");

    update(WITHOUT_ROLES, Wish.UNSET, Wish.UNSET, Wish.OFF);
    update(OTHER_NODE, Wish.UNSET, Wish.UNSET, Wish.ON);
    assertEquals(List.of(true, true, true), roles(OTHER_NODE), "the worker after the first one");
    update(OTHER_NODE, Wish.OFF, Wish.OFF, Wish.OFF);
  }

  @Test
  @DisplayName("of two calls at once that each make a KubernetesWorker, one is refused")
  void twoWorkersAtOnce() throws Exception {
    List<String> both = List.of(WITHOUT_ROLES, OTHER_NODE);
    try (ExecutorService calls = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int round = 0; round < ROUNDS; round++) {
        assertEquals(
            List.of(Status.Code.OK, Status.Code.FAILED_PRECONDITION),
            calls.invokeAll(both.stream().map(NodeRolesTest::becomesWorker).toList()).stream()
                .map(Future::resultNow)
                .sorted()
                .toList());
        takeRoles();
      }
    }
  }

  private static Callable<Status.Code> becomesWorker(String id) {
    return () -> {
      try {
        update(id, Wish.UNSET, Wish.UNSET, Wish.ON);
        return Status.Code.OK;
      } catch (StatusException refused) {
        return refused.getStatus().getCode();
      }
    };
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
