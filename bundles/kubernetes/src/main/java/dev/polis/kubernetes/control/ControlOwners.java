package dev.polis.kubernetes.control;

import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.logtree.Log;
import dev.polis.process.Account;
import dev.polis.process.ChildOwner;
import dev.polis.process.ProcessManager;
import java.nio.file.Path;
import java.util.Map;

/**
 * Selects the owners of the control plane's programs: on a node that is root, each program has its
 * own account.
 */
record ControlOwners(ChildOwner apiServer, ChildOwner controllerManager, ChildOwner scheduler) {

  /**
   * Determines the owners.
   *
   * @param folder the folder of the programs' files
   */
  static ControlOwners find(KubernetesPrograms programs, Path folder) throws InterruptedException {
    return new ControlOwners(
        // Only the API server writes: its audit log, on the same volume.
        ChildOwner.of(Account.KUBE_APISERVER, programs.program("kube-apiserver"), folder, true),
        ChildOwner.of(
            Account.KUBE_CONTROLLER_MANAGER,
            programs.program("kube-controller-manager"),
            folder,
            false),
        ChildOwner.of(Account.KUBE_SCHEDULER, programs.program("kube-scheduler"), folder, false));
  }

  /** Gives each program its files, and its own folders. */
  void give(ControlFolder files, FolderPlacement audit, ProcessManager processes)
      throws FileException, InterruptedException {
    for (ControlFile each : ControlFile.values()) {
      owner(each.reader()).give(files.placement(each));
    }
    apiServer.give(audit, processes, "kube-apiserver");
    controllerManager.give(files.flexVolumes(), processes, "kube-controller-manager");
  }

  /** Publishes the programs that run as root. */
  void tell(HealthScope health, Log log) {
    RootPrograms.tell(
        Map.of(
            "kube-apiserver",
            apiServer,
            "kube-controller-manager",
            controllerManager,
            "kube-scheduler",
            scheduler),
        health,
        log);
  }

  private ChildOwner owner(ControlFile.Reader reader) {
    return switch (reader) {
      case API_SERVER -> apiServer;
      case CONTROLLER_MANAGER -> controllerManager;
      case SCHEDULER -> scheduler;
    };
  }
}
