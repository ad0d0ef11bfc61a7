package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.KeyId;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.ListTrustedKeysRequest;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc.PluginTrustBlockingV2Stub;
import dev.polis.wire.cluster.RemoveTrustedKeyRequest;
import dev.polis.wire.cluster.RemoveTrustedKeyResponse;
import dev.polis.wire.cluster.TrustedKey;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** Changes over gRPC the keys that may sign plugins. */
@Timeout(120)
class PluginTrustTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final KeyPair FIRST = Ed25519.generate();
  private static final KeyPair SECOND = Ed25519.generate();

  private CuratorFixture fixture;
  private ManagedChannel owner;

  @BeforeEach
  void start() throws Exception {
    fixture = ETCD.leading();
    owner = fixture.asOwner();
  }

  @AfterEach
  void stop() throws Exception {
    fixture.close();
  }

  private static PluginTrustBlockingV2Stub trust(ManagedChannel channel) {
    return PluginTrustGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static AddTrustedKeyRequest add(String name, KeyPair key) {
    return add(name, Ed25519.raw(key.getPublic()));
  }

  private static AddTrustedKeyRequest add(String name, byte[] raw) {
    return AddTrustedKeyRequest.newBuilder()
        .setKey(TrustedKey.newBuilder().setName(name).setPublicKey(ByteString.copyFrom(raw)))
        .build();
  }

  private RemoveTrustedKeyResponse remove(String name, boolean force) throws StatusException {
    return trust(owner)
        .removeTrustedKey(
            RemoveTrustedKeyRequest.newBuilder().setName(name).setForce(force).build());
  }

  private List<String> listed(ManagedChannel channel) throws StatusException {
    return trust(channel)
        .listTrustedKeys(ListTrustedKeysRequest.getDefaultInstance())
        .getKeysList()
        .stream()
        .map(TrustedKey::getName)
        .toList();
  }

  private static String refused(Status.Code code, Executable call) {
    Status status = assertThrows(StatusException.class, call).getStatus();
    assertEquals(code, status.getCode(), status.toString());
    return status.getDescription();
  }

  @Test
  @DisplayName("keys that the owner adds are read by nodes, in order of their names")
  void addedKeysAreRead() throws Exception {
    assertEquals(List.of(), listed(owner));
    trust(owner).addTrustedKey(add("release", FIRST));
    trust(owner).addTrustedKey(add("development", SECOND));
    trust(owner).addTrustedKey(add("development", SECOND));

    assertEquals(List.of("development", "release"), listed(fixture.asNode()));
  }

  @Test
  @DisplayName("the node starts without a key, and gets each change")
  void changesReachTheNode() throws Exception {
    Await.value(
        fixture.trusted,
        roots -> roots.keys().isEmpty(),
        CuratorFixture.SOON,
        "the node to hear that no key is trusted");
    trust(owner).addTrustedKey(add("release", FIRST));
    Await.value(
        fixture.trusted,
        roots -> roots.find(KeyId.of(FIRST.getPublic())).isPresent(),
        CuratorFixture.SOON,
        "the node to hear of the key");
    remove("release", true);
    Await.value(
        fixture.trusted,
        roots -> roots.keys().isEmpty(),
        CuratorFixture.SOON,
        "the node to receive the key's removal");
  }

  @Test
  @Tag("attack")
  @DisplayName("a node changes no keys, and a stranger does not even read them")
  void onlyTheOwnerChangesKeys() throws Exception {
    trust(owner).addTrustedKey(add("release", FIRST));
    RemoveTrustedKeyRequest removal =
        RemoveTrustedKeyRequest.newBuilder().setName("release").setForce(true).build();
    Map<ManagedChannel, Status.Code> attackers =
        Map.of(
            fixture.asNode(), Status.Code.PERMISSION_DENIED,
            fixture.asNobody(), Status.Code.UNAUTHENTICATED);
    attackers.forEach(
        (attacker, code) -> {
          refused(code, () -> trust(attacker).addTrustedKey(add("own", SECOND)));
          refused(code, () -> trust(attacker).removeTrustedKey(removal));
        });
    refused(Status.Code.UNAUTHENTICATED, () -> listed(fixture.asNobody()));
    assertEquals(List.of("release"), listed(owner));
  }

  @Test
  @DisplayName("a name or key that is taken or malformed is refused with the reason")
  void badKeysAreRefused() throws Exception {
    trust(owner).addTrustedKey(add("release", FIRST));

    String name =
        refused(
            Status.Code.FAILED_PRECONDITION,
            () -> trust(owner).addTrustedKey(add("release", SECOND)));
    assertTrue(name.contains("belongs to another key"), name);
    String key =
        refused(
            Status.Code.FAILED_PRECONDITION, () -> trust(owner).addTrustedKey(add("other", FIRST)));
    assertTrue(key.contains("already trusts the key"), key);
    refused(
        Status.Code.INVALID_ARGUMENT, () -> trust(owner).addTrustedKey(add("Not A Name", SECOND)));
    refused(
        Status.Code.INVALID_ARGUMENT, () -> trust(owner).addTrustedKey(add("short", new byte[31])));
    refused(
        Status.Code.INVALID_ARGUMENT,
        () -> trust(owner).addTrustedKey(AddTrustedKeyRequest.getDefaultInstance()));
    String unknown = refused(Status.Code.NOT_FOUND, () -> remove("relaese", false));
    assertTrue(unknown.contains("release"), unknown);
    assertEquals(List.of("release"), listed(owner));
  }

  @Test
  @DisplayName("the last key is removed only by force, and the answer names the consequence")
  void lastKey() throws Exception {
    trust(owner).addTrustedKey(add("release", FIRST));

    String refusal = refused(Status.Code.FAILED_PRECONDITION, () -> remove("release", false));
    assertTrue(refusal.contains("release is the last trusted key"), refusal);
    assertEquals(List.of("release"), listed(owner));

    RemoveTrustedKeyResponse forced = remove("release", true);
    assertEquals(1, forced.getConsequencesCount(), forced.toString());
    assertEquals(List.of(), listed(owner));
  }

  @Test
  @DisplayName("a key of running plugins is removed only by force, and the plugins are named")
  void keyInUse() throws Exception {
    trust(owner).addTrustedKey(add("release", FIRST));
    trust(owner).addTrustedKey(add("development", SECOND));
    fixture.signed.put(KeyId.of(FIRST.getPublic()), List.of("org.example.backup:1.0.0"));

    String refusal = refused(Status.Code.FAILED_PRECONDITION, () -> remove("release", false));
    assertTrue(refusal.contains("org.example.backup:1.0.0 was signed with it and runs"), refusal);
    assertEquals(List.of(), remove("development", false).getConsequencesList());
    assertEquals(2, remove("release", true).getConsequencesCount());
  }

  @Test
  @DisplayName("keys that are added at the same time are all there afterwards")
  void concurrentAdditions() throws Exception {
    List<Callable<Object>> calls = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      AddTrustedKeyRequest request = add("key-" + i, Ed25519.generate());
      calls.add(() -> trust(owner).addTrustedKey(request));
    }
    try (ExecutorService threads = new TestThreads()) {
      for (Future<Object> call : threads.invokeAll(calls)) {
        call.get();
      }
    }
    assertEquals(20, listed(owner).size());
  }
}
