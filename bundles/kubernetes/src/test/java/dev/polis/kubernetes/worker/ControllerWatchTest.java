package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.api.containers.Isolation;
import dev.polis.base.values.MutableValue;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.resolver.ListedNodes;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ControllerWatchTest {

  private static final InetSocketAddress FIRST = server("198.18.0.2");
  private static final InetSocketAddress SECOND = server("192.0.2.7");

  @TempDir Path directory;

  private final Log log = LogTree.create().log("root.test");

  private static InetSocketAddress server(String host) {
    return new InetSocketAddress(InetAddress.ofLiteral(host), 6443);
  }

  private static Node node(String id, String address, boolean controller) {
    Node.Builder node = Node.newBuilder().setId(id);
    node.getStatusBuilder().setExternalAddress(address);
    if (controller) {
      node.setRoles(
          NodeRoles.newBuilder()
              .setKubernetesController(NodeRoles.KubernetesController.getDefaultInstance()));
    }
    return node.build();
  }

  @Test
  void serversArePublishedOnceAllNodesHaveCome() {
    KubernetesSettings settings = WorkerFixture.settings("auto");
    var found = new ListedNodes<InetSocketAddress>(node -> ControllerWatch.server(node, settings));
    assertEquals(
        Optional.empty(),
        found.accept(WatchEvent.newBuilder().addNodes(node("a", "127.0.0.1", true)).build()));
    assertEquals(
        Optional.of(Map.of("a", FIRST, "b", SECOND)),
        found.accept(
            WatchEvent.newBuilder()
                .addNodes(node("b", "192.0.2.7", true))
                .addNodes(node("c", "192.0.2.8", false))
                .addNodes(node("d", "no address", true))
                .setProgress(WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED)
                .build()));
    assertEquals(
        Optional.of(Map.of("b", SECOND)),
        found.accept(WatchEvent.newBuilder().addNodes(node("a", "127.0.0.1", false)).build()));
    assertEquals(
        Optional.of(Map.of()),
        found.accept(
            WatchEvent.newBuilder()
                .addNodeTombstones(WatchEvent.NodeTombstone.newBuilder().setNodeId("b"))
                .build()));
  }

  @Test
  void serversAreRememberedForTheNextRun() throws IOException {
    KnownControllers known = known();
    assertEquals(Optional.empty(), known.read(log));
    Set<InetSocketAddress> servers = new LinkedHashSet<>(List.of(FIRST, SECOND));
    known.write(servers, log);
    assertEquals(Optional.of(servers), known.read(log));
  }

  @Test
  void rememberedServersAreUsedUntilThisRunKnowsThem() throws IOException {
    KnownControllers known = known();
    known.write(Set.of(FIRST), log);
    MutableValue<Set<InetSocketAddress>> controllers = new MutableValue<>();
    known.offer(controllers, log);
    assertEquals(Optional.of(Set.of(FIRST)), controllers.peek());
    controllers.set(Set.of(SECOND));
    known.offer(controllers, log);
    assertEquals(
        Optional.of(Set.of(SECOND)), controllers.peek(), "the knowledge of this run stays");
  }

  @Test
  void damagedMemoryIsLeftOut() throws IOException {
    KnownControllers known = known();
    for (String damaged : List.of("198.18.0.2", "a b", "198.18.0.2 -1", "198.18.0.2 x")) {
      Files.writeString(known.file().path(), damaged);
      assertEquals(Optional.empty(), known.read(log), damaged);
    }
  }

  private KnownControllers known() throws IOException {
    return new KnownControllers(
        new WorkerFixture(directory, "127.0.0.1", Isolation.NAMESPACES, 36).files.controllers);
  }
}
