package dev.polis.convergence;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.logtree.Log;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.cluster.ReportedPlugin.Decision;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import dev.polis.wire.plugins.PluginsGrpc;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Fetches a file over TLS from other nodes that break off, send wrong bytes or hang. */
@Timeout(60)
class PluginFetchTest {
  private static final StoredPlugin PLUGIN = TestPlugins.plugin("org.example.backup", "1.0.0");
  private static final byte[] FILE = TestPlugins.content(PLUGIN);

  /** Divides the file into some thirty pieces. */
  private static final int PIECE = 1000;

  /** A working node is never silent for so long, even on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Ends a fetch from a node that hangs. */
  private static final Duration SILENCE = Duration.ofSeconds(3);

  private static final Want WANT =
      new Want(
          PLUGIN,
          Decision.DECISION_EVERYWHERE,
          "on each node",
          false,
          1,
          TestPlugins.manifest(PLUGIN));

  @TempDir Path folder;
  private final TestCluster cluster = new TestCluster();
  private final Log log = cluster.logs.log("test");
  private final List<TestCluster.OtherNode> nodes = new ArrayList<>();
  private StagedFiles staged;
  private PluginFetch fetch;

  @BeforeEach
  void open() throws Exception {
    staged = StagedFiles.of(PluginStore.open(folder.resolve("plugins")));
    fetch = fetch(PATIENCE);
  }

  private PluginFetch fetch(Duration silence) {
    return new PluginFetch(
        (node, address) ->
            RpcClients.authenticated(cluster.self.tls(), RpcTrust.node(cluster.self.ca(), node))
                .dial(address),
        staged,
        silence);
  }

  @AfterEach
  void close() {
    nodes.forEach(TestCluster.OtherNode::close);
    cluster.close();
  }

  /** Sends a file, and may end the call or hang after some pieces. */
  private static final class Holder extends PluginsGrpc.PluginsImplBase {
    private final byte[] file;
    private final int pieces;
    private final boolean hangs;
    final List<Long> offsets = new CopyOnWriteArrayList<>();

    Holder(byte[] file, int pieces, boolean hangs) {
      this.file = file.clone();
      this.pieces = pieces;
      this.hangs = hangs;
    }

    @Override
    public void fetch(FetchRequest request, StreamObserver<FetchResponse> caller) {
      offsets.add(request.getOffset());
      int from = (int) request.getOffset();
      caller.onNext(FetchResponse.newBuilder().setSize(file.length).build());
      for (int piece = 0; from < file.length; piece++) {
        if (piece == pieces) {
          if (!hangs) {
            caller.onError(Status.UNAVAILABLE.withDescription("it goes away").asException());
          }
          return;
        }
        int to = Math.min(file.length, from + PIECE);
        caller.onNext(
            FetchResponse.newBuilder()
                .setData(ByteString.copyFrom(Arrays.copyOfRange(file, from, to)))
                .build());
        from = to;
      }
      caller.onCompleted();
    }
  }

  private PluginHolder node(PluginsGrpc.PluginsImplBase service) {
    TestCluster.OtherNode node = cluster.other(service);
    nodes.add(node);
    return PluginHolder.newBuilder()
        .setNodeId(node.id())
        .setAddress(node.address())
        .addFiles(PLUGIN.digest().hex())
        .build();
  }

  private static Holder whole() {
    return new Holder(FILE, Integer.MAX_VALUE, false);
  }

  private void assertFetched() throws Exception {
    assertTrue(staged.isWhole(PLUGIN.digest()), "it is not staged");
    assertArrayEquals(FILE, Files.readAllBytes(staged.file(PLUGIN.digest())));
  }

  @Test
  @DisplayName("A stream that is cut after each piece is resumed where it was cut, from two nodes")
  void resumed() throws Exception {
    Holder one = new Holder(FILE, 1, false);
    Holder other = new Holder(FILE, 1, false);

    fetch.fetch(WANT, List.of(node(one), node(other)), log);

    assertFetched();
    List<Long> all = new ArrayList<>(one.offsets);
    all.addAll(other.offsets);
    assertEquals(all.stream().distinct().count(), all.size(), "a piece came twice: " + all);
    assertEquals(0, one.offsets.getFirst());
    assertEquals(PIECE, other.offsets.getFirst());
  }

