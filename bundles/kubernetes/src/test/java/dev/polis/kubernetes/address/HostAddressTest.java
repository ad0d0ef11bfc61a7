package dev.polis.kubernetes.address;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.FolderPlacement;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import dev.polis.process.Commands;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gives the machine an address, and a neighbour in a network namespace. */
class HostAddressTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir Path directory;
  private final int number = ThreadLocalRandom.current().nextInt(1, 255);
  private final String address = "198.19.250." + number;
  private final String gateway = "198.19.251." + number;
  private final String neighbour = "polis-test-" + number;
  private final String device = "pt" + number;
  private HostAddress host;

  @BeforeEach
  void connect() throws Exception {
    Needs.root("giving this machine another address");
    Path programs = Path.of(System.getenv().getOrDefault("POLIS_KUBERNETES", ""));
    Assumptions.assumeTrue(
        new Commands().has("nft") || programs.resolve("root/usr/sbin/nft").toFile().canExecute(),
        "running a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    FolderPlacement folder = Root.at(directory).data().organFolder(HostAddress.FOLDER);
    folder.create();
    host = new HostAddress(folder, InetAddress.ofLiteral(address), programs);
    require("ip netns add " + neighbour);
    require("ip link add " + device + " type veth peer name eth0 netns " + neighbour);
    require("ip address add " + gateway + "/32 dev " + device);
    require("ip link set dev " + device + " up");
    require("ip route add 198.19.252." + number + "/32 dev " + device);
    inside("ip address add 198.19.252." + number + "/32 dev eth0");
    inside("ip link set dev eth0 up");
    inside("ip route add " + gateway + "/32 dev eth0");
    inside("ip route add " + address + "/32 dev eth0 via " + gateway);
  }

  @AfterEach
  void disconnect() throws Exception {
    if (host != null) {
      host.release("test");
      run("ip address delete " + address + "/32 dev lo");
      run("ip link delete " + device);
      run("ip netns delete " + neighbour);
    }
  }

  private static Commands.Result run(String line) throws Exception {
    return new Commands().run(PATIENCE, List.of(line.split(" ")));
  }

  private static void require(String line) throws Exception {
    Commands.Result result = run(line);
    assertTrue(result.ok(), () -> line + ": " + result.words());
  }

  private void inside(String line) throws Exception {
    require("ip netns exec " + neighbour + " " + line);
  }

  /** Returns whether the neighbour gets a connection. */
  private boolean reaches(int port) throws Exception {
    return new Commands()
        .run(
            PATIENCE,
            List.of(
                "ip",
                "netns",
                "exec",
                neighbour,
                "timeout",
                "2",
                "bash",
                "-c",
                "exec 3<>/dev/tcp/%s/%d".formatted(address, port)))
        .ok();
  }

  @Test
  @Tag("attack")
  @DisplayName("a neighbour with a route does not reach the address; the machine itself does")
  void neighbour() throws Exception {
    require("ip address add " + address + "/32 dev lo");
    try (ServerSocket server = new ServerSocket(0, 9, InetAddress.ofLiteral(address))) {
      assertTrue(reaches(server.getLocalPort()), "an address of lo is every device's");

      assertEquals(Optional.empty(), host.claim("test"));
      assertFalse(reaches(server.getLocalPort()));
      try (Socket local = new Socket(server.getInetAddress(), server.getLocalPort())) {
        assertTrue(local.isConnected());
      }

      assertEquals(Optional.empty(), host.claim("test"), "it may be claimed again");
      assertEquals(Optional.empty(), host.release("test"));
    }
    assertNull(NetworkInterface.getByInetAddress(InetAddress.ofLiteral(address)));
  }
}
