package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.base.posix.Mounts;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks that the features that a machine lacks are named before a program starts. */
class MachineCheckTest {

  @TempDir private Path folder;

  private static SandboxRequest request(Isolation isolation, String... ranges) {
    return new SandboxRequest(
        isolation,
        "a1",
        InetAddress.ofLiteral("198.18.2.4"),
        InetAddress.ofLiteral("198.18.2.5"),
        Path.of("/nowhere"),
        List.of(ranges),
        List.of());
  }

  private static String refusal(org.junit.jupiter.api.function.Executable check) {
    return assertThrows(ContainersException.class, check).getMessage();
  }

  @Test
  @DisplayName("a kernel with all features is accepted")
  void complete() {
    assertTrue(MachineCheck.judge(""));
  }

  @Test
  @DisplayName(
      "a volume whose file system cannot carry overlays is distinguished from a kernel without them")
  void overlays() {
    assertFalse(MachineCheck.judge("mount: wrong fs type\npolis-missing: volume\n"));
    String message =
        refusal(() -> MachineCheck.judge("polis-missing: volume\npolis-missing: overlay\n"));
    assertTrue(message.contains("CONFIG_OVERLAY_FS"), message);
  }

  @Test
  @DisplayName("missing features of the kernel are named by its configuration")
  void features() {
    String message =
        refusal(() -> MachineCheck.judge("polis-missing: veth\npolis-missing: bridge\n"));
    assertTrue(message.contains("CONFIG_VETH") && message.contains("CONFIG_BRIDGE"), message);
    assertTrue(
        refusal(() -> MachineCheck.judge("polis-missing: nftables")).contains("CONFIG_NF_TABLES"));
  }

  @Test
  @DisplayName("a process that may not make namespaces is refused with the capabilities")
  void capabilities() {
    String message =
        refusal(() -> MachineCheck.judge("unshare: unshare failed: Operation not permitted"));
    assertTrue(message.contains("CAP_SYS_ADMIN"), message);
  }

  @Test
  @DisplayName("a range to which the machine has a route is refused with the route")
  void clash() {
    SandboxRequest request = request(Isolation.NAMESPACES, "10.244.0.0/16", "10.96.0.0/16");
    String message =
        refusal(
            () ->
                AddressCheck.requireFree(
                    request, List.of("default via 10.0.0.1 dev eth0", "10.0.0.0/8 dev vpn0")));
    assertTrue(message.contains("10.244.0.0/16"), message);
    assertTrue(message.contains("10.0.0.0/8 dev vpn0"), message);
    assertTrue(message.contains("pod.range"), message);
  }

  @Test
  @DisplayName("the sandbox's own address is checked too, and other sandboxes do not conflict")
  void ownRoutes() {
    SandboxRequest request = request(Isolation.NAMESPACES, "10.244.0.0/16");
    assertTrue(
        refusal(() -> AddressCheck.requireFree(request, List.of("198.18.0.0/15 dev lab0")))
            .contains("198.18.2.5"));
    assertDoesNotThrow(
        () ->
            AddressCheck.requireFree(
                request,
                List.of(
                    "default via 10.0.0.1 dev eth0",
                    "unreachable 203.0.113.0/24",
                    "10.244.0.0/24 via 198.18.2.5 dev polis-a1",
                    "10.244.1.0/24 via 198.18.2.7 dev polis-b2",
                    "192.168.0.0/16 dev eth1")));
  }

  @Test
  @DisplayName("missing cgroup hierarchies are named, and so is a machine without any")
  void hierarchies() throws Exception {
    assertTrue(refusal(() -> Cgroups.find(folder, List.of())).contains("no cgroups are mounted"));
    List<Mounts.Mount> mounts = new ArrayList<>();
    for (String name : List.of("cpu", "memory", "pids", "devices", "freezer", "blkio", "cpuset")) {
      Path hierarchy = Files.createDirectory(folder.resolve(name)).toRealPath();
      mounts.add(new Mounts.Mount(hierarchy, "cgroup", "cgroup"));
    }
    assertTrue(refusal(() -> Cgroups.find(folder, mounts)).contains("[cpuacct]"));
    Files.createSymbolicLink(folder.resolve("cpuacct"), folder.resolve("cpu"));
    assertEquals(Cgroups.Version.V1, Cgroups.find(folder, mounts).version());
  }

