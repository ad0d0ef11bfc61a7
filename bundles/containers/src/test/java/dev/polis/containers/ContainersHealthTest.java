package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.health.HealthCondition;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ContainersHealthTest {

  private static final InetAddress HOST = InetAddress.ofLiteral("198.18.2.4");
  private static final InetAddress INSIDE = InetAddress.ofLiteral("198.18.2.5");

  /** As a machine whose words begin with their last byte prints it. */
  private static final String ROUTE = "polis-p1\t050212C6\t00000000\t0001";

  private static final Set<String> DEVICES = Set.of("lo", "polis-p1");

  private static ContainersStatus running(String device) {
    SandboxRequest request =
        new SandboxRequest(Isolation.NAMESPACES, "p1", HOST, INSIDE, Path.of("/n"));
    return new ContainersStatus.Running(
        new Sandbox(request, List.of(), device, Path.of("/polis-p1"), "/bin"),
        Path.of("/run/c.sock"),
        "containerd 2");
  }

  private static Optional<HealthCondition> of(
      Set<String> devices, Set<InetAddress> addresses, List<String> routes) {
    return ContainersHealth.ofNetwork(
        running("polis-p1"), new MachineRoutes(devices, addresses, routes));
  }

  @Test
  @DisplayName("a sandbox that is reached, or that is not there, has no condition")
  void reached() throws Exception {
    assertEquals(Optional.empty(), of(DEVICES, Set.of(HOST), List.of("Iface", ROUTE)));
    MachineRoutes none = new MachineRoutes(Set.of(), Set.of(), List.of());
    assertEquals(Optional.empty(), ContainersHealth.ofNetwork(running(""), none));
    assertEquals(
        Optional.empty(), ContainersHealth.ofNetwork(new ContainersStatus.Stopped(), none));
    assertTrue(MachineRoutes.read().devices().contains("lo"));
  }

  @Test
  @DisplayName("what the sandbox is cut off by is named, with the commands that mend it")
  void cutOff() {
    HealthCondition device = of(Set.of("lo"), Set.of(), List.of()).orElseThrow();
    assertTrue(device.reason().contains("the network device polis-p1"), device::reason);
    assertTrue(device.remedy().contains("node role remove NODE KubernetesWorker"), device::remedy);

    HealthCondition address = of(DEVICES, Set.of(INSIDE), List.of()).orElseThrow();
    assertTrue(address.reason().startsWith("the address 198.18.2.4"), address::reason);
    assertTrue(
        address
            .remedy()
            .endsWith(
                "ip address replace 198.18.2.4/32 dev lo; ip route replace 198.18.2.5/32 dev polis-p1 src 198.18.2.4"),
        address::remedy);

    HealthCondition route = of(DEVICES, Set.of(HOST), List.of("Iface")).orElseThrow();
    assertTrue(route.reason().contains("route to 198.18.2.5"), route::reason);
  }

  @Test
  @DisplayName("of containerd's parts that fail, the first is named, which the others need")
  void firstFailure() {
    assertEquals(
        Optional.of("its part io.containerd.metadata.v1.bolt says: invalid database"),
        RuntimeProcess.firstFailure(
            """
            time="2026" level=info msg="skip loading plugin" error="no zfs: skip plugin" id=a type=b
            time="2026" level=warning msg="failed to load plugin" error="invalid database" id=io.containerd.metadata.v1.bolt type=x
            time="2026" level=warning msg="failed to load plugin" error="invalid database" id=io.containerd.cri.v1.images type=x
            """));
    assertEquals(Optional.empty(), RuntimeProcess.firstFailure("level=info msg=hello\n"));
  }
}
