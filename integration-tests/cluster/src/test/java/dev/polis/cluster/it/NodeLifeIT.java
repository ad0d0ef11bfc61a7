package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.NodeProcesses;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.PublicKey;
import java.security.cert.CertificateExpiredException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Leads one node through its life, as its operator sees it. After each test the node is HOME as the
 * same node, for the next test.
 */
class NodeLifeIT {

  private static final String ADDRESS = "127.0.21.1";

  /** The prefix of the curator's records in etcd. */
  private static final String RECORDS = "namespaced:curator/";

  /**
   * The permissions that a file with a secret must not have, with any permissions of its folder.
   */
  private static final Set<PosixFilePermission> OTHERS =
      Set.of(PosixFilePermission.GROUP_READ, PosixFilePermission.OTHERS_READ);

  @TempDir static Path directory;
  private static TestNode node;
  private static String id;
  private static String saidOfBootstrap;

  @BeforeAll
  static void create() throws Exception {
    node = TestNode.prepared(directory.resolve("n"), ADDRESS);
    node.up("--log", "=INFO");
    node.ctlProgram("takeownership").requireSuccess("takeownership");
    node.ctlProgram("health", "--wait", "30").requireSuccess("health");
    saidOfBootstrap = node.said() + node.ctl("node", "logs").out();
    id = node.id();
    assertEquals(
        StorageModesIT.Mode.of(node.state()).encrypted(),
        saidOfBootstrap.contains(RecoveryKeyIT.BESIDE),
        saidOfBootstrap);
  }

  @AfterAll
  static void sweep() {
    node.close();
  }

  @Test
  @DisplayName("SEED-18 a node that is HOME is listed, and a stopped one leaves nothing behind")
  void aNodeComesHomeAndLeavesNothing() throws Exception {
    // The previous test may have just restarted the node, which then reports health and roles anew.
    AtomicReference<JsonObject> last = new AtomicReference<>(new JsonObject());
    Await.until(
        TestNode.PATIENCE,
        "the node to be listed as healthy, with the roles that it runs",
        () -> {
          last.set(listed());
          return last.get().get("health").getAsString().equals("HEALTHY")
              && last.get().get("rolesRunning").toString().contains("ConsensusMember");
        },
        () -> "it is listed as " + last.get());
    JsonObject shown = last.get();
    assertEquals("UP", shown.get("state").getAsString());
    assertEquals("HEALTHY", shown.get("health").getAsString());
    assertEquals(ADDRESS, shown.get("address").getAsString());
    assertEquals(
        "[\"ConsensusMember\",\"KubernetesController\"]", shown.get("rolesWanted").toString());
    assertEquals("[\"ConsensusMember\"]", shown.get("rolesRunning").toString());
    assertTrue(recordsInEtcd().contains(RECORDS + "/nodes/" + id));
    Finished down = node.down();
    assertEquals(0, down.code(), down.all());
    assertEquals(List.of(), node.leftovers());
    upFromNothing();
    assertEquals(id, node.id());
  }

  private static JsonObject listed() throws Exception {
    Finished list = node.ctlProgram("node", "list", "-o", "json");
    assertEquals(0, list.code(), list.all());
    JsonArray nodes = JsonParser.parseString(list.out()).getAsJsonArray();
    assertEquals(1, nodes.size());
    return nodes.get(0).getAsJsonObject();
  }

  /** Starts with the volume unmounted; an encrypted one needs the owner's key. */
  private static void upFromNothing() throws Exception {
    node.up("--recovery-key", node.state().resolve("owner/recovery-key.pem").toString());
  }

  private static String recordsInEtcd() throws Exception {
    List<String> command = etcdctl();
    command.set(command.size() - 1, "");
    return run(command);
  }

  /** Reads etcd with the same command line that the operator gets. */
  private static List<String> etcdctl() throws Exception {
    JsonObject status = node.json("etcd", "status").getAsJsonArray().get(0).getAsJsonObject();
    List<String> command =
        new ArrayList<>(Arrays.asList(status.get("etcdctl").getAsString().split(" ")));
    command.set(0, EtcdBinary.folder().resolve("etcdctl").toString());
    return command;
  }

  private static String run(List<String> etcdctl) throws Exception {
    return TestNode.finish(etcdctl, Map.of("ETCDCTL_API", "3")).requireSuccess("etcdctl").out();
  }

  @Test
  @DisplayName("kill -9 of the JVM: the same node, and etcd keeps its PID")
  void jvmKilled() throws Exception {
    long etcd = node.etcd().pid();
    node.killJvm();
    assertTrue(node.etcd().isAlive());
    node.up();
    assertEquals(id, node.id());
    assertEquals(etcd, node.etcd().pid());
  }

