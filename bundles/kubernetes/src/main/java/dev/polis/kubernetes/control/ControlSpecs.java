package dev.polis.kubernetes.control;

import dev.polis.base.digest.Sha256;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.files.FileException;
import dev.polis.process.ChildOwner;
import dev.polis.process.ProcessSpec;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;

/**
 * Describes the control plane's processes. The fingerprint of each covers the program and the files
 * that it reads only once, so that the node replaces a process only when one of them changes.
 *
 * <p>The API server reads changed certificates of authorities again. Up to release 1.35 its trust
 * in kubelets keeps a former one, which is valid for three more years and has the same key; so no
 * restart is needed, which would fail calls.
 */
record ControlSpecs(ProcessSpec apiServer, ProcessSpec controllerManager, ProcessSpec scheduler) {

  /** Describes the processes, once their files exist. */
  static ControlSpecs of(
      ControlCommands commands, ControlFolder files, ControlOwners owners, List<EtcdEndpoint> etcd)
      throws FileException {
    return new ControlSpecs(
        spec(
            commands,
            "kube-apiserver",
            commands.apiServer(etcd),
            owners.apiServer(),
            files,
            List.of(
                ControlFile.ETCD_CA,
                ControlFile.SERVICE_ACCOUNT,
                ControlFile.AUTHENTICATION,
                ControlFile.ADMISSION,
                ControlFile.AUDIT_POLICY)),
        spec(
            commands,
            "kube-controller-manager",
            commands.controllerManager(),
            owners.controllerManager(),
            files,
            List.of(
                ControlFile.CONTROLLER_MANAGER_CA,
                ControlFile.CONTROLLER_MANAGER_AGGREGATION_CA,
                ControlFile.CONTROLLER_MANAGER_SERVICE_ACCOUNT,
                ControlFile.CONTROLLER_MANAGER_CONFIG)),
        spec(
            commands,
            "kube-scheduler",
            commands.scheduler(),
            owners.scheduler(),
            files,
            List.of(
                ControlFile.SCHEDULER_CA,
                ControlFile.SCHEDULER_AGGREGATION_CA,
                ControlFile.SCHEDULER_CONFIG)));
  }

  private static ProcessSpec spec(
      ControlCommands commands,
      String name,
      List<String> line,
      ChildOwner owner,
      ControlFolder files,
      List<ControlFile> readOnce)
      throws FileException {
    return ProcessSpec.of(name, line)
        .withDirectory(files.path())
        .withAccount(owner.account())
        .withFingerprint(commands.programs().digest(name) + digest(files, readOnce));
  }

  private static String digest(ControlFolder files, List<ControlFile> readOnce)
      throws FileException {
    MessageDigest sha = Sha256.begin();
    for (ControlFile each : readOnce) {
      sha.update(files.read(each).orElse("").getBytes(StandardCharsets.UTF_8));
      sha.update((byte) 0);
    }
    return HexFormat.of().formatHex(sha.digest());
  }
}
