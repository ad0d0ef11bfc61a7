package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.NetworkConfigException;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.net.Net;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NetworkHandOverTest {

  @TempDir private Path folder;

  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final HealthTable health = HealthTable.open(tree);
  private final HandOvers handOvers = HandOverTable.open(logs);
  private Root root;
  private ProcessManager.OpenManager processes;

  @BeforeEach
  void prepare() throws Exception {
    root = Root.at(folder);
    root.esp().create();
    root.ephemeral().create();
    processes = ProcessManager.open(root.ephemeral().processes().path(), logs);
  }

  @AfterEach
  void close() {
    health.close();
    tree.close();
    processes.close();
  }

  private HandOvers.Membership<NetworkService> next() throws Exception {
    return next(false);
  }

  private HandOvers.Membership<NetworkService> next(boolean manage) throws Exception {
    NetworkSettings settings =
        new NetworkSettings(
            "127.0.0.1", manage, folder.resolve("resolv.conf"), "", false, List.of());
    NetworkService.Parts parts = new NetworkService.Parts(root, tree, health, processes, logs);
    return handOvers.join(
        "network", predecessor -> new NetworkService(settings, parts, predecessor.take()));
  }

  private static void retire(HandOvers.Membership<NetworkService> membership) {
    membership.leave();
  }

  @Test
  @DisplayName(
      "a second instance does not apply the stored configuration again; the first receives no more calls")
  void theSecondInstanceConfiguresFromNowOn() throws Exception {
    HandOvers.Membership<NetworkService> first = next();
    // This configuration would be refused if it were applied: the node does not own its network.
    Path stored = root.esp().networkConfiguration().path();
    Files.write(
        stored,
        Net.newBuilder()
            .addNameserver(dev.polis.wire.net.Nameserver.newBuilder().setIp("192.0.2.1"))
            .build()
            .toByteArray());
    HandOvers.Membership<NetworkService> second = next();
    assertEquals(first.instance().status().peek(), second.instance().status().peek());
    Net none = Net.getDefaultInstance();
    String refusal =
        assertThrows(NetworkConfigException.class, () -> first.instance().configure(none))
            .getMessage();
    assertTrue(refusal.contains("another instance of this organ configures"), refusal);
    second.instance().configure(none);
    assertEquals("", Files.readString(stored, StandardCharsets.UTF_8));
    retire(second);
    first.instance().configure(none);
    retire(first);
  }

  @Test
  @DisplayName(
      "an instance that owns the interfaces applies the stored configuration after one without that right")
  void theSecondInstanceOwnsTheInterfaces() throws Exception {
    Assumptions.assumeTrue(
        Files.isWritable(Path.of("/proc/sys/kernel/hostname")),
        "changing the loopback interface needs root");
    HandOvers.Membership<NetworkService> first = next(false);
    Files.write(
        root.esp().networkConfiguration().path(),
        Net.newBuilder()
            .addNameserver(dev.polis.wire.net.Nameserver.newBuilder().setIp("192.0.2.1"))
            .build()
            .toByteArray());

    HandOvers.Membership<NetworkService> second = next(true);

    assertTrue(Files.readString(folder.resolve("resolv.conf")).contains("192.0.2.1"));
    retire(first);
    retire(second);
  }
}
