package dev.polis.ctl.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContextsTest {

  @TempDir Path folder;

  @Test
  void givenNoFile_thenThereAreNoContexts() {
    assertFalse(Contexts.load(folder).hasCurrent());
    assertTrue(Contexts.load(folder).endpoints().isEmpty());
  }

  @Test
  void whatIsSaved_isReadAgain_sortedAndForTheOperatorAlone() throws Exception {
    Contexts.load(folder).with("lab", "10.0.0.2").with("b", "::1").with("a", "n1").save();
    Contexts.load(folder).choosing("lab").save();

    Contexts read = Contexts.load(folder);

    assertEquals("lab", read.current());
    assertEquals(List.of("a", "b", "lab"), List.copyOf(read.endpoints().keySet()));
    assertEquals("::1", read.endpoints().get("b"));
    assertEquals(folder.resolve("lab/owner-key.pem"), read.target("lab").ownerKey());
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(
            Files.getPosixFilePermissions(folder.resolve("contexts.yaml"))));
  }

  @Test
  void anUnknownContext_isRefusedWithThoseThereAre() {
    Contexts contexts = Contexts.load(folder).with("lab", "10.0.0.2");
    CtlException refused = assertThrows(CtlException.class, () -> contexts.choosing("lap"));
    assertEquals(ExitCode.NOT_FOUND, refused.exitCode());
    assertTrue(refused.getMessage().contains("\"lap\""), refused.getMessage());
    assertTrue(refused.getMessage().contains("[lab]"), refused.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "hello",
        "[1, 2]",
        "contexts: {lab: 1}",
        "contexts: {1: lab}\ncurrent: x",
        "contexts: lab\ncurrent: lab",
        "contexts: {}\ncurrent: 7",
        "contexts: {\n",
        "\0"
      })
  void aDamagedFile_isNamedAndLeftAlone(String damaged) throws Exception {
    Path file = folder.resolve("contexts.yaml");
    Files.writeString(file, damaged);

    CtlException refused = assertThrows(CtlException.class, () -> Contexts.load(folder));

    assertEquals(ExitCode.FAILED, refused.exitCode());
    assertTrue(refused.getMessage().contains(file.toString()), refused.getMessage());
    assertTrue(refused.getMessage().contains("repair or remove it"), refused.getMessage());
    assertEquals(damaged, Files.readString(file));
  }
}
