package dev.polis.kubernetes.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KubernetesProgramsTest {

  private static final List<String> NEEDED = KubernetesPrograms.ofController();

  @TempDir Path folder;

  @BeforeEach
  void provide() throws Exception {
    Files.createDirectories(folder.resolve("bin"));
    for (String each : NEEDED) {
      write(each, "Kubernetes v1.36.3");
    }
  }

  private void write(String program, String answer) throws Exception {
    Path file = folder.resolve("bin").resolve(program);
    Files.writeString(file, "#!/bin/sh\necho '" + answer + "'\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private String refusal() {
    return assertThrows(
            KubernetesProgramException.class,
            () -> KubernetesPrograms.find(folder.toString(), NEEDED))
        .getMessage();
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.34.0", "1.35.9", "1.36.3", "1.36.0-rc.1"})
  @DisplayName("the releases that upstream supports are accepted")
  void supported(String version) throws Exception {
    write("kube-apiserver", "Kubernetes v" + version);

    KubernetesPrograms found = KubernetesPrograms.find(folder.toString(), NEEDED);

    assertTrue(version.startsWith(found.version().toString()), found.version()::toString);
    assertEquals(folder.resolve("bin/kube-scheduler"), found.program("kube-scheduler"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.20.2", "1.33.12", "1.37.0", "2.0.0"})
  @DisplayName("an older or newer release is refused with the range")
  void unsupported(String version) throws Exception {
    write("kube-apiserver", "Kubernetes v" + version);

    String refusal = refusal();
    assertTrue(refusal.contains("Kubernetes " + version), refusal);
    assertTrue(refusal.contains("1.34 to 1.36"), refusal);
    assertTrue(refusal.contains("polis provision kubernetes"), refusal);
  }

  @Test
  @DisplayName("a program that is missing or cannot be executed is named")
  void missing() throws Exception {
    Path scheduler = folder.resolve("bin/kube-scheduler");
    Files.setPosixFilePermissions(scheduler, PosixFilePermissions.fromString("rw-r--r--"));
    assertTrue(refusal().startsWith(scheduler + " is not executable"), refusal());

    Files.delete(scheduler);
    assertTrue(refusal().startsWith(scheduler + " is missing"), refusal());
  }

  @Test
  @DisplayName("a program that prints no version, or cannot run, is refused with its own output")
  void damaged() throws Exception {
    write("kube-apiserver", "hello");
    assertTrue(refusal().contains("does not report its version"), refusal());
    assertTrue(refusal().contains("hello"), refusal());

    Files.writeString(folder.resolve("bin/kube-apiserver"), "\u007fELF of another machine");
    assertTrue(refusal().contains(folder.resolve("bin/kube-apiserver").toString()), refusal());
  }

  @Test
  @DisplayName("a missing folder is refused with the command that makes one")
  void none() {
    String refusal =
        assertThrows(KubernetesProgramException.class, () -> KubernetesPrograms.find(" ", NEEDED))
            .getMessage();
    assertTrue(refusal.contains("polis provision kubernetes"), refusal);
    assertTrue(refusal.contains("dev.polis.kubernetes.programs"), refusal);
  }

  @Test
  @DisplayName("another build under the same path has another digest")
  void digest() throws Exception {
    KubernetesPrograms found = KubernetesPrograms.find(folder.toString(), NEEDED);
    String before = found.digest("kube-scheduler");
    assertEquals(before, found.digest("kube-scheduler"));

    write("kube-scheduler", "Kubernetes v1.36.3, built again");
    assertNotEquals(before, found.digest("kube-scheduler"));
  }
}
