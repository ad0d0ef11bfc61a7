package dev.polis.ctl.owner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.CtlRun;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.PublicKey;
import java.util.HexFormat;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the commands for operators as far as they ask no node. */
class OperatorCommandTest {

  @TempDir Path directory;

  @Test
  @DisplayName("a new key is for its user alone, is shown for the owner, and replaces no file")
  void key() throws Exception {
    Path file = directory.resolve("alice.pem");

    CtlRun made = CtlRun.of("operator", "key", file.toString());

    assertEquals(0, made.code(), made::toString);
    PublicKey key = Ed25519.publicKey(OwnerKeyFile.read(file, ""));
    String text = HexFormat.of().formatHex(Ed25519.raw(key));
    assertTrue(made.out().contains("--key " + text), made.out());
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    CtlRun again = CtlRun.of("operator", "key", file.toString());
    assertEquals(1, again.code());
    assertTrue(again.err().contains("never replaces a key"), again.err());
    assertEquals(key, Ed25519.publicKey(OwnerKeyFile.read(file, "")));
  }

  @Test
  @DisplayName("a public key is given as digits, as its file, or as the file of the private one")
  void publicKeys() throws Exception {
    Path file = directory.resolve("alice.pem");
    PublicKey key = OwnerKeyFile.make(file);
    Path half = Files.writeString(directory.resolve("alice.pub"), Pem.encode(key));

    assertEquals(key, OwnerKeyFile.publicKey(HexFormat.of().formatHex(Ed25519.raw(key))));
    assertEquals(key, OwnerKeyFile.publicKey(half.toString()));
    assertEquals(key, OwnerKeyFile.publicKey(file.toString()));
  }

  @Test
  @DisplayName(
      "a wrong role or key is refused with the value and the remedy, before any node is asked")
  void wrongArguments() throws Exception {
    Path file = directory.resolve("alice.pem");
    OwnerKeyFile.make(file);
    String state = "--state=" + directory;

    CtlRun owner =
        CtlRun.of(state, "operator", "add", "bob", "--key", file.toString(), "--role", "owner");
    assertEquals(2, owner.code(), owner::toString);
    assertTrue(owner.err().contains("owner rotate"), owner.err());
    CtlRun unknown = CtlRun.of(state, "operator", "role", "bob", "boss");
    assertEquals(2, unknown.code(), unknown::toString);
    assertTrue(
        unknown.err().contains("the role \"boss\" is unknown; it is viewer or operator"),
        unknown.err());
    CtlRun missing =
        CtlRun.of(state, "operator", "add", "bob", "--key", "1234", "--role", "viewer");
    assertEquals(4, missing.code(), missing::toString);
    assertTrue(missing.err().contains("64 hexadecimal digits"), missing.err());
  }
}
