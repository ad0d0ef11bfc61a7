package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.NetworkStatus;
import dev.polis.files.layout.Root;
import dev.polis.pki.NodeId;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeNamesTest {

  private static final NodeId SELF = NodeId.ofHex("0123456789abcdef0123456789abcdef");
  private static final NodeId OTHER = NodeId.ofHex("fedcba9876543210fedcba9876543210");

  @TempDir Path directory;
  private Root.Ephemeral files;
  private NodeNames names;

  @BeforeEach
  void open() {
    files = Root.at(directory).ephemeral();
    names = new NodeNames(files.hosts(), files.machineId(), "", Map.of());
  }

  private static NetworkStatus up(String address) {
    return new NetworkStatus.Up(InetAddress.ofLiteral(address));
  }

  private String hosts() throws Exception {
    return Files.readString(files.hosts().path());
  }

  @Test
  @DisplayName(
      "SEED-16 contents of hosts and machine-id; the machine's own host name is left alone")
  void seed16_contents() throws Exception {
    String hostname = Files.readString(Path.of("/proc/sys/kernel/hostname"));
    names.status(up("192.0.2.7"));
    names.local(SELF);
    assertEquals(
        "127.0.0.1 localhost\n::1 localhost\n192.0.2.7 metropolis-0123456789abcdef0123456789abcdef\n",
        hosts());
    assertEquals("0123456789abcdef0123456789abcdef\n", Files.readString(files.machineId().path()));
    assertEquals(hostname, Files.readString(Path.of("/proc/sys/kernel/hostname")));
  }

  @Test
  void theLocalNameFollowsTheAddress() throws Exception {
    names.local(SELF);
    assertFalse(hosts().contains(SELF.text()), "no address is known yet");
    names.status(up("192.0.2.7"));
    assertTrue(hosts().contains("192.0.2.7 " + SELF.text()));
    names.status(up("192.0.2.8"));
    assertTrue(hosts().contains("192.0.2.8 " + SELF.text()));
    assertFalse(hosts().contains("192.0.2.7"));
    names.status(new NetworkStatus.Waiting("lost"));
    assertFalse(hosts().contains(SELF.text()));
  }

  @Test
  void theNextInstanceKnowsTheNameAndAnotherNodeIsRefused() throws Exception {
    names.local(SELF);
    NodeNames next = new NodeNames(files.hosts(), files.machineId(), "", Map.of());
    next.status(up("192.0.2.8"));
    assertTrue(hosts().contains("192.0.2.8 " + SELF.text()));
    var refusal = assertThrows(IllegalStateException.class, () -> next.local(OTHER));
    assertTrue(refusal.getMessage().contains(SELF.text()), refusal.getMessage());
    assertTrue(refusal.getMessage().contains(OTHER.text()), refusal.getMessage());
  }

  @Test
  @DisplayName(
      "D-45 the name of a node that was removed is forgotten; another instance keeps the others")
  void d45_cluster() throws Exception {
    names.status(up("192.0.2.7"));
    names.local(SELF);
    InetAddress former = InetAddress.ofLiteral("192.0.2.6");
    names.cluster(Map.of(SELF, former, OTHER, InetAddress.ofLiteral("2001:db8::8")));
    String own = "127.0.0.1 localhost\n::1 localhost\n192.0.2.7 " + SELF.text() + "\n";
    String others = "2001:db8:0:0:0:0:0:8 " + OTHER.text() + "\n";
    assertEquals(own + others, hosts());

    Path shown = Files.createDirectory(directory.resolve("shown"));
    NodeNames next =
        new NodeNames(files.hosts(), files.machineId(), shown.toString(), names.cluster());
    next.status(up("192.0.2.7"));
    assertEquals(own + others, hosts());
    assertEquals(own + others, Files.readString(shown.resolve("hosts")));
    next.cluster(Map.of(SELF, former));
    assertEquals(own, hosts());
    assertEquals(own, Files.readString(shown.resolve("hosts")));
    assertEquals(
        "rw-r--r--",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(shown.resolve("hosts"))));
    next.local(SELF);
    assertEquals(SELF.hex() + "\n", Files.readString(shown.resolve("machine-id")));
  }

  @Test
  void anUnchangedFileIsNotWrittenAgain() throws Exception {
    names.status(up("192.0.2.7"));
    names.local(SELF);
    FileTime mark = FileTime.fromMillis(1000);
    Files.setLastModifiedTime(files.hosts().path(), mark);
    names.local(SELF);
    assertEquals(mark, Files.getLastModifiedTime(files.hosts().path()));
  }
}
