package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.kubernetes.settings.AuditSettings;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.kubernetes.settings.KubernetesVersion;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Prepares the kubelet's files, and again with other settings: each file must have the earlier or
 * the later content. Does not read the files that stand for settings of the kernel, which are not
 * forced: each start rewrites those that are not whole.
 */
final class KubeletScenario implements PowerScenario {

  private static final String EARLIER = "earlier.example";
  private static final String LATER = "later.example";

  private final NodeId node = NodeId.of(Ed25519.generate().getPublic());

  @Override
  public List<Step> steps() {
    return List.of(
        KubeletScenario::files,
        root -> prepare(root, EARLIER, 6445),
        root -> prepare(root, LATER, 6446));
  }

  private static WorkerFiles files(Path root) throws Exception {
    return new WorkerFiles(
        declared -> {
          var folder = Root.at(root).data().organFolder(declared);
          folder.create();
          return folder;
        });
  }

  private void prepare(Path root, String domain, int balancer) throws Exception {
    Path programs = Files.createTempDirectory("polis-programs");
    Path kubelet = Files.createDirectory(programs.resolve("bin")).resolve("kubelet");
    try {
      Files.writeString(kubelet, "a program");
      KubernetesSettings settings = settings(domain, balancer);
      WorkerPlan plan =
          new WorkerPlan(
              node,
              settings,
              new KubernetesPrograms(programs, new KubernetesVersion(1, 36, 0)),
              KubernetesAddresses.of(InetAddress.ofLiteral("127.0.3.1"), settings.links()),
              Isolation.NAMESPACES);
      WorkerFiles files = files(root);
      new KubeletFiles(plan, files).prepare(runtime(plan, files));
    } finally {
      Files.deleteIfExists(kubelet);
      Files.delete(kubelet.getParent());
      Files.delete(programs);
    }
  }

  private static KubernetesSettings settings(String domain, int balancer) {
    return new KubernetesSettings(
        6444,
        "",
        6443,
        balancer,
        AddressRange.of("10.244.0.0/16"),
        AddressRange.of("10.96.0.0/16"),
        domain,
        AddressRange.of("198.18.0.0/15"),
        "auto",
        AuditSettings.STANDARD);
  }

  private static ContainersStatus.Running runtime(WorkerPlan plan, WorkerFiles files) {
    Sandbox sandbox =
        new Sandbox(
            plan.sandbox(files),
            List.of("/usr/bin/nsenter", "--net=/n"),
            "veth0",
            Path.of("/polis-p1"),
            "/p/bin:/usr/bin");
    return new ContainersStatus.Running(sandbox, Path.of("/run/c/c.sock"), "containerd 2.4.2");
  }

  @Override
  public String observe(Path root) throws Exception {
    WorkerFiles files = files(root);
    return Stream.of(
            files.kubeletConfiguration,
            files.kubeletKubeconfig,
            files.resolver,
            files.kubeletScript)
        .map(KubeletScenario::kind)
        .collect(Collectors.joining(" "));
  }

  /** Distinguishes a whole file of the earlier or the later settings from a damaged one. */
  private static String kind(FilePlacement file) {
    if (!(file.read() instanceof Stored.Present<byte[]>(Path path, byte[] content))) {
      return "-";
    }
    String text = new String(content, StandardCharsets.UTF_8);
    if (path.endsWith("kubelet.json")) {
      boolean whole = text.strip().endsWith("}");
      return whole && text.contains(LATER) ? "later" : mark(whole && text.contains(EARLIER));
    }
    if (path.endsWith("kubelet.kubeconfig")) {
      boolean whole = text.strip().endsWith("}");
      return whole && text.contains(":6446") ? "later" : mark(whole && text.contains(":6445"));
    }
    return mark(text.endsWith("\n") && (text.startsWith("nameserver ") || text.contains("exec ")));
  }

  private static String mark(boolean whole) {
    return whole ? "whole" : "torn";
  }

  /**
   * Allows a mixture: files are replaced one after the other, and the next start replaces the rest.
   */
  @Override
  public boolean underWay(String observed) {
    return !observed.contains("torn");
  }
}
