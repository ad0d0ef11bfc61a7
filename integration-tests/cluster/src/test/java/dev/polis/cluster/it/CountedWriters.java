package dev.polis.cluster.it;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.logtree.LogTree;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RequestId;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.cluster.AddOperatorRequest;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.OperatorRole;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.RemoveOperatorRequest;
import dev.polis.wire.cluster.RemoveTrustedKeyRequest;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.TrustedKey;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.MetadataUtils;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes changes that count, each with another id, and repeats a change with its id until it is
 * answered. Each writer alone changes one record, and each of its changes changes the record, so
 * etcd's version of the record counts the changes that were made. A second removal of a key or of
 * an operator, and a second addition after the removal, would also be seen by its answer.
 */
final class CountedWriters implements AutoCloseable {

  /** The ends of the keys of the changed records. */
  static final List<String> RECORDS =
      List.of("/global/register_ticket", "/plugins/trusted_keys", "/global/operators");

  private static final String NAME = "counted";

  private static final long CALL_MILLIS = 700;

  /** The pause after an attempt without an answer. */
  private static final long PAUSE_NANOS = 20_000_000;

  /** The pause after each answer in the short form, which leaves the processors to the nodes. */
  private static final long BREATH_NANOS = Tier.pick(20_000_000, 20_000_000, 0);

  /** The ends of an attempt that leave its outcome open, or changed nothing. */
  private static final Set<Status.Code> REPEATED =
      EnumSet.of(
          Status.Code.UNAVAILABLE,
          Status.Code.UNKNOWN,
          Status.Code.CANCELLED,
          Status.Code.DEADLINE_EXCEEDED);

  private final LeaderResolver resolver;
  private final ManagedChannel leader;
  private final List<Thread> writers = new ArrayList<>();
  private final Map<String, Long> acknowledged = new ConcurrentHashMap<>();
  private final AtomicLong repeated = new AtomicLong();
  private final Queue<String> refused = new ConcurrentLinkedQueue<>();
  private volatile boolean over;

  /** Makes the change of a number with the stubs of a channel. */
  private interface Change {
    void make(Channel leader, long number) throws StatusException;
  }

  /** Starts the writers, as the owner of a cluster. */
  CountedWriters(RpcClients owner, List<NodeEndpoint> endpoints) {
    resolver = LeaderResolver.fixed(endpoints, owner, LogTree.create().log("resolver"));
    leader = resolver.channel();
    ByteString key = ByteString.copyFrom(Ed25519.raw(Ed25519.generate().getPublic()));
    List<Change> changes =
        List.of(
            (channel, _) ->
                RegisterTicketsGrpc.newBlockingV2Stub(channel)
                    .replaceTicket(ReplaceTicketRequest.getDefaultInstance()),
            (channel, number) -> changeKey(channel, number, key),
            (channel, number) -> changeOperator(channel, number, key));
    for (int n = 0; n < RECORDS.size(); n++) {
      String record = RECORDS.get(n);
      Change change = changes.get(n);
      acknowledged.put(record, 0L);
      writers.add(Thread.ofVirtual().name("writer of " + record).start(() -> run(record, change)));
    }
  }

  private static void changeKey(Channel channel, long number, ByteString key)
      throws StatusException {
    PluginTrustGrpc.PluginTrustBlockingV2Stub keys = PluginTrustGrpc.newBlockingV2Stub(channel);
    if (number % 2 == 1) {
      keys.addTrustedKey(
          AddTrustedKeyRequest.newBuilder()
              .setKey(TrustedKey.newBuilder().setName(NAME).setPublicKey(key))
              .build());
    } else {
      keys.removeTrustedKey(
          RemoveTrustedKeyRequest.newBuilder().setName(NAME).setForce(true).build());
    }
  }

  private static void changeOperator(Channel channel, long number, ByteString key)
      throws StatusException {
    OperatorsGrpc.OperatorsBlockingV2Stub operators = OperatorsGrpc.newBlockingV2Stub(channel);
    if (number % 2 == 1) {
      operators.addOperator(
          AddOperatorRequest.newBuilder()
              .setName(NAME)
              .setPublicKey(key)
              .setRole(OperatorRole.OPERATOR_ROLE_VIEWER)
              .build());
    } else {
      operators.removeOperator(RemoveOperatorRequest.newBuilder().setName(NAME).build());
    }
  }

  private void run(String record, Change change) {
    RequestId id = RequestId.first(new SecureRandom());
    // The last change removes what the first one has added.
    while ((!over || id.number() % 2 == 0) && write(id, change)) {
      acknowledged.merge(record, 1L, Long::sum);
      id = id.next();
      LockSupport.parkNanos(BREATH_NANOS);
    }
  }

  /** Makes one change; returns false if it is refused. */
  private boolean write(RequestId id, Change change) {
    Metadata headers = new Metadata();
    headers.put(RequestId.HEADER, id.text());
    Channel withId =
        ClientInterceptors.intercept(
            leader, MetadataUtils.newAttachHeadersInterceptor(headers), new Timed());
    while (true) {
      try {
        change.make(withId, id.number());
        return true;
      } catch (StatusException failed) {
        if (!REPEATED.contains(failed.getStatus().getCode())) {
          refused.add(id.text() + ": " + failed.getStatus());
          return false;
        }
        repeated.incrementAndGet();
        leader.resetConnectBackoff();
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  /** Bounds the time of each attempt. */
  private static final class Timed implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return next.newCall(method, options.withDeadlineAfter(CALL_MILLIS, TimeUnit.MILLISECONDS));
    }
  }

  private long sum() {
    return acknowledged.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Waits for further acknowledged changes. */
  void awaitProgress(int more, String when) throws Exception {
    long wanted = sum() + more;
    Await.until(
        TestNode.PATIENCE,
        more + " changes " + when,
        () -> sum() >= wanted || !refused.isEmpty(),
        this::toString);
  }

  /** Ends each writer after the answer to its last change; returns the numbers by record. */
  Map<String, Long> settle() throws Exception {
    over = true;
    for (Thread each : writers) {
      Await.end(each);
    }
    return Map.copyOf(acknowledged);
  }

  /** Returns the refusals, of which there must be none. */
  List<String> refused() {
    return List.copyOf(refused);
  }

  @Override
  public String toString() {
    return "changes acknowledged: %s; %d attempts repeated, %d refused: %s"
        .formatted(acknowledged, repeated.get(), refused.size(), refused);
  }

  @Override
  public void close() {
    over = true;
    leader.shutdownNow();
    resolver.close();
  }
}
