package dev.polis.ctl.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.ctl.CtlRun;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the commands that need no node: they make keys, and pack and inspect plugins. */
class PluginCommandTest {

  @TempDir Path folder;
  private Path bundle;
  private Path key;

  @BeforeEach
  void aBundleAndAKey() throws Exception {
    bundle = folder.resolve("backup.jar");
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", "org.example.backup");
    headers.putValue("Bundle-Version", "1.0.0");
    headers.putValue("Import-Package", "dev.polis.api.roles;version=\"[1.2,2)\"");
    try (OutputStream out = Files.newOutputStream(bundle);
        JarOutputStream jar = new JarOutputStream(out, manifest)) {
      jar.finish();
    }
    key = folder.resolve("release.pem");
    assertEquals(0, run("key", "make", key.toString()).code());
  }

  private static CtlRun run(String... arguments) {
    String[] all = new String[arguments.length + 1];
    all[0] = "plugin";
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    return CtlRun.of(all);
  }

  private CtlRun pack() {
    return run("pack", bundle.toString(), "--key", key.toString(), "--role", "NightlyBackup");
  }

  private String publicKey() {
    return PluginKeyFile.publicFile(key).toString();
  }

  @Test
  void keyMake_writesThePrivateKeyForTheOwnerAloneAndReplacesNone() throws Exception {
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(key)));
    assertTrue(Files.readString(Path.of(publicKey())).contains("BEGIN PUBLIC KEY"));
    String before = Files.readString(key);
    CtlRun again = run("key", "make", key.toString());
    assertEquals(1, again.code());
    assertTrue(again.err().contains("polisctl never replaces a key"), again.err());
    assertEquals(before, Files.readString(key));
  }

  @Test
  void pack_signsAndInspectShowsIt() {
    CtlRun packed = pack();
    assertEquals(0, packed.code(), packed.err());
    assertTrue(
        packed.out().startsWith("Packed org.example.backup:1.0.0 (role NightlyBackup)"),
        packed.out());
    CtlRun shown = run("inspect", bundle.toString(), "--key", publicKey());
    assertEquals(0, shown.code(), shown.err());
    assertTrue(shown.out().contains("plugin      org.example.backup:1.0.0\n"), shown.out());
    assertTrue(shown.out().contains("provides    role NightlyBackup\n"), shown.out());
    assertTrue(shown.out().contains("package     dev.polis.api.roles [1.2.0,2.0.0)"), shown.out());
    assertTrue(shown.out().matches("(?s).*signature   key [0-9a-f]{32}, good\n.*"), shown.out());
    CtlRun unchecked = run("inspect", bundle.toString());
    assertTrue(unchecked.out().contains("not checked: name the public key"), unchecked.out());
  }

  @Test
  void push_refusesABundleThatItsManifestWasNotMadeFor_andAsksNoNode() throws Exception {
    assertEquals(0, pack().code());
    byte[] bytes = Files.readAllBytes(bundle);
    bytes[bytes.length / 2] ^= 1;
    Files.write(bundle, bytes);
    CtlRun pushed = CtlRun.of("--endpoint=127.78.1.9", "plugin", "push", bundle.toString());
    assertEquals(1, pushed.code(), pushed.err());
    assertTrue(pushed.err().contains("fetch it again or pack it again"), pushed.err());
    assertTrue(pushed.err().contains(bundle.toString()), pushed.err());
  }

  @Test
  void push_ofABundleWithoutAManifest_namesTheCommandThatMakesOne() {
    CtlRun pushed = CtlRun.of("--endpoint=127.78.1.9", "plugin", "push", bundle.toString());
    assertEquals(1, pushed.code(), pushed.err());
    assertTrue(
        pushed.err().contains(bundle + ".plugin is not there; make its manifest with"),
        pushed.err());
    assertTrue(pushed.err().contains("polisctl plugin pack JAR --key FILE"), pushed.err());
  }

  @Test
  void pack_isJsonForPrograms() {
    CtlRun packed =
        CtlRun.of(
            "--output=json",
            "plugin",
            "pack",
            bundle.toString(),
            "--key=" + key,
            "--organ=backup",
            "--minimum-platform=0.1");
    assertEquals(0, packed.code(), packed.err());
    JsonObject row = JsonParser.parseString(packed.out()).getAsJsonObject();
    assertEquals("org.example.backup", row.get("name").getAsString());
    assertEquals("0.1.0", row.get("minimumPlatform").getAsString());
    assertEquals("organ backup", row.getAsJsonArray("provides").get(0).getAsString());
    assertEquals(bundle + ".plugin", row.get("manifest").getAsString());
  }

  @Test
  void pack_refusesWhatSaysNothingAndKeysThatAreNone() {
    CtlRun nothing = run("pack", bundle.toString(), "--key", key.toString());
    assertEquals(1, nothing.code());
    assertTrue(nothing.err().contains("does not declare what it provides"), nothing.err());
    CtlRun wrongKey =
        run("pack", bundle.toString(), "--key", publicKey(), "--role", "NightlyBackup");
    assertEquals(1, wrongKey.code());
    assertTrue(wrongKey.err().contains("is no private Ed25519 key"), wrongKey.err());
    CtlRun noKey = run("pack", bundle.toString(), "--key", folder + "/none", "--role", "A");
    assertEquals(4, noKey.code());
    assertTrue(noKey.err().contains("plugin key make"), noKey.err());
    CtlRun badName = run("pack", bundle.toString(), "--key", key.toString(), "--role", "nightly");
    assertEquals(1, badName.code());
    assertTrue(badName.err().contains("\"nightly\" is no role name"), badName.err());
    assertFalse(Files.exists(folder.resolve("backup.jar.plugin")));
  }

  @Test
  void inspect_saysNoToAChangedBundleAnUnsignedOneAndAnotherKey() throws Exception {
    CtlRun unsigned = run("inspect", bundle.toString());
    assertEquals(5, unsigned.code());
    assertTrue(unsigned.err().contains("has no manifest"), unsigned.err());
    pack();
    Path other = folder.resolve("other.pem");
    run("key", "make", other.toString());
    CtlRun stranger = run("inspect", bundle.toString(), "--key", other + ".pub");
    assertEquals(5, stranger.code());
    byte[] content = Files.readAllBytes(bundle);
    content[content.length - 1] ^= 1;
    Files.write(bundle, content);
    CtlRun changed = run("inspect", bundle.toString());
    assertEquals(5, changed.code());
    assertTrue(changed.err().contains("has the digest"), changed.err());
  }

  @Test
  void version_isThatOfThePlatform() {
    CtlRun version = CtlRun.of("--version");
    assertTrue(version.out().matches("polisctl [0-9]+\\.[0-9]+\\.[0-9]+.*\n"), version.out());
  }
}
