package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonPrimitive;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.Needs;
import dev.polis.process.ProgramPath;
import java.io.StringWriter;
import java.net.URISyntaxException;
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
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.metatype.annotations.Designate;
import org.postgresql.Driver;

/** Builds the example of a role, and runs its PostgreSQL on a node. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class PostgresRoleIT {

  /** As many clients as pgbench is often run with. */
  private static final int CLIENTS = 8;

  private static final String ADDRESS = "127.0.31.1";
  private static final String URL = "jdbc:postgresql://" + ADDRESS + ":5432/postgres";
  private static final String ROLE = "PostgreSQL";
  private static final String PLUGIN = "org.example.postgresql";

  /** Requires what the sources use; the rest is required by what it requires. */
  private static final String MODULE =
      """
      module org.example.postgresql {
        requires dev.polis.api;
        requires dev.polis.config;
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
  private static List<Path> bundles;
  private static TestNode node;

  @BeforeAll
  static void start() throws Exception {
    projects = ExampleProjects.in(directory.resolve("outside"));
    bundles = projects.build();
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
  @Order(2)
  @DisplayName(
      "PostgreSQL answers while the node has the role, keeps its process and each transaction while"
          + " the node's own process is replaced, and ends in order with the role")
  void runsPostgres() throws Exception {
    requirePrograms();
    startNode();
    changeRole("add");
    Await.until(TestNode.PATIENCE, "PostgreSQL to answer", PostgresRoleIT::answers);
    Await.until(TestNode.PATIENCE, "the role to run", PostgresRoleIT::runs);
    long pid = pid();
    long committed;
    try (SqlLoad load = SqlLoad.start(URL, password(), CLIENTS)) {
      load.awaitMore("at first");
      node.terminate();
      load.awaitMore("while no node runs");
      node.up();
      Await.until(TestNode.PATIENCE, "the role to run again", PostgresRoleIT::runs);
      load.awaitMore("after the restart");
      assertEquals(pid, pid(), "PostgreSQL was restarted with the node");
      committed = load.committed();
    }
    assertBooksBalance(committed);

    try (Connection client = SqlLoad.connect(URL, password())) {
      assertTrue(client.isValid(1));
      changeRole("remove");
      Await.until(TestNode.PATIENCE, "PostgreSQL to end", () -> !alive(pid));
    }
    String log = Files.readString(node.state().resolve("ephemeral/processes/postgresql.log"));
    assertTrue(log.contains("received fast shutdown request"), log);
    assertTrue(log.contains("database system is shut down"), log);

    changeRole("add");
    Await.until(TestNode.PATIENCE, "PostgreSQL to answer again", PostgresRoleIT::answers);
    assertBooksBalance(committed);
  }

  /** Checks that no commit is lost, and that none is there by half. */
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

  private static void startNode() throws Exception {
    // JUnit's folder is for one account alone; the server runs as another where this is root.
    Set<PosixFilePermission> passable = PosixFilePermissions.fromString("rwx--x--x");
    Files.setPosixFilePermissions(directory, passable);
    TestDistribution distribution = TestDistribution.copied(directory.resolve("distribution"));
    distribution.add(PLUGIN, "1.0.0", bundles.getLast());
    node = TestNode.prepared(directory.resolve("n"), ADDRESS).with(distribution.folder());
    node.up("--security", "insecure");
    node.takeOwnership();
    assertFalse(answers(), "it runs although the record does not name it");
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
