package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Sandbox;
import dev.polis.files.FileException;
import dev.polis.process.ProcessSpec;
import java.util.List;
import java.util.Map;

/**
 * Writes the service proxy's files and command line.
 *
 * <p>The proxy reads its client certificate again within five minutes after a change of the file.
 */
final class ProxyFiles {

  static final String NAME = "kube-proxy";

  /** The port of the proxy's health, at the sandbox's address. */
  static final int HEALTH_PORT = 10_256;

  private static final int METRICS_PORT = 10_249;

  private final WorkerPlan plan;
  private final WorkerFiles files;

  ProxyFiles(WorkerPlan plan, WorkerFiles files) {
    this.plan = plan;
    this.files = files;
  }

  /** Writes the files, and returns the description of the proxy's process. */
  ProcessSpec prepare(ContainersStatus.Running runtime) throws FileException {
    String configuration = configuration();
    WorkerFiles.write(files.proxyConfiguration, configuration);
    WorkerFiles.write(
        files.netservicesKubeconfig,
        Kubeconfig.text(plan.balancer(), files.ca, files.netservices, files.netservicesKey));
    Sandbox sandbox = runtime.sandbox();
    return ProcessSpec.of(
            NAME,
            sandbox.command(
                List.of(
                    plan.programs().program(NAME).toString(),
                    "--config=" + files.proxyConfiguration,
                    "--v=1")))
        .withEnvironment(Map.of("PATH", sandbox.path(), "HOME", "/root"))
        .withFingerprint(plan.programs().digest(NAME) + configuration);
  }

  /** Returns the text of the configuration file: JSON, which is YAML. */
  String configuration() {
    String address = plan.addresses().worker().getHostAddress();
    return JsonText.text(
        Map.of(
            "apiVersion",
            "kubeproxy.config.k8s.io/v1alpha1",
            "kind",
            "KubeProxyConfiguration",
            "clientConnection",
            Map.of("kubeconfig", files.netservicesKubeconfig),
            "hostnameOverride",
            plan.node(),
            "mode",
            "nftables",
            "clusterCIDR",
            plan.settings().pods(),
            "healthzBindAddress",
            address + ":" + HEALTH_PORT,
            "metricsBindAddress",
            "127.0.0.1:" + METRICS_PORT,
            // Zeros keep the kernel's settings of connection tracking, which belong to the machine.
            "conntrack",
            Map.of(
                "maxPerCore",
                0,
                "min",
                0,
                "tcpEstablishedTimeout",
                "0s",
                "tcpCloseWaitTimeout",
                "0s")));
  }
}
