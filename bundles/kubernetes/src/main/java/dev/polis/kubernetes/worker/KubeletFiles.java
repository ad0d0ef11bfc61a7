package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.files.FileException;
import dev.polis.process.Commands;
import dev.polis.process.ProcessSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes the kubelet's files and command line.
 *
 * <p>The kubelet reads its certificates again when their files change: the server's within a
 * minute, the client's within five.
 */
final class KubeletFiles {

  static final String NAME = "kubelet";

  /** The port of the kubelet's health, at the sandbox's address. */
  static final int HEALTH_PORT = 10_248;

  /**
   * The kernel settings that the kubelet requires, by their path below /proc/sys. The kubelet
   * writes each one that differs.
   */
  private static final Map<String, String> KERNEL =
      new TreeMap<>(
          Map.of(
              "vm/overcommit_memory", "1",
              "vm/panic_on_oom", "0",
              "kernel/panic", "10",
              "kernel/panic_on_oops", "1"));

  // The number of addresses of a /24 without network, gateway and broadcast.
  private static final int MOST_PODS = 253;

  /** The most processes of a Pod; a larger Pod probably forks without end. */
  private static final int MOST_PROCESSES = 1024;

  private static final long MEBI = 1L << 20;

  /**
   * The reserve on a volume: the node's database and audit log may need this much during an
   * eviction of Pods.
   */
  private static final long KEPT_MEBIBYTES = 512;

  /** The reserve on a small volume: a tenth. */
  private static final long KEPT_SHARE = 10;

  private final WorkerPlan plan;
  private final WorkerFiles files;

  KubeletFiles(WorkerPlan plan, WorkerFiles files) {
    this.plan = plan;
    this.files = files;
  }

  /** Writes the files, and returns the description of the kubelet's process. */
  ProcessSpec prepare(ContainersStatus.Running runtime) throws FileException {
    Sandbox sandbox = runtime.sandbox();
    String configuration = configuration(runtime);
    WorkerFiles.write(files.kubeletConfiguration, configuration);
    WorkerFiles.write(
        files.kubeletKubeconfig,
        Kubeconfig.text(plan.balancer(), files.ca, files.kubeletClient, files.kubeletKey));
    WorkerFiles.write(files.resolver, "nameserver " + plan.dns().getHostAddress() + "\n");
    String script = script();
    WorkerFiles.write(files.kubeletScript, script);
    if (isolated(sandbox)) {
      writeKernelFiles();
    }
    return ProcessSpec.of(NAME, sandbox.command(command(sandbox)))
        .withEnvironment(Map.of("PATH", sandbox.path(), "HOME", "/root"))
        .withFingerprint(plan.programs().digest(NAME) + configuration + script);
  }

  private static boolean isolated(Sandbox sandbox) {
    return sandbox.request().isolation() == Isolation.NAMESPACES;
  }

  private void writeKernelFiles() throws FileException {
    for (Map.Entry<String, String> setting : KERNEL.entrySet()) {
      WorkerFiles.writeAside(kernelFile(setting.getKey()), setting.getValue() + "\n");
    }
  }

  private Path kernelFile(String setting) {
    return files.kernel().resolve(setting.replace('/', '_'));
  }

  /** Returns the command inside the sandbox. */
  List<String> command(Sandbox sandbox) {
    if (!isolated(sandbox)) {
      return arguments();
    }
    // With "unchanged", the kubelet's mounts of volumes still reach the runtime.
    return Commands.located(
        List.of(
            "unshare",
            "--mount",
            "--propagation",
            "unchanged",
            "/bin/sh",
            files.kubeletScript.toString()));
  }

  private List<String> arguments() {
    return List.of(
        plan.programs().program(NAME).toString(),
        "--config=" + files.kubeletConfiguration,
        "--kubeconfig=" + files.kubeletKubeconfig,
        "--hostname-override=" + plan.node(),
        "--node-ip=" + plan.addresses().worker().getHostAddress(),
        "--root-dir=" + files.kubelet(),
        "--cert-dir=" + files.kubelet(),
        "--v=1");
  }

