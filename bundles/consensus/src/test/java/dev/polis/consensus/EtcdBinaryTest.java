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
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EtcdBinaryTest {

  private static final String REMEDY = "; set etcd of dev.polis.consensus to etcd 3.5.0 or newer";

  @TempDir Path folder;

  @Test
  @DisplayName("the real one is found by its path and by its directory")
  void found() throws Exception {
    String directory = ConsensusHarness.etcd();

    EtcdBinary byDirectory = EtcdBinary.find(directory);
    EtcdBinary byPath = EtcdBinary.find(directory + "/etcd");

    assertEquals(byDirectory, byPath);
    assertTrue(byPath.version().atLeast(EtcdVersion.OLDEST), byPath::toString);
    assertEquals(64, byPath.digest().length());
  }

  @Test
  @DisplayName("what is missing, not executable, not etcd, or too old is refused in words")
  void refused() throws Exception {
    Path absent = folder.resolve("nowhere");
    Path text = Files.writeString(folder.resolve("text"), "hello");
    Path other = script("other", "echo hello");
    Path old = script("old", "echo 'etcd Version: 3.4.23'; echo 'Go Version: go1.12'");
    Path unreadable = script("broken", "exit 1");

    assertEquals("etcd is not at " + absent + REMEDY, refusal(absent));
    assertEquals(text + " is not an executable file, so it cannot be etcd" + REMEDY, refusal(text));
    assertEquals(
        other + " is not etcd: asked for its --version it printed \"hello\"" + REMEDY,
        refusal(other));
    assertEquals(old + " is etcd 3.4.23, older than 3.5.0" + REMEDY, refusal(old));
    assertTrue(refusal(unreadable).contains("it printed \"\""), () -> "for " + unreadable);
    assertEquals("etcd is not at " + folder.resolve("etcd") + REMEDY, refusal(folder));
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
    EtcdBinary one = EtcdBinary.find(script("a", "echo etcd Version: 3.5.1").toString());
    EtcdBinary two = EtcdBinary.find(script("b", "echo etcd Version: 3.5.1 # b").toString());

    assertNotEquals(one.digest(), two.digest());
  }

  @Test
  @DisplayName("a program is asked once; another build, or notes that are damaged, are asked again")
  void askedOnce() throws Exception {
    Path asked = folder.resolve("asked");
    String line = "echo x >>" + asked + "; echo etcd Version: 3.5.1";
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
    assertEquals(new EtcdVersion(3, 5, 11), EtcdBinary.find(program, notes).version());
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
