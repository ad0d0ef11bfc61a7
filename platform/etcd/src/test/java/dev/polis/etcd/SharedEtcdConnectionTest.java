package dev.polis.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.EtcdFixture;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.grpc.MethodDescriptor;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SharedEtcdConnectionTest {

  private static EtcdFixture etcd;

  private final AtomicReference<EtcdAccess> access =
      new AtomicReference<>(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub("shared"));
  private final SharedEtcdConnection shared = new SharedEtcdConnection(access::get);

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @Test
  @DisplayName("clients share a connection, which ends with the last of them and not before")
  void oneConnection() throws Exception {
    EtcdClient first = shared.connect();
    EtcdClient second = shared.connect();
    assertSame(first.connection(), second.connection());

    first.close();
    first.close();

    second.kv().put("key", "value".getBytes(StandardCharsets.UTF_8));
    assertEquals(1, second.kv().range(KeyRange.all()).keys().size());
    second.close();
    assertTrue(second.connection().isClosed(), "the connection outlived its last client");
    try (EtcdClient third = shared.connect()) {
      assertEquals(1, third.kv().range(KeyRange.all()).keys().size());
    }
  }

  @Test
  @DisplayName("closing a client ends only the watches and leases that were opened through it")
  void ownResources() throws Exception {
    EtcdClient first = shared.connect();
    EtcdWatch own = first.watch(KeyRange.all(), WatchOptions.snapshot());
    try (EtcdClient second = shared.connect();
        EtcdWatch other = second.watch(KeyRange.all(), WatchOptions.snapshot())) {
      first.close();

      assertThrows(EtcdClosedException.class, () -> first.election(null));
      assertThrows(
          EtcdClosedException.class,
          () -> {
            own.next();
            own.next();
          });
      assertInstanceOf(WatchUpdate.Snapshot.class, other.next());
    }
  }

  @Test
  @DisplayName("a call whose client is closed while it is being sent ends with that reason")
  void closedWhileSent() throws Exception {
    EtcdClient client = shared.connect();
    client.kv().range(KeyRange.all()); // connects
    MethodDescriptor<RangeRequest, RangeResponse> range = KVGrpc.getRangeMethod();
    MethodDescriptor.Marshaller<RangeRequest> closing =
        new MethodDescriptor.Marshaller<>() {
          @Override
          public InputStream stream(RangeRequest request) {
            client.close();
            return range.streamRequest(request);
          }

          @Override
          public RangeRequest parse(InputStream stream) {
            return range.parseRequest(stream);
          }
        };

    String message =
        assertThrows(
                EtcdClosedException.class,
                () ->
                    client
                        .connection()
                        .call(
                            range.toBuilder(closing, range.getResponseMarshaller()).build(),
                            RangeRequest.getDefaultInstance(),
                            EtcdConnection.Effect.REPEATABLE,
                            () -> "list",
                            EtcdConnection.DEFAULT_DEADLINE))
            .getMessage();

    assertTrue(message.contains("is closed; its owner must open a new one"), message);
  }

  @Test
  @DisplayName("another access gets another connection; open clients keep theirs")
  void changedAccess() throws Exception {
    try (EtcdClient before = shared.connect()) {
      access.set(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub("elsewhere"));
      try (EtcdClient after = shared.connect()) {
        assertNotSame(before.connection(), after.connection());
        assertEquals("namespaced:shared/", before.namespace().prefix());
        assertEquals("namespaced:elsewhere/", after.namespace().prefix());
      }
      assertFalse(before.connection().isClosed(), "an open client lost its connection");
    }
  }
}
