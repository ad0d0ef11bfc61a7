package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EtcdBinaryTest {

  private static final String REMEDY = "; set etcd of dev.polis.consensus to etcd 3.5.16 or newer";

  @TempDir Path folder;

  @Test
  @DisplayName("the real etcd is found by its path and by its directory")
  void found() throws Exception {
    String directory = ConsensusHarness.etcd();

    EtcdBinary byDirectory = EtcdBinary.find(directory);
    EtcdBinary byPath = EtcdBinary.find(directory + "/etcd");

    assertEquals(byDirectory, byPath);
    assertTrue(byPath.version().atLeast(EtcdVersion.OLDEST), byPath::toString);
    assertEquals(64, byPath.digest().length());
  }

  @Test
  @DisplayName(
      "a program that is missing, not executable, not etcd, or too old is refused with the reason")
  void refused() throws Exception {
    Path absent = folder.resolve("nowhere");
    Path text = Files.writeString(folder.resolve("text"), "hello");
    Path other = script("other", "echo hello");
    Path old = script("old", "echo 'etcd Version: 3.4.23'; echo 'Go Version: go1.12'");
    Path unreadable = script("broken", "exit 1");

    assertEquals("etcd is not at " + absent + REMEDY, refusal(absent));
    assertEquals(text + " is not an executable file, so it cannot be etcd" + REMEDY, refusal(text));
    assertEquals(
        other + " is not etcd: with --version it printed \"hello\"" + REMEDY, refusal(other));
    assertTrue(refusal(old).startsWith(old + " is etcd 3.4.23, older than 3.5.16: "), refusal(old));
    assertTrue(refusal(old).endsWith(REMEDY), refusal(old));
    assertTrue(refusal(unreadable).contains("it printed \"\""), () -> "for " + unreadable);
    assertEquals("etcd is not at " + folder.resolve("etcd") + REMEDY, refusal(folder));
  }

  @ParameterizedTest
  @CsvSource({
    "3.4.20, 14370",
    "3.4.23, 15220",
    "3.5.0, 14370",
    "3.5.4, 14370",
    "3.5.5, 15220",
    "3.5.7, 15220",
    "3.5.8, 17507",
    "3.5.12, 17529",
    "3.5.15, 18089",
  })
  @DisplayName(
      "a release that loses writes, or misorders or drops what a watch sees, is refused for that defect")
  void refusedForADefect(String version, int issue) throws Exception {
    Path old = script("defective", "echo etcd Version: " + version);

    assertTrue(refusal(old).contains("(etcd-io/etcd#" + issue + ")"), refusal(old));
  }

  @ParameterizedTest
  @CsvSource({"3.5.16, ''", "3.6.16, ''", "3.6.0-rc.1, pre-release", "3.6.0-alpha.0, pre-release"})
  @DisplayName("releases without these defects are accepted, pre-releases are not")
  void acceptedOrNot(String version, String words) throws Exception {
    Path etcd = script("etcd", "echo etcd Version: " + version);

    if (words.isEmpty()) {
      assertEquals(version, EtcdBinary.find(etcd.toString()).version().toString());
    } else {
      assertTrue(refusal(etcd).contains(words), refusal(etcd));
    }
  }

  @Test
  @DisplayName("all releases with a defect are older than the oldest accepted release")
  void defectsAndOldest() {
    assertEquals(List.of(), EtcdDefect.of(EtcdVersion.OLDEST));
    EtcdVersion before = new EtcdVersion(3, 5, EtcdVersion.OLDEST.patch() - 1);
    assertEquals(List.of(EtcdDefect.DROPS_DELETIONS), EtcdDefect.of(before));
    // This release has no known defect, but is no longer maintained, and so is refused.
    assertEquals(List.of(), EtcdDefect.of(new EtcdVersion(3, 4, 44)));
  }

  @Test
  @DisplayName("the scripts fetch and accept no etcd that a node refuses")
  void scriptsAgree() throws Exception {
    Path script = Path.of(System.getProperty("polis.repository"), "launcher/script/etcd.sh");

    assertTrue(Files.readAllLines(script).contains("ETCD_OLDEST=" + EtcdVersion.OLDEST));
  }

  @Test
  @DisplayName("versions are compared by number, not by text")
  void versions() {
    assertTrue(new EtcdVersion(3, 5, 10).atLeast(new EtcdVersion(3, 5, 9)));
    assertTrue(new EtcdVersion(3, 10, 0).atLeast(new EtcdVersion(3, 9, 9)));
    assertEquals(
        new EtcdVersion(3, 6, 0),
        EtcdVersion.find("etcd Version: 3.6.0-rc.1\nGit SHA: x").orElseThrow());
    assertTrue(EtcdVersion.find("etcd version 3").isEmpty());
  }

  @Test
  @DisplayName("another build has another digest")
  void digests() throws Exception {
    EtcdBinary one = EtcdBinary.find(script("a", "echo etcd Version: 3.5.20").toString());
    EtcdBinary two = EtcdBinary.find(script("b", "echo etcd Version: 3.5.20 # b").toString());

    assertNotEquals(one.digest(), two.digest());
  }

  @Test
  @DisplayName("a program's version is queried once, and again for another build or damaged notes")
  void askedOnce() throws Exception {
    Path asked = folder.resolve("asked");
    String line = "echo x >>" + asked + "; echo etcd Version: 3.5.20";
    String program = script("c", line).toString();
    FilePlacement notes = new ConsensusFiles(Root.at(folder)).version();
    Files.createDirectories(notes.path().getParent());

    EtcdBinary first = EtcdBinary.find(program, notes);
    EtcdBinary second = EtcdBinary.find(program, notes);

    assertEquals(first, second);
    assertEquals(1, Files.readAllLines(asked).size());
    Files.writeString(notes.path(), "garbage");
    assertEquals(first, EtcdBinary.find(program, notes));
    assertEquals(2, Files.readAllLines(asked).size());
    script("c", line + "1");
    assertEquals(new EtcdVersion(3, 5, 201), EtcdBinary.find(program, notes).version());
    assertEquals(3, Files.readAllLines(asked).size());
  }

  private static String refusal(Path path) {
    return assertThrows(ConsensusException.class, () -> EtcdBinary.find(path.toString()))
        .getMessage();
  }

  private Path script(String name, String line) throws IOException {
    Path script = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + line + "\n");
    return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