  @Test
  @DisplayName("missing controllers of cgroup version 2 are named")
  void controllers() throws Exception {
    List<Mounts.Mount> mounts = List.of(new Mounts.Mount(folder, "cgroup2", "cgroup2"));
    Path controllers = folder.resolve("cgroup.controllers");
    Files.writeString(controllers, "cpu memory pids\n");
    String message = refusal(() -> Cgroups.find(folder, mounts));
    assertTrue(message.contains("[cpuset, io]"), message);
    Files.writeString(controllers, "cpuset cpu io memory hugetlb pids\n");
    assertEquals(Cgroups.Version.V2, Cgroups.find(folder, mounts).version());
  }

  @Test
  @DisplayName("all Pods together get half of the machine's process ids, in both versions")
  void processLimit() throws Exception {
    long half =
        Long.parseLong(Files.readAllLines(Path.of("/proc/sys/kernel/pid_max")).getFirst()) / 2;
    assertTrue(half > 100, "the least that a kernel has are 301");
    Files.writeString(folder.resolve("cgroup.controllers"), "cpuset cpu io memory pids\n");
    Cgroups.find(folder, List.of(new Mounts.Mount(folder, "cgroup2", "cgroup2"))).make("polis-a1");
    assertEquals(Long.toString(half), Files.readString(folder.resolve("polis-a1/pids.max")));

    List<Mounts.Mount> mounts = new ArrayList<>();
    for (String name :
        List.of("cpu", "cpuacct", "memory", "pids", "devices", "freezer", "blkio", "cpuset")) {
      Path hierarchy = Files.createDirectory(folder.resolve(name)).toRealPath();
      mounts.add(new Mounts.Mount(hierarchy, "cgroup", "cgroup"));
    }
    Files.writeString(folder.resolve("cpuset/cpuset.cpus"), "0-1\n");
    Files.writeString(folder.resolve("cpuset/cpuset.mems"), "0\n");
    Cgroups.find(folder, mounts).make("polis-a1");
    assertEquals(Long.toString(half), Files.readString(folder.resolve("pids/polis-a1/pids.max")));
  }

  @Test
  @DisplayName("processes of a cgroup are found in it and below it")
  void processes() throws Exception {
    Files.writeString(folder.resolve("cgroup.controllers"), "cpuset cpu io memory pids\n");
    Cgroups cgroups = Cgroups.find(folder, List.of(new Mounts.Mount(folder, "cgroup2", "cgroup2")));
    Path pod = Files.createDirectories(folder.resolve("polis-a1/kubepods/pod7"));
    Files.writeString(folder.resolve("polis-a1/cgroup.procs"), "");
    Files.writeString(folder.resolve("polis-a1/kubepods/cgroup.procs"), "");
    Files.writeString(pod.resolve("cgroup.procs"), "41\n42\n");
    assertEquals(Set.of(41L, 42L), cgroups.processes("polis-a1"));
    assertEquals(Set.of(), cgroups.processes("polis-b2"));
  }

  @Test
  @Tag("attack")
  @DisplayName("another runtime is found beside sockets whose names are not valid text")
  void strangeSockets() throws Exception {
    Path table = folder.resolve("unix");
    Files.write(
        table,
        List.of("0: 2 0 10000 1 1 7 @\u00ff", "0: 2 0 10000 1 1 8 /run/containerd.sock"),
        StandardCharsets.ISO_8859_1);
    assertEquals(1, MachineCheck.listeners(table, Path.of("/run/containerd.sock")).size());
    assertEquals(Set.of(), MachineCheck.listeners(table, Path.of("/run/other.sock")));
  }
}
