package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.RoleName;
import dev.polis.fixtures.Await;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;

/** Runs a role from a bundle that is no module of this project, in a node that is HOME. */
@ContainerTest
public class OutsideRoleContainerTest {

  private static final RoleName ROLE = new RoleName("NightlyBackup");
  private static final ContainedNode node = new ContainedNode();

  /** Creates a cluster of one node. */
  @BeforeAll
  public static void bringHome() throws Exception {
    node.create();
  }

  /** Ends the node. */
  @AfterAll
  public static void powerOff() throws Exception {
    node.powerOff();
  }

  @Test
  @DisplayName(
      "an outside role runs when the record names it, its program outlives its code, and it ends when it is removed")
  public void aRoleFromOutside() throws Exception {
    Path made = OutsideBundle.make("example-role");
    Bundle bundle = Bundles.context().installBundle(made.toUri().toString());
    bundle.start();
    assertTrue(child().isEmpty(), "it runs although the record does not name it");

    node.changeRole(ROLE, true);
    awaitRunning(true);
    // The record exists before the program starts.
    Await.until(
        Bundles.PATIENCE,
        "its program to run",
        () -> child().filter(record -> alive(record.pid())).isPresent());
    Path folder = node.data().resolve("nightly-backup");
    assertEquals("rwx------", permissions(folder));
    assertEquals("started\n", Files.readString(folder.resolve("journal.txt")));
    long pid = child().orElseThrow().pid();

    bundle.stop();
    assertEquals("CODE_REPLACED\n", Files.readString(folder.resolve("journal.txt")));
    assertTrue(alive(pid), () -> "its program " + pid + " ended with its code");
    bundle.start();
    awaitRunning(true);
    assertEquals(pid, child().orElseThrow().pid(), "its program was not adopted");

    node.changeRole(ROLE, false);
    awaitRunning(false);
    Await.until(Bundles.PATIENCE, "its program to end with the role", () -> !alive(pid));
    Await.until(Bundles.PATIENCE, "its record to be deleted", () -> child().isEmpty());
    // The plugin ends after its program; its folder stays.
    Await.until(
        Bundles.PATIENCE,
        "the plugin to note why it was stopped",
        () -> Files.readString(folder.resolve("journal.txt")).equals("ROLE_REMOVED\n"));
    bundle.uninstall();
  }

  private static String permissions(Path folder) throws Exception {
    return java.nio.file.attribute.PosixFilePermissions.toString(
        Files.getPosixFilePermissions(folder));
  }

  private static void awaitRunning(boolean wanted) throws Exception {
    Await.until(
        Bundles.PATIENCE,
        ROLE + (wanted ? " to run" : " to have ended"),
        () ->
            Bundles.ask(
                LocalRoleServer.class,
                server -> server.running().peek().orElseThrow().contains(ROLE) == wanted));
  }

  private static Optional<ProcessRecord> child() throws Exception {
    return Bundles.ask(
        ProcessManager.class,
        manager ->
            manager.records().stream()
                .filter(record -> record.name().equals("nightly-backup"))
                .findFirst());
  }

  private static boolean alive(long pid) {
    return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
  }
}
