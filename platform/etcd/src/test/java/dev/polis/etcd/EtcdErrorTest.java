package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.EtcdFixture;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.LeaseRevokeRequest;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Compares the texts of {@link EtcdError} with the real etcd. */
class EtcdErrorTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  // The smallest quota with space for the file of an empty database.
  private static final int QUOTA_BYTES = 4 << 20;

  @Test
  @DisplayName("the program contains each text that is compared, to the letter")
  void textsAreThoseOfTheProgram() throws Exception {
    String program = Files.readString(EtcdBinary.folder().resolve("etcd"), ISO_8859_1);

    for (EtcdError error : EtcdError.values()) {
      assertTrue(program.contains(error.text()), error + ": \"" + error.text() + "\" is not in it");
    }
    assertFalse(program.contains("etcdserver: lease exists already"), "any text is in it");
  }

  @Test
  @DisplayName("each error that one member can be made to return is recognised")
  void answersAreRecognised() throws Exception {
    try (EtcdFixture etcd = EtcdFixture.start(1, "--quota-backend-bytes=" + QUOTA_BYTES);
        EtcdClient client = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()))) {
      LeaseGrantRequest twice = LeaseGrantRequest.newBuilder().setID(77).setTTL(60).build();
      call(client, LeaseGrpc.getLeaseGrantMethod(), twice);
      assertEquals(EtcdError.LEASE_EXISTS, refusal(client, LeaseGrpc.getLeaseGrantMethod(), twice));
      assertEquals(
          EtcdError.LEASE_NOT_FOUND,
          refusal(
              client,
              LeaseGrpc.getLeaseRevokeMethod(),
              LeaseRevokeRequest.newBuilder().setID(78).build()));

      long first = client.kv().put("/k", new byte[1]);
      client.admin().compact(client.kv().put("/k", new byte[2]));
      assertThrows(
          EtcdCompactedException.class,
          () -> client.kv().range(KeyRange.all(), RangeOptions.DEFAULT.atRevision(first)));

      assertEquals(EtcdError.NO_SPACE, errorOfFilling(client));
    }
  }

  @Test
  @DisplayName("a future revision is refused, although its code is that of a compacted one")
  void futureRevision() throws Exception {
    try (EtcdFixture etcd = EtcdFixture.start(1);
        EtcdClient client = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()))) {
      RangeOptions future = RangeOptions.DEFAULT.atRevision(1_000_000);

      EtcdRefusedException refused =
          assertThrows(EtcdRefusedException.class, () -> client.kv().range(KeyRange.all(), future));

      assertEquals(EtcdError.OTHER, refused.error());
    }
  }

  @Test
  @DisplayName("temporary errors are retried, with any code of etcd")
  void passingErrors() {
    for (Status.Code code : Status.Code.values()) {
      for (EtcdError error :
          new EtcdError[] {
            EtcdError.NO_LEADER,
            EtcdError.TOO_MANY_REQUESTS,
            EtcdError.OLD_AUTH_REVISION,
            EtcdError.LEARNER
          }) {
        Status status = Status.fromCode(code).withDescription(error.text());
        assertEquals(EtcdFailure.UNAVAILABLE, EtcdFailure.of(status, true), status::toString);
      }
    }
  }

  @Test
  @DisplayName("a change of members that etcd refuses for its health is known to have no effect")
  void unhealthy() {
    Status status = Status.UNAVAILABLE.withDescription(EtcdError.UNHEALTHY.text());
    assertEquals(EtcdFailure.REFUSED, EtcdFailure.of(status, true));
  }

  @Test
  @DisplayName("the reason of a cancelled watch, which begins with the code, is recognised")
  void cancelReason() {
    assertEquals(
        EtcdError.PERMISSION_DENIED,
        EtcdError.of("rpc error: code = PermissionDenied desc = etcdserver: permission denied"));
  }

  /** Writes until etcd refuses, since etcd compares the size of its file, which grows later. */
  private static EtcdError errorOfFilling(EtcdClient client) throws InterruptedException {
    byte[] block = new byte[1 << 19];
    long end = System.nanoTime() + SOON.toNanos();
    for (int n = 0; System.nanoTime() < end; n++) {
      try {
        client.kv().put("/big/" + n, block);
      } catch (EtcdRefusedException full) {
        return full.error();
      }
    }
    throw new AssertionError("etcd took writes beyond its quota for " + SOON);
  }

  private static <Q> EtcdError refusal(
      EtcdClient client, MethodDescriptor<Q, ?> method, Q request) {
    return assertThrows(EtcdRefusedException.class, () -> call(client, method, request)).error();
  }

  private static <Q> void call(EtcdClient client, MethodDescriptor<Q, ?> method, Q request)
      throws InterruptedException {
    client
        .connection()
        .call(method, request, EtcdConnection.Effect.ONCE, () -> method.getBareMethodName(), SOON);
  }
}