  /**
   * Returns the script that shows the wanted kernel settings to the kubelet only, so that it leaves
   * the machine's unchanged. If the runtime saw them too, the files mounted over /proc would
   * prevent Pods with user namespaces.
   */
  String script() {
    StringBuilder script = new StringBuilder("set -e\nmount --make-rprivate /proc\n");
    KERNEL
        .keySet()
        .forEach(
            setting ->
                script.append(
                    "mount --bind '%s' '/proc/sys/%s'%n".formatted(kernelFile(setting), setting)));
    script.append("exec");
    arguments().forEach(argument -> script.append(" '").append(argument).append('\''));
    return script.append('\n').toString();
  }

  /** Returns the text of the configuration file: JSON, which is YAML. */
  String configuration(ContainersStatus.Running runtime) throws FileException {
    Sandbox sandbox = runtime.sandbox();
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("apiVersion", "kubelet.config.k8s.io/v1beta1");
    all.put("kind", "KubeletConfiguration");
    security(all);
    all.put("address", plan.addresses().worker().getHostAddress());
    all.put("port", WorkerPlan.KUBELET_PORT);
    all.put("readOnlyPort", 0);
    all.put("healthzBindAddress", plan.addresses().worker().getHostAddress());
    all.put("healthzPort", HEALTH_PORT);
    all.put("containerRuntimeEndpoint", "unix://" + runtime.socket());
    all.put("clusterDomain", plan.domain());
    all.put("clusterDNS", List.of(plan.dns().getHostAddress()));
    all.put("resolvConf", files.resolver);
    cgroups(all, sandbox);
    all.put("podLogsDir", files.kubelet().resolve("logs"));
    all.put("volumePluginDir", files.kubelet().resolve("volume-plugins"));
    all.put("staticPodPath", "");
    all.put("maxPods", MOST_PODS);
    all.put("podPidsLimit", MOST_PROCESSES);
    all.put("seccompDefault", true);
    all.put("failSwapOn", false);
    all.put("protectKernelDefaults", false);
    // The runtime and the service proxy use nftables and need none of the kubelet's chains.
    all.put("makeIPTablesUtilChains", false);
    if (isolated(sandbox)) {
      evict(all);
    }
    return JsonText.text(all);
  }

  private void security(Map<String, Object> all) {
    all.put(
        "authentication",
        Map.of(
            "anonymous", Map.of("enabled", false),
            "webhook", Map.of("enabled", true),
            "x509", Map.of("clientCAFile", files.ca)));
    all.put("authorization", Map.of("mode", "Webhook"));
    all.put("tlsCertFile", files.kubeletServer);
    all.put("tlsPrivateKeyFile", files.kubeletKey);
    all.put("tlsMinVersion", "VersionTLS13");
    all.put("serverTLSBootstrap", false);
    all.put("rotateCertificates", false);
  }

  private static void cgroups(Map<String, Object> all, Sandbox sandbox) {
    // From release 1.35, the kubelet refuses cgroup version 1 without this setting.
    all.put("failCgroupV1", false);
    all.put("cgroupDriver", "cgroupfs");
    all.put("cgroupRoot", sandbox.cgroup());
    all.put("cgroupsPerQOS", true);
    all.put("enforceNodeAllocatable", List.of("pods"));
    all.put("kubeReserved", Map.of("cpu", "200m", "memory", "300Mi"));
  }

  /**
   * Sets the free space below which the kubelet evicts Pods. It is no share of the disk: a
   * developer's disk is often nearly full, and a tenth of it can be more than all Pods have
   * written.
   */
  private void evict(Map<String, Object> all) throws FileException {
    String room = kept() + "Mi";
    all.put(
        "evictionHard",
        Map.of(
            "memory.available", "50Mi",
            "nodefs.available", room,
            "nodefs.inodesFree", "1%",
            "imagefs.available", room,
            "imagefs.inodesFree", "1%"));
    all.put("imageGCHighThresholdPercent", 100);
    all.put("imageGCLowThresholdPercent", 99);
  }

  private long kept() throws FileException {
    try {
      long whole = Files.getFileStore(files.kubelet()).getTotalSpace() / MEBI;
      return Math.min(KEPT_MEBIBYTES, whole / KEPT_SHARE);
    } catch (IOException e) {
      throw new FileException(
          FileException.Problem.IO,
          "the node cannot find the size of the volume of "
              + files.kubelet()
              + ": "
              + e.getMessage(),
          "check that it is mounted",
          e);
    }
  }
}
