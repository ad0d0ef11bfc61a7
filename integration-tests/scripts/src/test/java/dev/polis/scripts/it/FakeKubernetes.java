package dev.polis.scripts.it;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes programs that only print a version, as Kubernetes' programs do. */
final class FakeKubernetes {

  /** Stands for Debian's tools, which need a network to fetch. */
  static final String TOOLS =
      """
      kubernetes_tools() {
        mkdir -p "$1/kubernetes-tools/usr/"{bin,sbin,lib}
        printf '#!/bin/sh\\necho runc version 1.1.5\\n' >"$1/kubernetes-tools/usr/sbin/runc"
        printf '#!/bin/sh\\n' >"$1/kubernetes-tools/usr/bin/busybox"
        chmod +x "$1"/kubernetes-tools/usr/*/*
      }
      """;

  private final Map<String, String> said = new LinkedHashMap<>();

  private FakeKubernetes() {}

  /** Returns all programs of one release of Kubernetes, with other programs that fit it. */
  static FakeKubernetes of(String version) {
    FakeKubernetes fake = new FakeKubernetes();
    for (String program :
        List.of(
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
            "kube-proxy")) {
      fake.said.put(program, "Kubernetes v" + version);
    }
    fake.said.put("kubectl", "Client Version: v%s\nKustomize Version: v5.8.1".formatted(version));
    fake.said.put("containerd", "containerd github.com/containerd/containerd/v2 v2.4.1 b98f74a");
    fake.said.put("containerd-shim-runc-v2", "");
    fake.said.put("ctr", "ctr github.com/containerd/containerd/v2 v2.4.1");
    fake.said.put("coredns", "CoreDNS-1.14.7\nlinux/amd64, go1.26.8");
    for (String program : ScriptFolder.CNI_PROGRAMS) {
      fake.said.put(
          program,
          "CNI %s plugin v1.9.1\nCNI protocol versions supported: 0.1.0, 1.1.0".formatted(program));
    }
    return fake;
  }

  /** Lets a program print another version. */
  FakeKubernetes saying(String program, String text) {
    said.put(program, text);
    return this;
  }

  /** Leaves out a program. */
  FakeKubernetes without(String program) {
    said.remove(program);
    return this;
  }

  /** Writes all programs into one folder. */
  void writeFlat(ScriptFolder scripts, String folder) throws IOException {
    for (String program : said.keySet()) {
      write(scripts, folder + "/" + program, program);
    }
  }

  /** Writes the programs into {@code bin} and {@code cni} of a folder. */
  void writeOrdered(ScriptFolder scripts, String folder) throws IOException {
    for (String program : said.keySet()) {
      String place = ScriptFolder.CNI_PROGRAMS.contains(program) ? "/cni/" : "/bin/";
      write(scripts, folder + place + program, program);
    }
  }

  /** Writes some of the programs into a folder. */
  void write(ScriptFolder scripts, String folder, List<String> programs) throws IOException {
    for (String program : programs) {
      write(scripts, folder + "/" + program, program);
    }
  }

  private void write(ScriptFolder scripts, String file, String program) throws IOException {
    scripts.executable(
        file, "cat <<'END'\n%s\nEND\nexit\n%s".formatted(said.get(program), padding(program)));
  }

  /**
   * Makes one of the programs large, of one repeated character, so that an archive of it is small:
   * a disk with space for the archive becomes full when it is unpacked.
   */
  private static String padding(String program) {
    return program.equals("kube-apiserver") ? "#".repeat(4 << 20) : "";
  }
}
