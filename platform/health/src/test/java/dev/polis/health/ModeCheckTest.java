package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModeCheckTest {

  @TempDir private Path state;

  private static final String USER = System.getProperty("user.name");

  @Test
  @DisplayName("all keys with more rights than their own are named, with one command that ends it")
  void open() throws Exception {
    ModeCheck check = new ModeCheck(Root.at(state));
    assertEquals(Optional.empty(), check.look(), "a missing file has no mode");
    Path node = file("data/node/credentials/cert-key.pem");
    file("data/node/credentials/cert.pem");
    assertEquals(Optional.empty(), check.look(), "a certificate is for all");
    Path peer = file("data/etcd/peer_pki/key.pem");
    Path sealed = file("esp/sealed_configuration.pb");
    Path owner = file("owner/owner-key.pem");

    for (Path each : new Path[] {node, peer, sealed, owner}) {
      mode(each, "rw-r--r--");
    }
    HealthCondition told = check.look().orElseThrow();
    assertEquals(
        "only the folders above can keep other accounts from the keys of this node, as after a restore without modes: %s (rw-r--r--), %s (rw-r--r--), %s (rw-r--r--), %s (rw-r--r--)"
            .formatted(peer, node, sealed, owner),
        told.reason());
    assertEquals(
        "chmod 600 %s %s %s %s;".formatted(peer, node, sealed, owner),
        told.remedy().replaceFirst("(?<=;).*", ""));

    mode(peer, "r--------");
    mode(node, "rw-------");
    mode(sealed, "rw-------");
    mode(owner, "rw-rw----");
    assertEquals(
        "only the folders above can keep other accounts from the keys of this node: %s (rw-rw----)"
            .formatted(owner),
        check.look().orElseThrow().reason());
    mode(owner, "r--------");
    assertEquals(Optional.empty(), check.look(), "fewer rights give no other account access");
  }

  @Test
  @DisplayName("files of another user in esp/ are named with the command that gives them back")
  void ofAnotherUser() throws Exception {
    Path sealed = file("esp/sealed_configuration.pb");
    int self = (int) Files.getAttribute(sealed, "unix:uid");
    assertEquals(Optional.empty(), new ModeCheck(Root.at(state), () -> self).look());
    Files.setAttribute(sealed, "unix:uid", self == 0 ? 65534 : self);

    HealthCondition told = new ModeCheck(Root.at(state), () -> self + 1).look().orElseThrow();

    assertTrue(told.reason().endsWith("the next start refuses: " + sealed), told::reason);
    assertTrue(told.remedy().startsWith("chown -R %s %s,".formatted(USER, state)), told::remedy);
  }

  private Path file(String name) throws Exception {
    Path file = state.resolve(name);
    Files.createDirectories(file.getParent());
    Files.write(file, new byte[] {1});
    mode(file, name.endsWith("cert.pem") ? "rw-r--r--" : "rw-------");
    return file;
  }

  private static void mode(Path file, String mode) throws Exception {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
  }
}