  @Test
  @DisplayName("Bytes that arrived before a process ended are not fetched again")
  void resumedAfterStart() throws Exception {
    staged.write(PLUGIN.digest(), 0, ByteBuffer.wrap(FILE, 0, 7777));
    Holder holder = whole();

    fetch.fetch(WANT, List.of(node(holder)), log);

    assertFetched();
    assertEquals(List.of(7777L), holder.offsets);
  }

  @Test
  @DisplayName("A fetch from a node that disappears or hangs continues at another node")
  void goneAndHanging() throws Exception {
    Holder gone = new Holder(FILE, 3, false);
    Holder hanging = new Holder(FILE, 3, true);
    // The first call of a process loads classes, which may take longer than SILENCE.
    List<PluginHolder> refused = List.of(node(new Holder(new byte[1], 1, false)));
    assertThrows(FetchException.class, () -> fetch.fetch(WANT, refused, log));

    fetch(SILENCE).fetch(WANT, List.of(node(gone), node(hanging), node(whole())), log);

    assertFetched();
    assertEquals(List.of(3L * PIECE), hanging.offsets);
  }

  @Test
  @DisplayName(
      "A node that sends wrong bytes is named and not asked again; another node sends the file")
  void wrongBytes() throws Exception {
    byte[] wrong = FILE.clone();
    wrong[5000] ^= 1;
    Holder liar = new Holder(wrong, Integer.MAX_VALUE, false);

    fetch.fetch(WANT, List.of(node(liar), node(whole())), log);

    assertFetched();
    assertEquals(1, liar.offsets.size());
  }

  @Test
  @DisplayName("Wrong bytes among right ones are discarded, and the file still arrives")
  void mixedBytes() throws Exception {
    byte[] wrong = FILE.clone();
    wrong[5000] ^= 1;
    Holder right = new Holder(FILE, 3, false);
    Holder liar = new Holder(wrong, Integer.MAX_VALUE, false);

    fetch.fetch(WANT, List.of(node(right), node(liar)), log);

    assertFetched();
  }

  @Test
  @DisplayName("A file of another size is refused before its bytes arrive, with the node's name")
  void otherSize() throws Exception {
    PluginHolder shorter = node(new Holder(Arrays.copyOf(FILE, 100), Integer.MAX_VALUE, false));
    PluginHolder longer = node(new Holder(Arrays.copyOf(FILE, 99_999), Integer.MAX_VALUE, false));

    FetchException refused =
        assertThrows(FetchException.class, () -> fetch.fetch(WANT, List.of(shorter, longer), log));

    String words = "%s: its file does not have the %d bytes of the manifest";
    for (PluginHolder each : List.of(shorter, longer)) {
      String expected = words.formatted(each.getNodeId(), FILE.length);
      assertTrue(refused.getMessage().contains(expected), refused.getMessage());
    }
    assertTrue(refused.getMessage().endsWith("; push it again"), refused.getMessage());
    assertEquals(0, staged.size(PLUGIN.digest()));
  }

  @Test
  @DisplayName("A node that answers at another node's address is not mistaken for that node")
  void impostor() throws Exception {
    PluginHolder one = node(whole());
    PluginHolder other = node(whole());
    PluginHolder moved = one.toBuilder().setAddress(other.getAddress()).build();

    FetchException refused =
        assertThrows(FetchException.class, () -> fetch.fetch(WANT, List.of(moved), log));

    assertTrue(refused.getMessage().contains(one.getNodeId()), refused.getMessage());
    assertFalse(refused.getMessage().contains("push it again"), refused.getMessage());
    assertEquals(0, staged.size(PLUGIN.digest()));
  }

  @Test
  @DisplayName("If no node has the file, the reason says so")
  void nobody() {
    FetchException none =
        assertThrows(FetchException.class, () -> fetch.fetch(WANT, List.of(), log));

    assertEquals("no other node has its file; push it again", none.getMessage());
  }

  @Test
  @DisplayName("The address of a node may name its port, and otherwise the platform's port is used")
  void addresses() {
    assertEquals(new InetSocketAddress("127.0.0.1", 7839), PluginFetch.address("127.0.0.1"));
    assertEquals(new InetSocketAddress("127.0.0.1", 4711), PluginFetch.address("127.0.0.1:4711"));
    assertEquals(new InetSocketAddress("::1", 7839), PluginFetch.address("::1"));
  }
}
