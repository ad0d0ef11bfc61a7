package dev.polis.kubernetes.settings;

import dev.polis.base.digest.Sha256;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds Kubernetes' programs in their folder, and refuses missing and unsupported ones.
 *
 * @param folder the folder with {@code bin/} and {@code cni/}
 * @param version the version of the programs
 */
public record KubernetesPrograms(Path folder, KubernetesVersion version) {

  /** The time for the version of a program of 90 MB on a slow disk. */
  private static final Duration ANSWER = Duration.ofSeconds(20);

  private static final Pattern VERSION = Pattern.compile("v?(\\d+)\\.(\\d+)\\.(\\d+)");

  /**
   * Finds the programs of a role.
   *
   * @param folder the configured folder; empty for none
   * @param needed the names of the programs, the first of which reports the version
   * @throws KubernetesProgramException naming the program, the folder and the remedy
   */
  public static KubernetesPrograms find(String folder, List<String> needed)
      throws InterruptedException {
    if (folder.isBlank()) {
      throw new KubernetesProgramException(
          "this node has no programs of Kubernetes; run \"polis provision kubernetes\" and start the node with \"polis up --kubernetes\", or set dev.polis.kubernetes.programs");
    }
    Path root = Path.of(folder);
    for (String program : needed) {
      require(root.resolve("bin").resolve(program));
    }
    KubernetesPrograms found =
        new KubernetesPrograms(root, version(root.resolve("bin").resolve(needed.getFirst())));
    found.version.requireSupported(found.program(needed.getFirst()));
    return found;
  }

  /** Returns the path of one of Kubernetes' programs. */
  public Path program(String name) {
    return folder.resolve("bin").resolve(name);
  }

  /** Returns the folder of the network plugins. */
  public Path networkPlugins() {
    return folder.resolve("cni");
  }

  /**
   * Returns a digest that another build under the same path does not share.
   *
   * @throws KubernetesProgramException if it cannot be read
   */
  public String digest(String name) {
    Path program = program(name);
    try {
      return Sha256.ofProgram(program);
    } catch (IOException e) {
      throw new KubernetesProgramException(
          "the node cannot read %s: %s".formatted(program, e.getMessage()), e);
    }
  }

  private static void require(Path program) {
    if (!Files.isExecutable(program)) {
      String what = Files.exists(program) ? "is not executable" : "is missing";
      throw new KubernetesProgramException(
          "%s %s; run \"polis provision kubernetes\", or correct dev.polis.kubernetes.programs"
              .formatted(program, what));
    }
  }

  private static KubernetesVersion version(Path program) throws InterruptedException {
    try {
      Commands.Result said = new Commands().run(ANSWER, List.of(program.toString(), "--version"));
      Matcher version = VERSION.matcher(said.output());
      if (said.ok() && version.find()) {
        return new KubernetesVersion(
            Integer.parseInt(version.group(1)),
            Integer.parseInt(version.group(2)),
            Integer.parseInt(version.group(3)));
      }
      throw new KubernetesProgramException(
          "%s does not report its version: %s; it may be damaged or made for another machine"
              .formatted(program, said.words()));
    } catch (IOException e) {
      throw new KubernetesProgramException(
          "the node cannot run %s: %s".formatted(program, e.getMessage()), e);
    }
  }

  /** Returns the names of the controller's programs; the first one reports the version. */
  public static List<String> ofController() {
    return List.of("kube-apiserver", "kube-controller-manager", "kube-scheduler");
  }

  /** Returns the names of the worker's programs; the first one reports the version. */
  public static List<String> ofWorker() {
    return List.of("kubelet", "kube-proxy", "coredns");
  }
}
