package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Finds Kubernetes' programs in a folder that a person names, and in archives beside the checkout.
 */
@Tag("full")
class KubernetesFolderTest {

  @TempDir Path directory;
  private ScriptFolder scripts;

  @BeforeEach
  void copyScripts() throws Exception {
    scripts = ScriptFolder.in(directory);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @DisplayName("a flat folder is accepted, and one with bin and cni")
  void folderThatIsNamed(boolean flat) throws Exception {
    FakeKubernetes fake = FakeKubernetes.of("1.35.2");
    if (flat) {
      fake.writeFlat(scripts, "given");
    } else {
      fake.writeOrdered(scripts, "given");
    }
    Finished run = named();

    Path provided = Path.of(run.requireSuccess("the folder is good").out().strip());
    assertEquals(directory.resolve(".polis"), provided.getParent());
    assertTrue(provided.getFileName().toString().startsWith("kubernetes-1.35.2-"), run::all);
    assertEquals(
        """
        kubernetes 1.35.2
        containerd 2.4.1
        runc 1.1.5
        coredns 1.14.7
        bridge 1.9.1
        """,
        Files.readString(provided.resolve("versions")));
    for (String program : ScriptFolder.KUBERNETES_PROGRAMS) {
      assertTrue(Files.isExecutable(provided.resolve("bin").resolve(program)), program);
    }
    for (String program : ScriptFolder.CNI_PROGRAMS) {
      assertTrue(Files.isExecutable(provided.resolve("cni").resolve(program)), program);
    }
    assertTrue(Files.isDirectory(provided.resolve("root/usr/sbin")));

    Object before = Files.readAttributes(provided, "unix:ino").get("ino");
    assertEquals(run.out(), named().out());
    assertEquals(
        before,
        Files.readAttributes(provided, "unix:ino").get("ino"),
        "a node that runs keeps the folder it was started with");
  }

  @Test
  @DisplayName("a provided folder is used unchanged, and its path is printed")
  void folderThatWasProvided() throws Exception {
    scripts.withKubernetes();
    Path provided = scripts.path(".polis/kubernetes-" + scripts.kubernetesVersion());
    Finished run = scripts.functions("kubernetes_folder $POLIS_CACHE " + provided);

    assertEquals(provided + "\n", run.requireSuccess("it is whole").out());
    assertEquals(provided + "\n", scripts.run("polis", "kubernetes-path").out());
    assertEquals("", run.err());

    Files.writeString(provided.resolve("versions"), "kubernetes 1.30.1\n");
    refused(
        scripts.functions("kubernetes_folder $POLIS_CACHE " + provided),
        "polis: kubernetes: " + provided + " is 1.30.1; supported are 1.34 to 1.36");
  }

  @Test
  @DisplayName("all missing programs of a folder are named, and nothing is left behind")
  void missingPrograms() throws Exception {
    FakeKubernetes.of("1.36.3").without("kubelet").without("portmap").writeFlat(scripts, "given");

    refused(
        named(),
        "polis: kubernetes: %s has no kubelet portmap".formatted(directory.resolve("given")));
  }

  @Test
  @DisplayName(
      "a missing folder, and a program that is not executable, are refused with the remedy")
  void notAFolder() throws Exception {
    refused(named(), "polis: kubernetes: %s is not a folder".formatted(directory.resolve("given")));

    FakeKubernetes.of("1.36.3").writeOrdered(scripts, "given");
    Path program = scripts.path("given/bin/kube-proxy");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rw-r--r--"));
    Finished run = named();
    refused(run, "polis: kubernetes: " + program + " is not executable");
    assertTrue(run.err().contains("polis: next: chmod +x " + program + "\n"), run::all);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.20.2", "1.33.9", "1.37.0", "2.0.0"})
  @DisplayName("a release that is too old or unknown is refused with the range")
  void unsupportedReleases(String version) throws Exception {
    FakeKubernetes.of(version).writeOrdered(scripts, "given");

    refused(
        named(),
        "polis: kubernetes: %s is %s; supported are 1.34 to 1.36"
            .formatted(scripts.path("given/bin/kube-apiserver"), version));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.34.0", "1.35.12", "1.36.0"})
  @DisplayName("the newest release and the two before it are supported")
  void supportedReleases(String version) throws Exception {
    FakeKubernetes.of(version).writeOrdered(scripts, "given");

    named().requireSuccess(version);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          kubelet    | Kubernetes v1.35.2        | bin/kubelet is 1.35.2, and kube-apiserver beside it 1.36.3
          kubectl    | Client Version: v1.32.0   | bin/kubectl is 1.32.0; supported are 1.34 to 1.36
          kube-proxy | damaged                   | bin/kube-proxy does not report its version
          containerd | containerd v1.5.9 1407cab | bin/containerd is 1.5.9, older than 1.6.0
          coredns    | CoreDNS-1.6.2             | bin/coredns is 1.6.2, older than 1.8.4
          bridge     | CNI bridge plugin v1.1.1  | cni/bridge is 1.1.1, older than 1.6.2
          """)
  @DisplayName("a program that does not fit the others is named with its version")
  void programThatDoesNotFit(String program, String said, String refusal) throws Exception {
    FakeKubernetes.of("1.36.3").saying(program, said).writeOrdered(scripts, "given");

    refused(named(), "polis: kubernetes: " + scripts.path("given") + "/" + refusal);
  }

  @Test
  @DisplayName("archives are verified, unpacked and checked, once; a damaged one is refused")
  void archives() throws Exception {
    FakeKubernetes fake = FakeKubernetes.of(scripts.kubernetesVersion());
    fake.write(scripts, "packed/k/kubernetes", ScriptFolder.KUBERNETES_PROGRAMS.subList(0, 6));
    fake.write(
        scripts,
        "packed/t/node-tools",
        List.of("containerd", "containerd-shim-runc-v2", "ctr", "coredns"));
    scripts.executable("packed/t/node-tools/runc", "echo runc version 1.4.3");
    fake.write(scripts, "packed/t/node-tools/cni", ScriptFolder.CNI_PROGRAMS);
    String pack =
        FakeKubernetes.TOOLS
            + """
            export POLIS_KUBERNETES_ARCHIVES=$POLIS_REPOSITORY/archives
            mkdir -p $POLIS_KUBERNETES_ARCHIVES
            for name in "${!KUBERNETES_ARCHIVES[@]}"; do
              [[ $name == node-tools* ]] && part=t || part=k
              [[ -f $POLIS_KUBERNETES_ARCHIVES/$name ]] ||
                tar -cJf "$POLIS_KUBERNETES_ARCHIVES/$name" -C $POLIS_REPOSITORY/packed/$part $(ls $POLIS_REPOSITORY/packed/$part)
              KUBERNETES_ARCHIVES[$name]=$(sha256sum <$POLIS_KUBERNETES_ARCHIVES/$name | cut -d ' ' -f 1)
            done
            """;

    Finished damaged =
        scripts.functions(
            pack
                + """
                printf x >>$POLIS_KUBERNETES_ARCHIVES/node-tools-linux-amd64.tar.xz
                kubernetes_folder $POLIS_CACHE
                """);
    refused(
        damaged,
        "polis: kubernetes: %s has the SHA-256 "
            .formatted(scripts.path("archives/node-tools-linux-amd64.tar.xz")));
    assertTrue(damaged.err().contains("has unpacked nothing"), damaged::all);

    Files.delete(scripts.path("archives/node-tools-linux-amd64.tar.xz"));
    Finished good = scripts.functions(pack + "kubernetes_folder $POLIS_CACHE");
    Path provided = Path.of(good.requireSuccess("the archives are good").out().strip());
    assertEquals(
        scripts.path(".polis/kubernetes-" + scripts.kubernetesVersion()), provided, good::all);
    assertTrue(Files.readString(provided.resolve("versions")).contains("runc 1.4.3\n"), good::all);

    Finished again = scripts.functions("kubernetes_folder $POLIS_CACHE");
    assertEquals(good.out(), again.out());
    assertEquals("", again.err(), "they are unpacked once");
  }

  @Test
  @DisplayName("a named folder without archives is refused")
  void noArchives() throws Exception {
    Finished run =
        scripts.functions(
            "export POLIS_KUBERNETES_ARCHIVES=$POLIS_REPOSITORY/programs; kubernetes_folder $POLIS_CACHE");

    refused(run, "polis: kubernetes: POLIS_KUBERNETES_ARCHIVES names ");
    assertTrue(run.err().contains("which has no "), run::all);
  }

  private Finished named() throws Exception {
    return scripts.functions(
        FakeKubernetes.TOOLS + "kubernetes_folder $POLIS_CACHE $POLIS_REPOSITORY/given");
  }

  /** Requires that a refusal leaves no files that look like programs. */
  private void refused(Finished run, String words) throws Exception {
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains(words), () -> "expected: " + words + "\n" + run.all());
    assertTrue(run.err().contains("polis: next: "), run::all);
    assertEquals("", run.out());
    if (Files.isDirectory(scripts.path(".polis"))) {
      try (Stream<Path> left = Files.list(scripts.path(".polis"))) {
        List<String> names = left.map(file -> file.getFileName().toString()).toList();
        assertFalse(names.stream().anyMatch(name -> name.endsWith(".new")), names::toString);
      }
    }
  }
}
