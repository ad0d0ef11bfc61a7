package dev.polis.scripts.it;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Makes a repository with the scripts and without modules, and with programs of a test's own. */
record ScriptFolder(Path folder) {

  static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** Kubernetes' programs, and those for its containers and its DNS. */
  static final List<String> KUBERNETES_PROGRAMS =
      List.of(
          "kube-apiserver",
          "kube-controller-manager",
          "kube-scheduler",
          "kubelet",
          "kube-proxy",
          "kubectl",
          "containerd",
          "containerd-shim-runc-v2",
          "ctr",
          "runc",
          "coredns",
          "busybox");

  /** The network plugins of Pods. */
  static final List<String> CNI_PROGRAMS = List.of("bridge", "host-local", "loopback", "portmap");

  private static final Pattern KUBERNETES_VERSION =
      Pattern.compile("^KUBERNETES_VERSION=(\\S+)", Pattern.MULTILINE);

  private static final String COMPILED = "compiled-jdk";

  /** Long, since commands take seconds, and machines that run tests are busy. */
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  /** Copies the scripts. */
  static ScriptFolder in(Path folder) throws IOException {
    copy("polis", folder);
    copy(".ci/run", folder);
    copy(".mvn/wrapper/maven-wrapper.properties", folder);
    try (Stream<Path> scripts = Files.list(REPOSITORY.resolve("launcher/script"))) {
      for (Path script : scripts.toList()) {
        copy("launcher/script/" + script.getFileName(), folder);
      }
    }
    Files.createDirectories(folder.resolve("programs"));
    return new ScriptFolder(folder);
  }

  private static void copy(String name, Path folder) throws IOException {
    Path to = folder.resolve(name);
    Files.createDirectories(to.getParent());
    Files.copy(REPOSITORY.resolve(name), to);
  }

  Path path(String name) {
    return folder.resolve(name);
  }

  /** Puts a program before the machine's own on the PATH. */
  ScriptFolder program(String name, String script) throws IOException {
    executable("programs/" + name, script);
    return this;
  }

  /** Writes a shell script, with its parent folders. */
  void executable(String name, String script) throws IOException {
    Path file = path(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, "#!/bin/bash\n" + script + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /** Gives the test an etcd, so that none is fetched. */
  ScriptFolder withEtcd() throws IOException {
    executable(".polis/etcd-3.5.16/etcd", "echo etcd Version: 3.5.16");
    executable(".polis/etcd-3.5.16/etcdctl", "");
    return this;
  }

  /**
   * Gives the test a JDK that runs the scripts' Java sources from classes: compiling them at each
   * start takes longer than the rest of a script.
   */
  ScriptFolder withCompiled(Path classes) throws IOException {
    Path jdk = Path.of(System.getProperty("java.home"));
    executable(COMPILED + "/bin/javac", "");
    Files.copy(jdk.resolve("release"), path(COMPILED + "/release"));
    executable(
        COMPILED + "/bin/java",
        """
        arguments=()
        for argument; do
          if [[ $argument == *.java ]]; then
            argument=${argument##*/}
            arguments+=(-cp %s "${argument%%.java}")
          else
            arguments+=("$argument")
          fi
        done
        exec %s "${arguments[@]}"
        """
            .formatted(classes, jdk.resolve("bin/java")));
    return this;
  }

  /** Gives the test Kubernetes' programs, so that none are provided. */
  ScriptFolder withKubernetes() throws IOException {
    String folder = ".polis/kubernetes-" + kubernetesVersion();
    for (String program : KUBERNETES_PROGRAMS) {
      executable(folder + "/bin/" + program, "");
    }
    for (String program : CNI_PROGRAMS) {
      executable(folder + "/cni/" + program, "");
    }
    Files.createDirectories(path(folder + "/root/usr"));
    Files.writeString(path(folder + "/versions"), "kubernetes " + kubernetesVersion() + "\n");
    return this;
  }

  /** Returns the version that is provided if no folder is named. */
  String kubernetesVersion() throws IOException {
    Matcher version =
        KUBERNETES_VERSION.matcher(Files.readString(path("launcher/script/kubernetes.sh")));
    if (!version.find()) {
      throw new AssertionError("kubernetes.sh has no KUBERNETES_VERSION=");
    }
    return version.group(1);
  }

  /** Runs a command of {@code polis}, or another script. */
  Finished run(String script, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of(path(script).toString()));
    command.addAll(List.of(arguments));
    return finish(command);
  }

  /** Runs shell code with the functions of the scripts. */
  Finished functions(String code) throws Exception {
    return functions(List.of(), code);
  }

  /** Runs shell code with the functions of the scripts, by way of another command. */
  Finished functions(List<String> within, String code) throws Exception {
    String known =
        """
        set -euo pipefail
        POLIS_REPOSITORY=%1$s
        POLIS_CACHE=%1$s/.polis
        for part in words progress packages fetch java etcd kubernetes maven build tests node needs cluster; do
          source "$POLIS_REPOSITORY/launcher/script/$part.sh"
        done
        """
            .formatted(folder);
    List<String> command = new ArrayList<>(within);
    command.addAll(List.of("bash", "-c", known + code));
    return finish(command);
  }

  Finished finish(List<String> command) throws Exception {
    return Finished.of(command, environment(), PATIENCE);
  }

  Map<String, String> environment() {
    return Map.of(
        // Removes the programs that the testing machine has provided, which are not the test's.
        "POLIS_KUBERNETES",
        "",
        "POLIS_KUBERNETES_ARCHIVES",
        "",
        "PATH",
        path("programs") + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "JAVA_HOME",
        Files.exists(path(COMPILED)) ? path(COMPILED).toString() : System.getProperty("java.home"),
        "APT_CONFIG",
        path("apt.conf").toString());
  }
}