  @Test
  @DisplayName("kill -9 of etcd: it is restarted, and the node is the same")
  void etcdKilled() throws Exception {
    ProcessHandle old = node.etcd();
    old.destroyForcibly();
    old.onExit().get();
    Await.until(
        TestNode.PATIENCE,
        "another etcd to run and the cluster to be healthy after etcd was killed",
        () -> !node.children("etcd").isEmpty() && node.ctl("health").code() == 0);
    assertNotEquals(old.pid(), node.etcd().pid());
    assertEquals(id, node.id());
  }

  /** There may be no file for a moment, since a damaged one is moved away first. */
  private static boolean holds(Path file, byte[] content) throws IOException {
    try {
      return Arrays.equals(content, Files.readAllBytes(file));
    } catch (NoSuchFileException moved) {
      return false;
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("D-05 no secret of a whole bootstrap is in any log or on the screen")
  void noSecretIsPrinted() throws Exception {
    assertTrue(
        saidOfBootstrap.contains("Cluster enrolment done."),
        "the log is not there: " + saidOfBootstrap);
    Secrets secrets =
        new Secrets()
            .addKeysBelow(node.state())
            .addSealedConfiguration(node.state())
            .add("cluster unlock key", clusterUnlockKey());
    try (OwnerApi owner = OwnerApi.of(node)) {
      secrets.add("register ticket", owner.registerTicket());
    }
    assertTrue(
        secrets
            .names()
            .containsAll(
                Set.of(
                    "owner/owner-key.pem",
                    "owner/recovery-key.pem",
                    "node unlock key",
                    "cluster unlock key",
                    "join key",
                    "register ticket")),
        "the searched secrets: " + secrets.names());
    assertEquals(List.of(), secrets.foundIn(saidOfBootstrap));
  }

  /** Reads the cluster's half of the volume key from the node's record in etcd. */
  private static byte[] clusterUnlockKey() throws Exception {
    byte[] record = recordsBelow("/nodes/").get(RECORDS + "/nodes/" + id);
    return dev.polis.wire.curator.stored.Node.parseFrom(record).getClusterUnlockKey().toByteArray();
  }

  /** Returns the curator's records whose keys begin with the prefix, by their keys in etcd. */
  private static Map<String, byte[]> recordsBelow(String prefix) throws Exception {
    List<String> command = etcdctl();
    command.remove("--keys-only");
    command.set(command.size() - 1, RECORDS + prefix);
    command.add("--write-out=json");
    Map<String, byte[]> stored = new HashMap<>();
    JsonParser.parseString(run(command)).getAsJsonObject().getAsJsonArray("kvs").asList().stream()
        .map(JsonElement::getAsJsonObject)
        .forEach(
            entry ->
                stored.put(
                    new String(bytes(entry, "key"), StandardCharsets.UTF_8),
                    bytes(entry, "value")));
    return stored;
  }

  @Test
  @Tag("attack")
  @DisplayName("no file that another user may read, and no command line, contains a secret")
  void otherUsersReadNoSecret() throws Exception {
    Secrets secrets =
        new Secrets()
            .addKeysBelow(node.state())
            .addSealedConfiguration(node.state())
            .add("cluster unlock key", clusterUnlockKey());
    List<String> found = new ArrayList<>();
    int searched = 0;
    for (Path file : LiveTree.bottomUp(node.state())) {
      try {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
            || Collections.disjoint(OTHERS, Files.getPosixFilePermissions(file))) {
          continue;
        }
        searched++;
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        secrets.foundIn(text).forEach(secret -> found.add(file + ": " + secret));
      } catch (NoSuchFileException gone) {
        // A running node replaces its files, so one may disappear.
      }
    }
    for (ProcessHandle process :
        List.of(ProcessHandle.of(node.jvmPid()).orElseThrow(), node.etcd())) {
      String line = NodeProcesses.commandLine(process);
      assertFalse(line.isEmpty(), "the command line of " + process.pid());
      secrets.foundIn(line).forEach(secret -> found.add(line + ": " + secret));
    }
    System.out.printf("%d files that others may read were searched%n", searched);
    assertEquals(List.of(), found);
  }

  @Test
  @Tag("full")
  @DisplayName(
      "SIGTERM leaves etcd to the next process; bundles that were deleted, cut off and garbled meanwhile, a damaged revocation list and an expired certificate are restored by the start")
  void damagedWhileDown() throws Exception {
    int bundles = node.json("bundle", "list").getAsJsonArray().size();
    CertificateAuthority authority = clusterAuthority();
    long etcd = node.etcd().pid();
    assertEquals(0, node.terminate(), node.said());
    assertEquals(etcd, node.etcd().pid());
    List<Path> files = damageBundles();
    Path list = credential("revocations.crl");
    byte[] kept = Files.readAllBytes(list);
    Files.write(list, new byte[] {1, 2, 3});
    Path certificate = credential("cert.pem");
    expire(certificate, authority);

    node.up();

    assertEquals(etcd, node.etcd().pid());
    assertFalse(node.said().contains("FATAL ERROR"), node.said());
    Await.until(TestNode.PATIENCE, "the certificate to be renewed", () -> valid(certificate));
    Await.until(
        TestNode.PATIENCE,
        "the list to be written anew and members to be served",
        () -> holds(list, kept) && node.ctl("health").code() == 0);
    assertEquals(id, node.id());
    assertEquals(bundles, node.json("bundle", "list").getAsJsonArray().size());
    for (JsonElement bundle : node.json("bundle", "list").getAsJsonArray()) {
      assertEquals("ACTIVE", bundle.getAsJsonObject().get("state").getAsString(), bundle::toString);
    }
    for (Path file : files) {
      assertTrue(Files.exists(file), file + " is not restored");
    }
  }

  /** Deletes, cuts off and garbles a bundle of the plugin store, and returns all of them. */
  private static List<Path> damageBundles() throws IOException {
    List<Path> files = storedBundles();
    Files.delete(files.get(0));
    Files.write(files.get(1), Arrays.copyOf(Files.readAllBytes(files.get(1)), 100));
    byte[] garbled = Files.readAllBytes(files.get(2));
    Arrays.fill(garbled, garbled.length / 2, garbled.length / 2 + 100, (byte) 0x5a);
    Files.write(files.get(2), garbled);
    // A start deletes the framework's own cache without reading it.
    Path cache = node.state().resolve("ephemeral/launcher/framework/bundle0");
    Files.write(Files.createDirectories(cache).resolve("bundle.id"), garbled);
    return files;
  }

  private static List<Path> storedBundles() throws IOException {
    try (Stream<Path> all = Files.list(node.state().resolve("plugins/files"))) {
      return all.sorted().toList();
    }
  }

  /** Replaces a node's certificate with one that its cluster's authority issued ten days ago. */
  private static void expire(Path certificate, CertificateAuthority past) throws Exception {
    PublicKey key = Pem.certificate(Files.readString(certificate)).getPublicKey();
    X509Certificate expired =
        past.issue(CertificateTemplate.node(NodeId.of(key)).withLifetime(Duration.ofDays(1)), key);
    assertThrows(CertificateExpiredException.class, expired::checkValidity);
    Files.writeString(certificate, Pem.encode(expired));
  }

  private static boolean valid(Path certificate) throws Exception {
    try {
      return Pem.certificate(Files.readString(certificate)).getNotAfter().after(new Date());
    } catch (NoSuchFileException e) {
      // It is being replaced at this moment: on an encrypted volume, the test does not see this as
      // atomic.
      return false;
    }
  }

  private static Path credential(String name) {
    return node.state().resolve("data/node/credentials").resolve(name);
  }

  /** Returns the cluster's authority with a clock of ten days ago, and its key from etcd. */
  private static CertificateAuthority clusterAuthority() throws Exception {
    String prefix = "/cluster-pki/";
    Map<String, byte[]> stored = recordsBelow(prefix);
    X509Certificate ca = Pem.certificate(Files.readString(credential("ca.pem")));
    String name =
        stored.entrySet().stream()
            .filter(entry -> Arrays.equals(entry.getValue(), Pem.der(ca)))
            .map(entry -> entry.getKey().replaceAll(".*/issued/(.*)-cert.der", "$1"))
            .findFirst()
            .orElseThrow();
    InstantSource past = InstantSource.fixed(Instant.now().minus(Duration.ofDays(10)));
    return new CertificateAuthority(
        Ed25519.privateKey(stored.get(RECORDS + prefix + "keys/" + name + "-privkey.bin")),
        ca,
        past);
  }

  private static byte[] bytes(JsonObject entry, String field) {
    return Base64.getDecoder().decode(entry.get(field).getAsString());
  }

  @Test
  @Tag("full")
  @DisplayName(
      "files of the plugin store that are deleted while the node runs are named, and restored as it is said")
  void bundlesDeletedMeanwhile() throws Exception {
    List<Path> files = storedBundles();
    for (Path file : files) {
      Files.delete(file);
    }
    Await.until(
        TestNode.PATIENCE,
        "health to say that files of the plugin store are missing",
        () -> node.ctl("health").out().contains("plugin-store-damaged"));
    String told = node.ctl("health").out();
    assertTrue(files.stream().anyMatch(file -> told.contains(file.toString())), told);
    assertTrue(told.contains("polisctl node restart --runtime"), told);
    String refused = node.ctl("bundle", "stop", "dev.polis.metrics").err();
    assertTrue(refused.contains("polisctl node restart --runtime"), refused);
    assertFalse(refused.contains("plugin pack"), refused);

    node.ctl("node", "restart", "--runtime").requireSuccess("node restart --runtime");

    for (Path file : files) {
      assertTrue(Files.exists(file), file + " is not restored");
    }
    node.ctl("health", "--wait", "60").requireSuccess("health after the restart");
    String after = node.ctl("health").out();
    assertFalse(after.contains("plugin-store-damaged"), after);
    node.ctl("bundle", "stop", "dev.polis.metrics").requireSuccess("bundle stop");
    node.ctl("bundle", "start", "dev.polis.metrics").requireSuccess("bundle start");
  }
}
