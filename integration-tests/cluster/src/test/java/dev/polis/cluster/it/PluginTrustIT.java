package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.Finished;
import dev.polis.pki.RecoveryKey;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Swaps plugins with every kind of signature into a running node, through the command line. */
@Tag("full")
@TestMethodOrder(OrderAnnotation.class)
class PluginTrustIT {
  private static final String ORGAN = "dev.polis.metrics";
  private static final String NEWER = "0.1.1";
  private static final String ADDRESS = "127.0.41.1";

  /** The place of a test after which no command is accepted. */
  private static final int LAST = Integer.MAX_VALUE;

  @TempDir static Path directory;
  private static TestNode node;
  private static Path key;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.member(directory.resolve("n"), ADDRESS);
    node.up();
    key = directory.resolve("release.pem");
    assertEquals(0, node.ctl("plugin", "key", "make", key.toString()).code());
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  @Test
  @DisplayName(
      "unsigned, wrongly signed and changed plugins are refused with the reason; a trusted one runs, and"
          + " its key is not removed by mistake")
  void onlyTrustedPluginsRun() throws Exception {
    Path plugin = newer(directory.resolve("metrics.jar"));

    PluginPacker.write(
        plugin, DistributionManifest.of(PluginPacker.describe(plugin, PackOptions.NONE)));
    refused(plugin, "says that it came with the platform");

    assertEquals(0, node.ctl("plugin", "pack", plugin.toString(), "--key", key.toString()).code());
    refused(plugin, "which this cluster does not trust (it trusts no key)");

    Finished added = node.ctl("plugin", "trust", "add", "release", key + ".pub");
    assertEquals(0, added.code(), added.all());
    Path changed = changed(plugin);
    refused(changed, "has the digest");
    Path foreign = Files.copy(bundle(), directory.resolve("other.jar"));
    Files.copy(ManifestEnvelope.beside(plugin), ManifestEnvelope.beside(foreign));
    refused(foreign, "bytes, and the manifest of " + ORGAN + ":" + NEWER);
    assertEquals(List.of("0.1.0"), versions(), "a refused plugin was installed");

    Finished swapped = node.ctl("plugin", "swap", plugin.toString());
    assertEquals(0, swapped.code(), swapped.all() + "\n" + node.said());
    assertEquals(List.of(NEWER), versions());

    Finished kept = node.ctl("plugin", "trust", "remove", "release");
    assertEquals(1, kept.code(), kept.all());
    assertTrue(
        kept.all().contains(ORGAN + ":" + NEWER + " was signed with it and runs"), kept.all());
    assertEquals(0, node.ctl("plugin", "trust", "remove", "--force", "release").code());
    assertEquals(List.of(NEWER), versions(), "a running plugin keeps running without its key");
  }

  @Test
  @Order(LAST - 3)
  @Tag("attack")
  @DisplayName(
      "a colleague with the role viewer reads a running cluster and changes nothing, by the audit log under the own name and key; removed, it is refused")
  void aColleagueGetsAndLosesAccess() throws Exception {
    Path colleague = Files.createDirectories(directory.resolve("colleague/owner"));
    Path own = directory.resolve("alice.pem");
    assertEquals(0, node.ctl("operator", "key", own.toString()).code());
    Finished added =
        node.ctl("operator", "add", "alice", "--key", own.toString(), "--role", "viewer");
    assertEquals(0, added.code(), added.all());
    Files.copy(node.state().resolve("owner/ca.pem"), colleague.resolve("ca.pem"));

    Finished taken = byColleague("operator", "take", "alice", "--key", own.toString());

    assertEquals(0, taken.code(), taken.all());
    Await.until("the node to know the operator", () -> byColleague("node", "list").code() == 0);
    Finished denied = byColleague("cluster", "ticket", "show");
    assertEquals(1, denied.code(), denied.all());
    assertTrue(denied.all().contains("PERMISSION_GET_REGISTER_TICKET"), denied.all());
    Finished promoted = byColleague("operator", "role", "alice", "operator");
    assertEquals(1, promoted.code(), promoted.all());
    Finished audit = node.ctl("audit");
    assertTrue(audit.out().contains("user \"alice\" (viewer, key SHA256:"), audit.all());

    Finished removed = node.ctl("operator", "remove", "alice");

    assertEquals(0, removed.code(), removed.all());
    assertTrue(removed.out().contains("certificates revoked: 1"), removed.all());
    Await.until(
        "the removed operator to be refused",
        () -> byColleague("node", "list").all().contains("the cluster has no operator \"alice\""));
    Finished again = byColleague("operator", "take", "alice");
    assertEquals(1, again.code(), again.all());
    assertTrue(again.all().contains("no operator of this cluster has the name"), again.all());
  }

