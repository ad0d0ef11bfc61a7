package dev.polis.faults.it;

import dev.polis.fixtures.power.ForceSwitch;
import dev.polis.fixtures.power.PowerScenario;

/**
 * Names the changes under way when the power fails. The table of docs/power-loss.md uses each name.
 */
enum PowerScenarios {
  FILES("dev.polis.files.PlacementScenario"),
  ENROLMENT("dev.polis.storage.EnrolmentScenario"),
  PLUGIN_STORE("dev.polis.plugins.store.StoreScenario"),
  TRUSTED_KEYS("dev.polis.plugins.TrustScenario"),
  OWNER_KEYS("dev.polis.ctl.OwnerScenario"),
  ETCD_SNAPSHOT("dev.polis.ctl.node.SnapshotScenario"),
  PROCESS_RECORDS("dev.polis.process.RecordScenario"),
  ETCD_KEYS("dev.polis.consensus.EtcdPkiScenario"),
  AUDIT_LOG("dev.polis.rpc.audit.AuditScenario"),
  KUBERNETES_WORKER("dev.polis.kubernetes.worker.WorkerScenario"),
  KUBERNETES_KUBELET("dev.polis.kubernetes.worker.KubeletScenario"),
  KUBERNETES_VOLUMES("dev.polis.kubernetes.worker.ProvisionerScenario"),
  KUBERNETES_CONTROLLER("dev.polis.kubernetes.control.ControlScenario"),
  DATA_VOLUME("dev.polis.storage.VolumeFileScenario"),
  SYSTEM_SLOTS("dev.polis.storage.slots.SlotsScenario"),
  CONTAINERS("dev.polis.containers.RuntimeDiskScenario"),
  ROLES("dev.polis.roles.RoleScenario");

  private final String className;

  PowerScenarios(String className) {
    this.className = className;
  }

  /** Makes it from classes in which calls that make data durable can be removed. */
  PowerScenario open(ForceSwitch classes) throws ReflectiveOperationException {
    return classes.scenario(className);
  }
}
