package dev.polis.cluster.it;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RequestId;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.MetadataUtils;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Replaces the ticket of a cluster again and again, each time with another id, and repeats a change
 * with its id until it is answered. The cluster's etcd counts how often the ticket was written.
 */
final class CountedWriters implements AutoCloseable {

  private static final int WRITERS = 4;

  private static final long CALL_MILLIS = 700;

  /** The pause after an attempt without an answer. */
  private static final long PAUSE_NANOS = 20_000_000;

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
  private final AtomicLong acknowledged = new AtomicLong();
  private final AtomicLong repeated = new AtomicLong();
  private final Queue<String> refused = new ConcurrentLinkedQueue<>();
  private volatile boolean over;

  /** Starts the writers, as the owner of a cluster. */
  CountedWriters(RpcClients owner, List<NodeEndpoint> endpoints) {
    resolver = LeaderResolver.fixed(endpoints, owner, LogTree.create().log("resolver"));
    leader = resolver.channel();
    for (int n = 0; n < WRITERS; n++) {
      writers.add(Thread.ofVirtual().name("counted writer " + n).start(this::run));
    }
  }

  private void run() {
    RequestId id = RequestId.first(new SecureRandom());
    while (!over && write(id)) {
      id = id.next();
    }
  }

  /** Makes one change; returns false if it is refused. */
  private boolean write(RequestId id) {
    Metadata headers = new Metadata();
    headers.put(RequestId.HEADER, id.text());
    while (true) {
      try {
        RegisterTicketsGrpc.newBlockingV2Stub(leader)
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
            .withDeadlineAfter(CALL_MILLIS, TimeUnit.MILLISECONDS)
            .replaceTicket(ReplaceTicketRequest.getDefaultInstance());
        acknowledged.incrementAndGet();
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

  /** Waits for further acknowledged changes. */
  void awaitProgress(int more, String when) throws Exception {
    long wanted = acknowledged.get() + more;
    Await.until(
        TestNode.PATIENCE,
        more + " changes " + when,
        () -> acknowledged.get() >= wanted || !refused.isEmpty(),
        this::toString);
  }

  /** Ends each writer after the answer to its last change, and returns the number of changes. */
  long settle() throws Exception {
    over = true;
    for (Thread each : writers) {
      Await.end(each);
    }
    return acknowledged.get();
  }

  /** Returns the refusals, of which there must be none. */
  List<String> refused() {
    return List.copyOf(refused);
  }

  @Override
  public String toString() {
    return "%d changes acknowledged, %d attempts repeated, %d refused: %s"
        .formatted(acknowledged.get(), repeated.get(), refused.size(), refused);
  }

  @Override
  public void close() {
    over = true;
    leader.shutdownNow();
    resolver.close();
  }
}