  private static Finished byColleague(String... arguments) throws Exception {
    return by("colleague", arguments);
  }

  @Test
  @Order(LAST - 2)
  @Tag("attack")
  @DisplayName(
      "the owner rotates the key of a running cluster; a copy of the former key opens nothing, and the audit log has the rotation")
  void ownersKeyIsRotated() throws Exception {
    Path owner = node.state().resolve("owner");
    Path copy = Files.createDirectories(directory.resolve("copy/owner"));
    for (String file : List.of("owner-key.pem", "owner.pem", "ca.pem")) {
      Files.copy(owner.resolve(file), copy.resolve(file));
    }

    Finished rotated = node.ctl("owner", "rotate");

    assertEquals(0, rotated.code(), rotated.all());
    assertNotEquals(
        Files.readString(copy.resolve("owner-key.pem")),
        Files.readString(owner.resolve("owner-key.pem")));
    Await.until(
        "the former certificate to be refused",
        () -> byCopy("cert", "list").all().contains("was revoked"));
    Finished again = byCopy("takeownership");
    assertEquals(1, again.code(), again.all());
    assertTrue(again.all().contains("this key is no longer the owner's"), again.all());
    Finished taken = byCopy("owner", "rotate");
    assertEquals(1, taken.code(), taken.all());
    assertEquals(
        List.of("PRESENT", "REVOKED"),
        node.json("cert", "list").getAsJsonArray().asList().stream()
            .map(JsonElement::getAsJsonObject)
            .filter(each -> each.get("kind").getAsString().equals("user"))
            .map(each -> each.get("state").getAsString())
            .toList());
    Finished audit = node.ctl("audit");
    assertTrue(audit.out().contains("polis.cluster.OwnerKeys/RotateOwnerKey"), audit.all());
  }

  @Test
  @Order(LAST - 1)
  @Tag("attack")
  @DisplayName(
      "the recovery key takes a running cluster back from a thief that has rotated the owner's key; the thief's opens nothing, and the audit log has the recovery")
  void ownersKeyIsRecovered() throws Exception {
    Path owner = node.state().resolve("owner");
    Path stolen = Files.createDirectories(directory.resolve("copy"));
    Path thiefs = Files.createDirectories(stolen.resolve("owner"));
    for (String file : List.of("owner-key.pem", "owner.pem", "ca.pem")) {
      Files.copy(owner.resolve(file), thiefs.resolve(file), StandardCopyOption.REPLACE_EXISTING);
    }
    Path safe = directory.resolve("recovery-key.pem");
    Files.copy(owner.resolve("recovery-key.pem"), safe);
    Path other =
        Files.writeString(directory.resolve("other-recovery-key.pem"), RecoveryKey.generate());
    assertEquals(0, byCopy("owner", "rotate").code());
    Finished late = node.ctl("owner", "rotate");
    assertNotEquals(0, late.code(), late.all());

    Finished wrong = byCopy("owner", "recover", "--recovery-key", other.toString());
    Finished recovered = node.ctl("owner", "recover", "--recovery-key", safe.toString());

    assertEquals(5, wrong.code(), wrong.all());
    assertTrue(wrong.all().contains("is not the recovery key of this cluster"), wrong.all());
    assertEquals(0, recovered.code(), recovered.all());
    Await.until(
        "the thief's certificate to be refused",
        () -> byCopy("cert", "list").all().contains("was revoked"));
    Finished again = byCopy("takeownership");
    assertEquals(1, again.code(), again.all());
    assertTrue(again.all().contains("this key is no longer the owner's"), again.all());
    assertNotEquals(0, byCopy("owner", "rotate").code());
    assertEquals(
        1,
        node.json("cert", "list").getAsJsonArray().asList().stream()
            .map(JsonElement::getAsJsonObject)
            .filter(each -> each.get("kind").getAsString().equals("user"))
            .filter(each -> each.get("state").getAsString().equals("PRESENT"))
            .count());
    Finished audit = node.ctl("audit");
    assertTrue(audit.out().contains("polis.cluster.OwnerKeys/RecoverOwnerKey"), audit.all());
  }

