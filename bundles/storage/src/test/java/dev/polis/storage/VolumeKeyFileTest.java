package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.fixtures.Needs;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VolumeKeyFileTest {

  @TempDir Path folder;
  private VolumeKey key;
  private Path target;
  private Path path;

  /** Makes a folder that holds a file of the node's user in place of the key. */
  @BeforeEach
  void prepare() throws Exception {
    key = VolumeKey.of(UnlockKeys.generate(new SecureRandom()));
    target = Files.writeString(folder.resolve("target"), "precious");
    path = Files.createDirectory(folder.resolve("polis-a1")).resolve("key");
    Files.setPosixFilePermissions(path.getParent(), PosixFilePermissions.fromString("rwx------"));
    Files.createLink(path, target);
  }

  @AfterEach
  void wipeKey() {
    key.close();
  }

  @Test
  @Tag("attack")
  @DisplayName("a folder that another user prepared gets no key, and nothing in it is overwritten")
  void anotherUsers() throws Exception {
    Needs.root("giving a folder to another user");
    Files.setAttribute(path.getParent(), "unix:uid", 65534);

    assertLeftAlone();
  }

  @Test
  @Tag("attack")
  @DisplayName("a folder that others may write to gets no key, and nothing in it is overwritten")
  void open() throws Exception {
    Files.setPosixFilePermissions(path.getParent(), PosixFilePermissions.fromString("rwxrwxrwx"));

    assertLeftAlone();
  }

  @Test
  @DisplayName("a leftover key is replaced, and deleted with its folder")
  void left() throws Exception {
    try (VolumeKeyFile _ = VolumeKeyFile.write(path, key)) {
      assertEquals(new String(key.passphrase(), StandardCharsets.US_ASCII), Files.readString(path));
    }
    assertFalse(Files.exists(path.getParent()));
  }

  private void assertLeftAlone() throws Exception {
    VolumeKeyFile.wipe(path);
    FileException refusal =
        assertThrows(FileException.class, () -> VolumeKeyFile.write(path, key).close());
    assertEquals(Problem.DENIED, refusal.problem());
    assertEquals("precious", Files.readString(target));
    assertTrue(Files.exists(path), "the file of another user was removed");
  }
}
