package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonPrimitive;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.Tier;
import dev.polis.pki.TlsTrust;
import dev.polis.process.ProgramPath;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.metatype.annotations.Designate;
import org.postgresql.Driver;

/** Builds the examples of plugins, and runs, swaps and removes them on a node. */
@Tag("longer")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ExamplePluginsIT {

  /** A usual number of clients for pgbench. */
  private static final int CLIENTS = 8;

  private static final String ADDRESS = "127.0.42.1";
  private static final String URL = "jdbc:postgresql://" + ADDRESS + ":5432/postgres";
  private static final String ROLE = "PostgreSQL";

  /** Swaps of the plugin under load. */
  private static final int SWAPS = Tier.isLong() ? 25 : 5;

  /** Requires the modules that the sources use; these require the rest. */
  private static final String MODULE =
      """
      module org.example.postgresql {
        requires dev.polis.api;
        requires dev.polis.base;
        requires dev.polis.health;
        requires dev.polis.process;
        requires java.sql;
        requires org.postgresql.jdbc;
        requires static org.osgi.service.component.annotations;
        requires static org.osgi.service.metatype.annotations;
      }
      """;

  @TempDir static Path directory;
  private static ExampleProjects projects;
  private static Path key;
  private static TestNode node;

  @BeforeAll
  static void start() throws Exception {
    projects = ExampleProjects.in(directory.resolve("outside"));
    key = directory.resolve("release.key");
    TestNode.bare(directory.resolve("none"), ADDRESS)
        .ctl("plugin", "key", "make", key.toString())
        .requireSuccess("no key");
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  @Order(1)
  @DisplayName("the example compiles on the module path, against the platform's modules")
  void compilesOnTheModulePath() throws Exception {
    Path descriptor = Files.writeString(directory.resolve("module-info.java"), MODULE);
    List<Path> sources =
        Stream.concat(projects.sources("postgresql-role").stream(), Stream.of(descriptor)).toList();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  said,
                  files,
                  null,
                  List.of(
                      "-proc:none",
                      "-d",
                      directory.resolve("modules").toString(),
                      "--module-path",
                      modulePath()),
                  null,
                  files.getJavaFileObjectsFromPaths(sources))
              .call();
      assertTrue(compiled, said::toString);
    }
  }

  private static String modulePath() throws URISyntaxException {
    return Stream.of(
            Distribution.built().folder().resolve("lib"),
            jarOf(Driver.class),
            jarOf(Component.class),
            jarOf(Designate.class))
        .map(Path::toString)
        .collect(Collectors.joining(":"));
  }

  private static Path jarOf(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  @Test
  @Tag("full")
  @Order(2)
  @DisplayName("an organ is replaced by one that was built outside, and the swap is rolled back")
  void replacesAnOrgan() throws Exception {
    buildAndStart();
    node.ctl("node", "role", "add", node.id(), "KubernetesController").requireSuccess("role");
    awaitSaid("this node has no Kubernetes API server, because");
    swap(projects.bundle("kubernetes-replacement"));
    awaitSaid("ask the operator of this cluster for its Kubernetes");
    node.ctl("plugin", "rollback").requireSuccess("rollback");
    awaitSaid("this node has no Kubernetes API server, because");
  }

  private static void awaitSaid(String message) throws Exception {
    SSLContext anybody = SSLContext.getInstance("TLS");
    anybody.init(null, new TrustManager[] {TlsTrust.anyKey()}, null);
    URI api = URI.create("https://" + ADDRESS + ":6444/version");
    try (HttpClient client = HttpClient.newBuilder().sslContext(anybody).build()) {
      Await.until(
          TestNode.PATIENCE,
          "the message to clients of Kubernetes: " + message,
          () -> said(client, api).contains(message));
    }
  }

  private static String said(HttpClient client, URI api) throws InterruptedException {
    try {
      return client.send(HttpRequest.newBuilder(api).build(), BodyHandlers.ofString()).body();
    } catch (IOException notNow) {
      return "";
    }
  }

  @Test
  @Tag("full")
  @Order(3)
  @DisplayName(
      "PostgreSQL answers while the node has the role, keeps its process and each transaction while"
          + " its plugin and the node's own process are replaced, and ends in order with the role")
  void runsPostgres() throws Exception {
    requirePrograms();
    buildAndStart();
    Path bundle = projects.bundle("postgresql-role");
    swap(bundle);
    assertFalse(answers(), "it runs although the record does not name it");
    changeRole("add");
    Await.until(TestNode.PATIENCE, "PostgreSQL to answer", ExamplePluginsIT::answers);
    awaitRuns("at first");
    long pid = pid();
    long committed;
    try (SqlLoad load = SqlLoad.start(URL, password(), CLIENTS)) {
      for (int swap = 1; swap <= SWAPS; swap++) {
        String when = "after swap " + swap;
        swap(signed(projects.anotherVersion(bundle, "1.0." + swap)));
        load.awaitMore(when);
        awaitRuns(when);
        assertEquals(pid, pid(), "PostgreSQL was restarted " + when);
      }
      node.ctl("plugin", "rollback").requireSuccess("rollback");
      load.awaitMore("after the rollback");
      awaitRuns("after the rollback");
      node.terminate();
      load.awaitMore("while no node runs");
      node.up();
      awaitRuns("after the restart");
      load.awaitMore("after the restart");
      assertEquals(pid, pid(), "PostgreSQL was restarted with the node");
      committed = load.committed();
    }
    assertBooksBalance(committed);

    try (Connection client = SqlLoad.connect(URL, password())) {
      assertTrue(client.isValid(20));
      changeRole("remove");
      Await.until(TestNode.PATIENCE, "PostgreSQL to end", () -> !alive(pid));
    }
    String log = Files.readString(node.state().resolve("ephemeral/processes/postgresql.log"));
    assertTrue(log.contains("received fast shutdown request"), log);
    assertTrue(log.contains("database system is shut down"), log);

    changeRole("add");
    Await.until(TestNode.PATIENCE, "PostgreSQL to answer again", ExamplePluginsIT::answers);
    assertBooksBalance(committed);
  }

  private static Path signed(Path bundle) {
    node.ctl("plugin", "pack", bundle.toString(), "--key", key.toString()).requireSuccess("pack");
    return bundle;
  }

  private static void swap(Path bundle) {
    node.ctl("plugin", "swap", bundle.toString()).requireSuccess("swap " + bundle);
  }

  private static void awaitRuns(String when) throws Exception {
    Await.until(TestNode.PATIENCE, "the role to run " + when, ExamplePluginsIT::runs);
  }

  /** Checks that no commit is lost or incomplete. */
  private static void assertBooksBalance(long committed) throws Exception {
    assertTrue(number("select count(*) from history") >= committed, "commits are lost");
    assertEquals(0, number("select (select sum(balance) from account) - sum(change) from history"));
    assertEquals(0, number("select (select sum(balance) from teller) - sum(change) from history"));
  }

  private static void requirePrograms() throws Exception {
    String debian = "/usr/lib/postgresql";
    assumeTrue(
        Files.isDirectory(Path.of(debian)) || ProgramPath.find("", List.of("postgres")).isPresent(),
        "running PostgreSQL needs Debian's package postgresql");
    if (Needs.isRoot() && !Files.isDirectory(Path.of(debian))) {
      Path program = ProgramPath.find("", List.of("postgres")).orElseThrow();
      for (Path above = program; above != null; above = above.getParent()) {
        assumeTrue(
            Files.getPosixFilePermissions(above).contains(PosixFilePermission.OTHERS_EXECUTE),
            "running PostgreSQL as another account needs its programs outside of a private folder");
      }
    }
  }

  /** Builds the examples with Maven and starts a node, once for all tests. */
  private static void buildAndStart() throws Exception {
    if (node != null) {
      return;
    }
    projects.build(key);
    // JUnit's folder allows one account only; if this is root, the server runs as another.
    Set<PosixFilePermission> passable = PosixFilePermissions.fromString("rwx--x--x");
    Files.setPosixFilePermissions(directory, passable);
    node = TestNode.member(directory.resolve("n"), ADDRESS, Mode.INSECURE);
    // Shortens the gate, in which health must stay good after a swap, since there are many swaps
    // here.
    node.up("--set", "dev.polis.plugins.healthy.ms=500");
    node.ctl("plugin", "trust", "add", "release", key + ".pub").requireSuccess("trust");
  }

  private static void changeRole(String verb) throws Exception {
    node.ctl("node", "role", verb, node.id(), ROLE).requireSuccess(verb + " " + ROLE);
  }

  private static Path folder() {
    return node.state().resolve("data/postgresql");
  }

  private static String password() throws Exception {
    return Files.readString(folder().resolve("password"));
  }

  private static boolean answers() {
    try {
      return Files.exists(folder().resolve("password")) && number("select 1") == 1;
    } catch (Exception notYet) {
      return false;
    }
  }

  private static boolean runs() throws Exception {
    return node.json("node", "list")
        .getAsJsonArray()
        .get(0)
        .getAsJsonObject()
        .getAsJsonArray("rolesRunning")
        .contains(new JsonPrimitive(ROLE));
  }

  private static long number(String query) throws Exception {
    try (Connection connection = SqlLoad.connect(URL, password());
        ResultSet found = connection.createStatement().executeQuery(query)) {
      if (!found.next()) {
        throw new SQLException("no row for " + query);
      }
      return found.getLong(1);
    }
  }

  /** Reads the process id that the server wrote. */
  private static long pid() throws Exception {
    return Long.parseLong(Files.readAllLines(folder().resolve("data/postmaster.pid")).getFirst());
  }

  private static boolean alive(long pid) {
    return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
  }
}
