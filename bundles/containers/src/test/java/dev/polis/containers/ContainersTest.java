package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Sandbox;
import dev.polis.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.SupervisionTree;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A real containerd in a sandbox, with a container that outlives whatever is killed around it. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class ContainersTest {

  private static final Duration PATIENCE = ContainersHarness.PATIENCE;
  private static final int SWAPS = 5;

  private ContainersHarness harness;

  @BeforeEach
  void open() throws Exception {
    harness = new ContainersHarness();
  }

  @AfterEach
  void close() throws Exception {
    if (harness != null) {
      harness.close();
      assertEquals(List.of(), harness.leftovers());
    }
  }

  private static void kill(long process) {
    ProcessHandle.of(process).orElseThrow().destroyForcibly();
  }

  private static boolean alive(long process) {
    return ProcessHandle.of(process).filter(ProcessHandle::isAlive).isPresent();
  }

  private static String inside(Sandbox sandbox, String... command) throws Exception {
    return new Commands().run(PATIENCE, sandbox.command(List.of(command))).output();
  }

  @Test
  @DisplayName("containers run in a sandbox that the machine reaches, and a stop leaves nothing")
  void startedAndStopped() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    ContainersStatus.Running running = instance.start();
    Sandbox sandbox = running.sandbox();
    long container = harness.container(sandbox, "one");
    assertTrue(alive(container));
    assertTrue(running.version().startsWith("containerd "), running.version());
    assertEquals(List.of(PauseImage.NAME), instance.containers.images());
    String address = sandbox.address().getHostAddress();
    assertTrue(inside(sandbox, "ip", "-4", "address", "show").contains(address));
    assertEquals("1", inside(sandbox, "cat", "/proc/sys/net/ipv4/ip_forward"));
    assertFalse(Files.exists(Path.of("/run/polis-sandbox")), "the machine's own /run was used");

    instance.containers.stop();

    assertEquals(new ContainersStatus.Stopped(), instance.containers.status().peek().get());
    assertFalse(alive(container));
    assertEquals(List.of(), harness.leftovers());
  }

  @Test
  @DisplayName("images stay over a stop, and the next start has them")
  void imagesStay() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    instance.start();
    String name = "polis.local/other:1";
    try (InputStream archive = Files.newInputStream(harness.archive(name))) {
      assertEquals(List.of(name), instance.containers.load(archive));
    }
    assertEquals(List.of(name, PauseImage.NAME), instance.containers.images());
    instance.containers.stop();
    instance.start();
    assertEquals(List.of(name, PauseImage.NAME), instance.containers.images());
    assertFalse(Files.exists(harness.files().archive().path()), "the archive was left behind");
  }

  @Test
  @DisplayName("an archive that holds no image is refused in words, and leaves nothing behind")
  void wrongArchive() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    assertThrows(
        ContainersException.class,
        () -> instance.containers.load(new ByteArrayInputStream(new byte[0])));
    instance.start();
    ContainersException refused =
        assertThrows(
            ContainersException.class,
            () -> instance.containers.load(new ByteArrayInputStream("text".getBytes())));
    assertTrue(refused.getMessage().contains("damaged"), refused::getMessage);
    assertFalse(Files.exists(harness.files().archive().path()));
  }

  @Test
  @DisplayName("containerd that is killed comes back, and containers do not notice")
  void containerdKilled() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    Sandbox sandbox = instance.start().sandbox();
    long container = harness.container(sandbox, "one");
    long before = instance.pid(RuntimeProcess.NAME);
    kill(before);
    Await.until(
        PATIENCE,
        "another containerd",
        () ->
            instance
                .processes
                .find(RuntimeProcess.NAME)
                .filter(p -> p.pid() != before)
                .isPresent());
    assertEquals(sandbox, instance.running().sandbox());
    assertTrue(alive(container));
    assertTrue(harness.ctr(sandbox, "task", "ls").contains("" + container));
  }

  @Test
  @DisplayName("containerd that is stopped by a signal is noticed, ended and started again")
  void containerdStopped() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    Sandbox sandbox = instance.start().sandbox();
    long container = harness.container(sandbox, "one");
    long before = instance.pid(RuntimeProcess.NAME);
    assertTrue(new Commands().run(PATIENCE, List.of("sh", "-c", "kill -STOP " + before)).ok());
    Await.until(
        PATIENCE,
        "another containerd",
        () ->
            instance
                .processes
                .find(RuntimeProcess.NAME)
                .filter(p -> p.pid() != before)
                .isPresent());
    assertEquals(sandbox, instance.running().sandbox());
    assertTrue(alive(container));
    assertTrue(harness.ctr(sandbox, "task", "ls").contains("" + container));
  }

  @Test
  @DisplayName("the keeper of the sandbox that is killed is replaced, and the sandbox stays")
  void keeperKilled() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    Sandbox sandbox = instance.start().sandbox();
    long container = harness.container(sandbox, "one");
    long containerd = instance.pid(RuntimeProcess.NAME);
    String namespace = inside(sandbox, "readlink", "/proc/self/ns/net");
    long before = instance.pid(SandboxNamespaces.NAME);
    kill(before);
    Await.until(
        PATIENCE,
        "another keeper",
        () ->
            instance
                .processes
                .find(SandboxNamespaces.NAME)
                .filter(p -> p.pid() != before)
                .isPresent());
    assertEquals(sandbox, instance.running().sandbox());
    assertEquals(namespace, inside(sandbox, "readlink", "/proc/self/ns/net"));
    assertEquals(containerd, instance.pid(RuntimeProcess.NAME));
    assertTrue(alive(container));
  }

  @Test
  @DisplayName("keeper and containerd killed at once: both come back through a shim")
  void bothKilled() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    Sandbox sandbox = instance.start().sandbox();
    long container = harness.container(sandbox, "one");
    String namespace = inside(sandbox, "readlink", "/proc/self/ns/net");
    long containerd = instance.pid(RuntimeProcess.NAME);
    kill(instance.pid(SandboxNamespaces.NAME));
    kill(containerd);
    Await.until(
        PATIENCE,
        "another containerd",
        () ->
            instance
                .processes
                .find(RuntimeProcess.NAME)
                .filter(p -> p.pid() != containerd)
                .isPresent());
    assertEquals(sandbox, instance.running().sandbox());
    assertEquals(namespace, inside(sandbox, "readlink", "/proc/self/ns/net"));
    assertTrue(alive(container));
    assertTrue(harness.ctr(sandbox, "task", "ls").contains("" + container));
  }

  @Test
  @DisplayName("the next instance adopts everything with the process ids it has")
  void adopted() throws Exception {
    ContainersHarness.Instance first = harness.instance();
    Sandbox sandbox = first.start().sandbox();
    long container = harness.container(sandbox, "one");
    long containerd = first.pid(RuntimeProcess.NAME);
    long keeper = first.pid(SandboxNamespaces.NAME);
    first.close(StopReason.PROCESS_RESTART);
    ContainersHarness.Instance second = harness.instance();
    assertEquals(sandbox, second.start().sandbox());
    assertEquals(containerd, second.pid(RuntimeProcess.NAME));
    assertEquals(keeper, second.pid(SandboxNamespaces.NAME));
    assertTrue(alive(container));
  }

  @Test
  @DisplayName("an instance that never started anything removes what an earlier one left running")
  void removedByTheNext() throws Exception {
    ContainersHarness.Instance first = harness.instance();
    long container = harness.container(first.start().sandbox(), "one");
    kill(first.pid(SandboxNamespaces.NAME));
    first.close();
    harness.instance().containers.stop();
    assertFalse(alive(container));
    assertEquals(List.of(), harness.leftovers());
  }

  @Test
  @DisplayName("a start that was cut off in the middle is begun anew")
  void cutOff() throws Exception {
    ContainersHarness.Instance first = harness.instance();
    long keeper;
    first.start();
    keeper = first.pid(SandboxNamespaces.NAME);
    first.processes.stop(RuntimeProcess.NAME);
    first.close();
    Files.delete(Path.of("/proc", "" + keeper, "root/run/polis-sandbox"));
    ContainersHarness.Instance second = harness.instance();
    second.start();
    assertNotEquals(keeper, second.pid(SandboxNamespaces.NAME));
  }

  @Test
  @DisplayName("without its programs it fails in words, and is well once they are there")
  void noPrograms() throws Exception {
    ContainersHarness.Instance instance = harness.instance(ContainersHarness.settings(""));
    instance.containers.start(harness.request);
    Await.until(
        "the failure to be published",
        () -> instance.containers.status().peek().get() instanceof ContainersStatus.Failed);
    ContainersStatus failed = instance.containers.status().peek().get();
    assertTrue(failed.text().contains("polis provision kubernetes"), failed.text());
    assertEquals(List.of(), harness.leftovers());
  }

  @Test
  @DisplayName("instances take over from each other, and nothing that runs is touched")
  void handedOver() throws Exception {
    HandOvers handOvers = HandOverTable.open(harness.logs);
    try (ProcessManager.OpenManager processes =
            ProcessManager.open(harness.root.ephemeral().processes().path(), harness.logs);
        SupervisionTree supervisor = SupervisionTree.open(harness.logs);
        HealthTable health = HealthTable.open(supervisor)) {
      ContainersService.Parts parts =
          new ContainersService.Parts(
              harness.root, harness.data, processes, supervisor, health, harness.logs);
      HandOvers.Membership<ContainersService> present = next(handOvers, parts);
      present.instance().start(harness.request);
      Await.until(
          PATIENCE, "containerd", () -> status(present) instanceof ContainersStatus.Running);
      ContainersStatus status = status(present);
      long container = harness.container(((ContainersStatus.Running) status).sandbox(), "one");
      long containerd = processes.find(RuntimeProcess.NAME).orElseThrow().pid();
      HandOvers.Membership<ContainersService> last = present;
      for (int swap = 0; swap < SWAPS; swap++) {
        HandOvers.Membership<ContainersService> next = next(handOvers, parts);
        HandOvers.Membership<ContainersService> former = last;
        former.leave(() -> former.instance().close(StopReason.CODE_REPLACED));
        assertEquals(status, status(next));
        last = next;
      }
      assertEquals(containerd, processes.find(RuntimeProcess.NAME).orElseThrow().pid());
      assertTrue(alive(container));
      HandOvers.Membership<ContainersService> end = last;
      end.leave(() -> end.instance().close(StopReason.POWER_OFF));
      assertFalse(alive(container));
      assertEquals(List.of(), harness.leftovers());
    }
  }

  private HandOvers.Membership<ContainersService> next(
      HandOvers handOvers, ContainersService.Parts parts) {
    return handOvers.join(
        "containers",
        predecessor -> ContainersService.start(harness.settings(), parts, predecessor));
  }

  private static ContainersStatus status(HandOvers.Membership<ContainersService> of) {
    return of.instance().status().peek().orElseThrow();
  }
}