  /** Runs a command with the copy of the owner's files. */
  private static Finished byCopy(String... arguments) throws Exception {
    return by("copy", arguments);
  }

  private static Finished by(String folder, String... arguments) throws Exception {
    List<String> words = new ArrayList<>(List.of("--endpoint=" + ADDRESS));
    words.addAll(List.of(arguments));
    return TestNode.finish(
        Distribution.built().ctl(directory.resolve(folder), words.toArray(String[]::new)),
        Map.of());
  }

  @Test
  @Order(LAST)
  @Tag("attack")
  @DisplayName(
      "the certificates of a running cluster are listed; its only node keeps its own, and a revoked owner is refused for good")
  void certificatesAreListedAndRevoked() throws Exception {
    List<JsonObject> all =
        node.json("cert", "list").getAsJsonArray().asList().stream()
            .map(JsonElement::getAsJsonObject)
            .filter(each -> each.get("state").getAsString().equals("PRESENT"))
            .toList();
    assertEquals(
        List.of("node", "user"), all.stream().map(each -> each.get("kind").getAsString()).toList());
    String self = all.getFirst().get("holder").getAsString();
    String serial = all.getLast().get("serial").getAsString();

    Finished needed = node.ctl("cert", "revoke", "--node", self, "--force");
    assertEquals(1, needed.code(), needed.all());
    assertTrue(needed.all().contains("is the only ConsensusMember"), needed.all());
    Finished asked = node.ctl("cert", "revoke", "--serial", serial);
    assertEquals(1, asked.code(), asked.all());
    assertTrue(asked.all().contains("repeat the call with force"), asked.all());

    node.ctl("cert", "revoke", "--serial", serial, "--force");
    Await.until(
        "the revoked owner to be refused",
        () -> node.ctl("cert", "list").all().contains("was revoked"));
    Finished again = node.ctl("takeownership");
    assertNotEquals(0, again.code(), again.all());
    assertTrue(again.all().contains("the owner gets no certificate"), again.all());
  }

  private static void refused(Path plugin, String why) {
    Finished swap = node.ctl("plugin", "swap", plugin.toString());
    assertEquals(1, swap.code(), swap.all());
    assertTrue(swap.all().contains(why), swap.all());
  }

  private static List<String> versions() throws Exception {
    return node.json("bundle", "list").getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(bundle -> bundle.get("name").getAsString().equals(ORGAN))
        .map(bundle -> bundle.get("version").getAsString())
        .toList();
  }

  private static Path bundle() throws IOException {
    try (Stream<Path> jars = Files.list(Distribution.built().folder().resolve("bundles"))) {
      return jars.filter(jar -> jar.getFileName().toString().startsWith(ORGAN))
          .findFirst()
          .orElseThrow(() -> new AssertionError("the distribution has no " + ORGAN));
    }
  }

  /** Writes the organ's bundle again with a newer version. */
  private static Path newer(Path to) throws IOException {
    try (JarFile from = new JarFile(bundle().toFile())) {
      Manifest manifest = from.getManifest();
      manifest.getMainAttributes().putValue("Bundle-Version", NEWER);
      try (OutputStream file = Files.newOutputStream(to);
          JarOutputStream jar = new JarOutputStream(file, manifest)) {
        for (JarEntry entry : Collections.list(from.entries())) {
          if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
            jar.putNextEntry(new JarEntry(entry.getName()));
            from.getInputStream(entry).transferTo(jar);
          }
        }
      }
    }
    return to;
  }

  /** Copies a plugin and changes one byte of its bundle. */
  private static Path changed(Path plugin) throws IOException {
    Path copy = directory.resolve("changed.jar");
    byte[] content = Files.readAllBytes(plugin);
    content[content.length / 2] ^= 1;
    Files.write(copy, content);
    Files.copy(ManifestEnvelope.beside(plugin), ManifestEnvelope.beside(copy));
    return copy;
  }
}
