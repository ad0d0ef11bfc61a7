package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.base.boot.StopReason;
import dev.polis.base.posix.Mounts;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.RunningProcess;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import dev.polis.process.SandboxProcesses;
import dev.polis.supervision.SupervisionTree;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.RandomAccessFile;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs a real containerd in a sandbox, with a container that outlives the processes around it. */
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
    return RunningProcess.find(process).isPresent();
  }

  private static String inside(Sandbox sandbox, String... command) throws Exception {
    return new Commands().run(PATIENCE, sandbox.command(List.of(command))).output();
  }

  @Test
  @DisplayName(
      "containers run in a sandbox that the machine can reach, and a stop leaves nothing behind")
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
    Await.until(
        PATIENCE,
        "containerd's log to be in the tree",
        () ->
            harness.log().stream()
                .anyMatch(line -> line.contains("containerd successfully booted")));

    instance.containers.stop();

    assertEquals(new ContainersStatus.Stopped(), instance.containers.status().peek().get());
    assertFalse(alive(container));
    assertEquals(List.of(), harness.leftovers());
  }

  @Test
  @DisplayName(
      "another node's volume that was mounted during the start can be mounted again after its unmount")
  void volumeOfAnother(@TempDir Path folder) throws Exception {
    Path image = folder.resolve("image");
    Path point = Files.createDirectory(folder.resolve("data"));
    try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
      file.setLength(512L << 20);
    }
    require("mkfs.xfs", "-q", image.toString());
    require("mount", "-o", "loop", image.toString(), point.toString());
    try {
      harness.instance().start();
    } finally {
      require("umount", point.toString());
    }
    // Mounts a copy through another device: the kernel refuses XFS if the same file system is still
    // mounted somewhere.
    Path again = folder.resolve("again");
    require("cp", "--sparse=always", image.toString(), again.toString());
    require("mount", "-o", "loop", again.toString(), point.toString());
    require("umount", point.toString());
  }

  private static void require(String... command) throws Exception {
    Commands.Result result = new Commands().run(PATIENCE, List.of(command));
    assertTrue(result.ok(), result::output);
  }

  @Test
  @Tag("attack")
  @DisplayName("a foreign image under the name of the pause image is replaced at a start")
  void pauseOfAnother(@TempDir Path folder) throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    Sandbox sandbox = instance.start().sandbox();
    String own = pauseDigest(sandbox);
    Path other = folder.resolve("other.tar");
    try (OutputStream out = Files.newOutputStream(other)) {
      PauseImage.write(new byte[] {1}, ImageStore.architecture(), out);
    }
    harness.ctr(sandbox, "images", "import", other.toString());
    assertNotEquals(own, pauseDigest(sandbox));
    instance.containers.stop();
    sandbox = instance.start().sandbox();
    assertEquals(own, pauseDigest(sandbox));
  }

  private String pauseDigest(Sandbox sandbox) throws Exception {
    return harness
        .ctr(sandbox, "images", "ls")
        .lines()
        .map(line -> line.split("\\s+"))
        .filter(words -> words[0].equals(PauseImage.NAME))
        .map(words -> words[2])
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName("images stay over a stop, and the next start has them")
  void imagesStay() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    instance.start();
    String name = "test.local/other1:1";
    try (InputStream archive = Files.newInputStream(harness.archive(name))) {
      assertEquals(List.of(name), instance.containers.load(archive));
    }
    assertEquals(List.of(PauseImage.NAME, name), instance.containers.images());
    instance.containers.stop();
    instance.start();
    assertEquals(List.of(PauseImage.NAME, name), instance.containers.images());
    assertEquals(List.of(), harness.files().archives().list(), "an archive was left behind");
  }

  @Test
  @DisplayName("an archive without an image is refused with the reason, and leaves nothing behind")
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
    assertEquals(List.of(), harness.files().archives().list());
  }

  @Test
  @Tag("attack")
  @DisplayName("a slow archive delays no other, and archives beyond a limit are refused")
  void slowArchives() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    instance.start();
    String name = "test.local/other1:1";
    List<Thread> slow = new ArrayList<>();
    List<PipedOutputStream> senders = new ArrayList<>();
    for (int sent = 1; sent < ImageStore.UPLOADS; sent++) {
      senders.add(new PipedOutputStream());
      InputStream archive = new PipedInputStream(senders.getLast());
      slow.add(Thread.startVirtualThread(() -> loadInVain(instance, archive)));
    }
    Await.until(
        "all slow archives have begun",
        () -> harness.files().archives().list().size() == slow.size());
    try (InputStream archive = Files.newInputStream(harness.archive(name))) {
      assertEquals(List.of(name), instance.containers.load(archive));
    }
    senders.add(new PipedOutputStream());
    InputStream last = new PipedInputStream(senders.getLast());
    slow.add(Thread.startVirtualThread(() -> loadInVain(instance, last)));
    Await.until(
        "the last place is taken",
        () -> harness.files().archives().list().size() == ImageStore.UPLOADS);
    assertTrue(
        assertThrows(
                ContainersException.class,
                () -> instance.containers.load(new ByteArrayInputStream(new byte[0])))
            .getMessage()
            .contains("the node already loads"));
    for (PipedOutputStream sender : senders) {
      sender.close();
    }
    for (Thread thread : slow) {
      Await.end(thread);
    }
    assertEquals(List.of(), harness.files().archives().list());
  }

  private static void loadInVain(ContainersHarness.Instance instance, InputStream archive) {
    assertThrows(ContainersException.class, () -> instance.containers.load(archive));
  }

  @Test
  @DisplayName("a killed containerd is started again, and containers run undisturbed")
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
  @Tag("full")
  @DisplayName("a containerd that a signal stopped is noticed, ended and started again")
  void containerdStopped() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    Sandbox sandbox = instance.start().sandbox();
    long container = harness.container(sandbox, "one");
    long before = instance.pid(RuntimeProcess.NAME);
    assertTrue(new Commands().run(PATIENCE, List.of("sh", "-c", "kill -STOP " + before)).ok());
    Await.until(
        PATIENCE,
        "the status that names it",
        () -> {
          String now = instance.containers.status().peek().orElseThrow().text();
          return now.contains("pid " + before) && now.contains("has not answered");
        });
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
  @DisplayName("a killed keeper of the sandbox is replaced, and the sandbox stays")
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
  @DisplayName("keeper and containerd, killed at once, are both started again through a shim")
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
  @DisplayName("the next instance adopts all processes with their ids")
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
  @DisplayName("a start that was interrupted begins anew")
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
  @DisplayName("without its programs it fails with the reason, and recovers once they are there")
  void noPrograms() throws Exception {
    ContainersHarness.Instance instance = harness.instance(ContainersHarness.settings(""));
    instance.containers.start(harness.request);
    assertTrue(failure(instance).contains("polis provision kubernetes"), failure(instance));
    assertEquals(List.of(), harness.leftovers());
  }

  @Test
  @DisplayName("records of processes from an earlier boot of the machine match no process")
  void machineRestarted() throws Exception {
    harness.files().create();
    SandboxRecord earlier =
        new SandboxRecord(
            "7a2c0e51-0000-4000-8000-000000000000",
            Isolation.NAMESPACES,
            SandboxRecord.hostDevice(harness.request),
            SandboxRecord.cgroup(harness.request),
            "",
            SandboxProcesses.namespace("self", "mnt"),
            SandboxProcesses.namespace("self", "net"));
    earlier.write(harness.files().record());
    Files.createSymbolicLink(harness.files().networkLink(), Path.of("/proc/1/ns/net"));
    ContainersHarness.Instance instance = harness.instance();
    instance.containers.stop();
    assertFalse(Files.exists(harness.files().networkLink(), LinkOption.NOFOLLOW_LINKS));
    earlier.write(harness.files().record());
    Sandbox sandbox = instance.start().sandbox();
    assertNotEquals(
        SandboxProcesses.namespace("self", "net"),
        inside(sandbox, "readlink", "/proc/self/ns/net"));
  }

  @Test
  @DisplayName(
      "a data volume that cannot carry overlays gets an image file, mounted only in the sandbox")
  void imageFile() throws Exception {
    Path data = harness.root.data().path();
    Path below = Files.createDirectories(harness.root.path().resolve("below"));
    for (String name : List.of("lower", "upper", "work")) {
      Files.createDirectory(below.resolve(name));
    }
    // An overlay cannot be the upper part of another one.
    Mounts.mount(
        "overlay",
        data,
        "overlay",
        List.of(
            "lowerdir=" + below.resolve("lower"),
            "upperdir=" + below.resolve("upper"),
            "workdir=" + below.resolve("work")));
    try {
      ContainersHarness.Instance instance = harness.instance();
      Sandbox sandbox = instance.start().sandbox();
      long container = harness.container(sandbox, "one");
      assertTrue(alive(container));
      String kubelet = harness.root.data().path().resolve("kubelet") + " type ext4";
      assertTrue(inside(sandbox, "mount").contains(kubelet), inside(sandbox, "mount"));
      assertTrue(Files.exists(harness.files().image().path()));
      assertTrue(
          inside(sandbox, "mount").contains(harness.files().runtime().path() + " type ext4"));
      instance.containers.stop();
      assertEquals(List.of(), harness.leftovers());
      instance.start();
      assertEquals(List.of(PauseImage.NAME), instance.containers.images());
      instance.containers.stop();
    } finally {
      Mounts.unmount(data);
    }
  }

  @Test
  @DisplayName(
      "on a machine of its own the node makes no sandbox, and a stop leaves nothing behind")
  void onTheMachine() throws Exception {
    assumeTrue(
        Files.notExists(RuntimeConfiguration.STATE),
        "running containers on the machine itself needs one without another containerd");
    harness.close();
    harness = new ContainersHarness("", Isolation.MACHINE);
    ContainersHarness.Instance first = harness.instance();
    Sandbox sandbox = first.start().sandbox();
    assertEquals(List.of(), sandbox.enter());
    long container = harness.container(sandbox, "one");
    long containerd = first.pid(RuntimeProcess.NAME);
    first.close(StopReason.PROCESS_RESTART);
    ContainersHarness.Instance second = harness.instance();
    assertEquals(sandbox, second.start().sandbox());
    assertEquals(containerd, second.pid(RuntimeProcess.NAME));
    kill(containerd);
    Await.until(
        PATIENCE,
        "another containerd",
        () ->
            second
                .processes
                .find(RuntimeProcess.NAME)
                .filter(p -> p.pid() != containerd)
                .isPresent());
    second.running();
    assertTrue(alive(container));
    second.containers.stop();
    assertFalse(alive(container));
    assertEquals(List.of(), harness.leftovers());
  }

  @Test
  @DisplayName("a machine that can run containers passes the check")
  void machine() throws Exception {
    harness.files().create();
    RuntimePrograms programs = RuntimePrograms.find(harness.programs().toString());
    assertTrue(
        new MachineCheck(harness.settings(), harness.files(), programs).check(harness.request));
    assertFalse(Files.exists(harness.files().probe().path()), "the trial left its folder behind");
  }

  @Test
  @DisplayName("an image is pulled from the mirror of its registry")
  void mirror(@TempDir Path folder) throws Exception {
    byte[] busybox = Files.readAllBytes(harness.programs().resolve("bin/busybox"));
    try (TestRegistry registry = new TestRegistry(folder, busybox)) {
      TreeMap<String, URI> mirrors = new TreeMap<>();
      mirrors.put("example.org", registry.at(harness.request.hostAddress().getHostAddress()));
      ContainersHarness.Instance instance =
          harness.instance(
              new ContainersSettings(
                  harness.programs().toString(), mirrors, "auto", 0, 64, Duration.ofSeconds(30)));
      Sandbox sandbox = instance.start().sandbox();
      String mirrorFolder = harness.files().mirrors().path().toString();
      harness.ctr(
          sandbox, "images", "pull", "--hosts-dir", mirrorFolder, "example.org/team/tool:7");
      assertEquals(
          List.of("example.org/team/tool:7", PauseImage.NAME), instance.containers.images());
      assertTrue(
          registry.asked.contains("/v2/team/tool/manifests/7?ns=example.org"),
          registry.asked::toString);
    }
  }

  @Test
  @DisplayName(
      "addresses that the machine uses, and a full disk, are refused before anything starts")
  void refused() throws Exception {
    ContainersHarness.Instance instance = harness.instance();
    SandboxRequest wanted = harness.request;
    SandboxRequest clash =
        new SandboxRequest(
            wanted.isolation(),
            wanted.name(),
            wanted.hostAddress(),
            wanted.address(),
            wanted.networkFolder(),
            List.of("203.0.113.0/24"),
            List.of());
    new Commands().run(PATIENCE, List.of("ip", "link", "set", "dev", "lo", "up"));
    new Commands()
        .run(
            PATIENCE,
            List.of("ip", "route", "add", "203.0.113.128/25", "dev", "lo", "table", "main"));
    try {
      instance.containers.start(clash);
      assertTrue(failure(instance).contains("203.0.113.128/25"), failure(instance));
    } finally {
      new Commands()
          .run(PATIENCE, List.of("ip", "route", "delete", "203.0.113.128/25", "dev", "lo"));
    }
    ContainersHarness.Instance full =
        harness.instance(
            new ContainersSettings(
                harness.programs().toString(),
                new TreeMap<>(),
                "auto",
                0,
                1L << 24,
                Duration.ofSeconds(30)));
    full.containers.start(wanted);
    assertTrue(failure(full).contains("least.free.mebibytes"), failure(full));
    assertEquals(List.of(), harness.leftovers());
  }

  private static String failure(ContainersHarness.Instance instance) throws Exception {
    Await.until(
        "the failure to be published",
        () -> instance.containers.status().peek().get() instanceof ContainersStatus.Failed);
    return instance.containers.status().peek().get().text();
  }

  @Test
  @DisplayName("instances take over from each other, and nothing that runs is touched")
  void handedOver() throws Exception {
    AtomicReference<StopReason> reason = new AtomicReference<>(StopReason.CODE_REPLACED);
    HandOvers handOvers = HandOverTable.open(harness.logs, reason::get, instance -> instance);
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
        former.leave();
        assertEquals(status, status(next));
        last = next;
      }
      assertEquals(containerd, processes.find(RuntimeProcess.NAME).orElseThrow().pid());
      assertTrue(alive(container));
      reason.set(StopReason.POWER_OFF);
      last.leave();
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
