package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.ContainersException;
import dev.polis.files.DirectoryPlacement;
import dev.polis.files.layout.Root;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks that the configuration fits the version of containerd. */
class RuntimeConfigurationTest {

  @TempDir private Path folder;

  private static String text(String containerd) {
    return new RuntimeConfiguration(
            new RuntimePrograms(
                Path.of("/programs"),
                RuntimeVersion.find(containerd).orElseThrow(),
                new RuntimeVersion(1, 4, 3)),
            Path.of("/data/runtime"),
            Path.of("/data/mirrors"),
            Path.of("/data/cni \"x\""),
            true)
        .text();
  }

  private static void requireLines(String text, List<String> wanted) {
    List<String> lines = text.lines().map(String::strip).toList();
    wanted.forEach(line -> assertTrue(lines.contains(line), () -> line + " is not in\n" + text));
  }

  @Test
  @DisplayName(
      "containerd 2 gets version 3 of the configuration, with one plugin for images and one for containers")
  void third() {
    String text = text("containerd github.com/containerd/containerd/v2 v2.4.2 5b5f");
    requireLines(
        text,
        List.of(
            "version = 3",
            "root = \"/data/runtime\"",
            "address = \"/run/containerd/containerd.sock\"",
            "[plugins.'io.containerd.cri.v1.images'.pinned_images]",
            "sandbox = \"polis.local/pause:1\"",
            "config_path = \"/data/mirrors\"",
            "restrict_oom_score_adj = true",
            "bin_dirs = [\"/programs/cni\"]",
            "conf_dir = \"/data/cni \\\"x\\\"\"",
            "BinaryName = \"/programs/bin/runc\"",
            "SystemdCgroup = false"));
  }

  @ParameterizedTest
  @CsvSource({"containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1", "1.7.24"})
  @DisplayName("containerd 1.6 and 1.7 get version 2 of the configuration, with one plugin for CRI")
  void second(String said) {
    String text = text(said);
    requireLines(
        text,
        List.of(
            "version = 2",
            "[plugins.\"io.containerd.grpc.v1.cri\"]",
            "sandbox_image = \"polis.local/pause:1\"",
            "[plugins.\"io.containerd.grpc.v1.cri\".registry]",
            "config_path = \"/data/mirrors\"",
            "bin_dir = \"/programs/cni\"",
            "BinaryName = \"/programs/bin/runc\""));
    assertFalse(text.contains("cri.v1.images"), text);
  }

  @Test
  @DisplayName("a mirror is written as containerd reads it")
  void mirror() {
    requireLines(
        RuntimeConfiguration.mirror(URI.create("https://mirror.example")),
        List.of("[host.\"https://mirror.example\"]", "capabilities = [\"pull\", \"resolve\"]"));
  }

  @Test
  @DisplayName(
      "D-39 no registry has a mirror unless an operator names one, and a mirror that is no longer named is removed")
  void mirrors() throws Exception {
    DirectoryPlacement mirrors = new ContainersFiles(Root.at(folder)).mirrors();
    RegistryMirrors.write(ContainersSettings.mirrors(""), mirrors);
    assertEquals(List.of(), mirrors.list());
    assertFalse(text("2.4.2").contains("http"), text("2.4.2"));
    assertFalse(text("1.7.24").contains("http"), text("1.7.24"));
    RegistryMirrors.write(
        ContainersSettings.mirrors("docker.io=https://one.example,a.io=https://two.example"),
        mirrors);
    assertEquals(List.of("a.io", "docker.io"), mirrors.list());
    RegistryMirrors.write(ContainersSettings.mirrors("a.io=https://three.example"), mirrors);
    assertEquals(List.of("a.io"), mirrors.list());
    assertTrue(
        Files.readString(mirrors.path().resolve("a.io/hosts.toml"))
            .contains("[host.\"https://three.example\"]"));
  }

  @ParameterizedTest
  @CsvSource({
    "containerd github.com/containerd/containerd/v2 v2.4.2 5b5f, 2.4.2",
    "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1, 1.6.20",
    "runc version 1.4.3, 1.4.3",
    "runc version 1.1.5+ds1, 1.1.5"
  })
  @DisplayName("versions are found in the output of the programs")
  void versions(String said, String version) {
    assertEquals(version, RuntimeVersion.find(said).orElseThrow().toString());
  }

  private Path program(String name, String script) throws Exception {
    Path program = Files.createDirectories(folder.resolve("bin")).resolve(name);
    Files.writeString(program, "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    return program;
  }

  private void programs(String containerd, String runc) throws Exception {
    program("containerd", "echo containerd x " + containerd);
    program("runc", "echo runc version " + runc);
    for (String name : List.of("containerd-shim-runc-v2", "ctr", "busybox")) {
      program(name, "exit 0");
    }
  }

  private String refusal() {
    return assertThrows(ContainersException.class, () -> RuntimePrograms.find(folder.toString()))
        .getMessage();
  }

  @Test
  @DisplayName("programs of supported versions are found with their versions")
  void found() throws Exception {
    programs("v2.4.2", "1.4.3");
    RuntimePrograms found = RuntimePrograms.find(folder.toString());
    assertEquals(new RuntimeVersion(2, 4, 2), found.containerd());
    assertEquals(new RuntimeVersion(1, 4, 3), found.runc());
  }

  @Test
  @DisplayName("a version too old or unknown is refused with the range")
  void unsupported() throws Exception {
    programs("1.5.9", "1.4.3");
    assertTrue(refusal().contains("containerd has version 1.5.9; use version 1.6 or newer"));
    programs("v3.0.1", "1.4.3");
    assertTrue(refusal().contains("below 3.0"));
    programs("v2.4.2", "1.0.0");
    assertTrue(refusal().contains("runc has version 1.0.0; use version 1.1 or newer"));
  }

  @Test
  @DisplayName("a missing, a damaged and a silent program are refused by name")
  void wrongPrograms() throws Exception {
    programs("v2.4.2", "1.4.3");
    Files.delete(folder.resolve("bin/ctr"));
    assertTrue(refusal().contains("bin/ctr is missing"), refusal());
    programs("v2.4.2", "1.4.3");
    program("runc", "exit 7");
    assertTrue(refusal().contains("bin/runc ended with 7"), refusal());
    Files.write(folder.resolve("bin/containerd"), new byte[] {0x7f, 'E', 'L', 'F', 9, 9});
    assertTrue(refusal().contains("bin/containerd ended with"), refusal());
    assertTrue(refusal().contains("made for another machine"), refusal());
    assertTrue(refusal().contains("polis provision kubernetes"), refusal());
  }

  @Test
  @DisplayName("a containerd whose CRI plugin did not load is refused with the plugin's name")
  void withoutCri() {
    String header = "TYPE                      ID      PLATFORMS      STATUS    \n";
    String whole =
        header
            + "io.containerd.snapshotter.v1  btrfs  linux/amd64  skip\n"
            + "io.containerd.cri.v1  images  -  ok\nio.containerd.grpc.v1  cri  linux/amd64  ok\n";
    ImageStore.requireCri(whole);
    ContainersException refused =
        assertThrows(
            ContainersException.class,
            () -> ImageStore.requireCri(whole.replace("images  -  ok", "images  -  error")));
    assertTrue(refused.getMessage().contains("io.containerd.cri.v1 images"), refused::getMessage);
  }

  @Test
  @DisplayName("a missing folder is refused with the command that makes one")
  void unset() {
    String message =
        assertThrows(ContainersException.class, () -> RuntimePrograms.find(" ")).getMessage();
    assertTrue(message.contains("polis provision kubernetes"), message);
  }
}
