package dev.polis.plugins;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.SwapFixture;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import dev.polis.wire.plugins.PluginsGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Version;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/** Fetches files of one node from another, over TLS. */
class FetchCallTest {
  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("test cluster");

  /** A little more than three pieces. */
  private static final byte[] FILE = bytes(800_000);

  @TempDir Path folder;
  private SwapFixture node;
  private NodeInventory inventory;
  private PluginsService service;
  private LocalRpcHost host;
  private ManagedChannel channel;

  private static byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    new Random(17).nextBytes(bytes);
    return bytes;
  }

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
    inventory = new NodeInventory(node.store, node.engine, () -> TrustRoots.NONE, node.audit::add);
    service =
        new PluginsService(
            new BundleDirectory(node.context()),
            node.engine,
            inventory,
            new GraphCall(node.context(), node.service(ServiceComponentRuntime.class)));
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.MANAGEMENT,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        true)),
                RpcSettings.Limits.DEFAULT),
            LogTree.create());
    host.identify(member());
    host.serve(RpcHost.MANAGEMENT, service);
    channel = dial(member());
  }

  private static NodeCredentials member() {
    KeyPair pair = Ed25519.generate();
    return new NodeCredentials(
        pair.getPrivate(), CLUSTER.issueNode(pair.getPublic()), CLUSTER.certificate());
  }

  private ManagedChannel dial(NodeCredentials as) {
    return RpcClients.authenticated(as.tls(), RpcTrust.cluster(as.ca()))
        .dial(host.address(RpcHost.MANAGEMENT));
  }

  @AfterEach
  void stop() throws Exception {
    channel.shutdownNow();
    host.close();
    service.close();
    inventory.close();
    node.close();
  }

  @Test
  @DisplayName("A node gets a staged file and a file of the store, from any offset")
  void fetched() throws Exception {
    Digest staged = stage();
    for (int offset : List.of(0, 1, 262_144, 524_288, 799_999, 800_000)) {
      assertArrayEquals(
          Arrays.copyOfRange(FILE, offset, FILE.length), fetch(staged, offset), "from " + offset);
    }
    Digest stored = node.store.current().orElseThrow().plugins().getFirst().digest();
    assertEquals(stored, Digest.of(fetch(stored, 0)));
    Set<Digest> offered =
        inventory.inventory().peek().orElseThrow().files().stream()
            .map(StoredPlugin::digest)
            .collect(Collectors.toSet());
    assertTrue(offered.containsAll(List.of(staged, stored)), () -> "only " + offered);
  }

  @Test
  @DisplayName("A missing file, a bad digest and a bad offset are refused with the reason")
  void refused() throws Exception {
    assertRefused(
        Status.Code.NOT_FOUND, "fetch it from another node", Digest.of(new byte[0]).hex(), 0);
    assertRefused(Status.Code.INVALID_ARGUMENT, "is no SHA-256 digest", "abc", 0);
    assertRefused(Status.Code.INVALID_ARGUMENT, "has 800000 bytes", stage().hex(), 800_001);
    assertRefused(Status.Code.INVALID_ARGUMENT, "counts from 0", stage().hex(), -1);
  }

  private Digest stage() throws Exception {
    Digest digest = Digest.of(FILE);
    StagedFiles staged = inventory.staged();
    staged.write(digest, 0, ByteBuffer.wrap(FILE));
    PluginManifest manifest =
        new PluginManifest(
            "org.example.backup",
            new Version("1.0.0"),
            digest,
            FILE.length,
            List.of(new Provided.Organ("backup")),
            List.of(),
            new Version("0.1.0"));
    staged.finish(digest, DistributionManifest.of(manifest).encode().toByteArray());
    inventory.refresh();
    return digest;
  }

  private byte[] fetch(Digest digest, long offset) throws Exception {
    Iterator<FetchResponse> pieces =
        PluginsGrpc.newBlockingStub(channel)
            .fetch(FetchRequest.newBuilder().setDigest(digest.hex()).setOffset(offset).build());
    long size = pieces.next().getSize();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (pieces.hasNext()) {
      pieces.next().getData().writeTo(all);
    }
    assertEquals(size - offset, all.size());
    return all.toByteArray();
  }

  private void assertRefused(Status.Code code, String words, String digest, long offset) {
    StatusRuntimeException refusal =
        assertThrows(
            StatusRuntimeException.class,
            () ->
                PluginsGrpc.newBlockingStub(channel)
                    .fetch(FetchRequest.newBuilder().setDigest(digest).setOffset(offset).build())
                    .next());
    assertEquals(code, refusal.getStatus().getCode());
    assertTrue(refusal.getMessage().contains(words), refusal.getMessage());
  }
}
