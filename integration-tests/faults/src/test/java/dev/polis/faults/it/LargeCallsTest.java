package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.wire.curator.RegisterNodeRequest;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sends many messages of the largest size at the same time, from strangers and from members. */
@Tag("full")
class LargeCallsTest {

  private static final int CONNECTIONS = 4;

  /** So many that together they have ten times the memory of a node. */
  private static final int CALLS_EACH = 64;

  private static final int CALL_SECONDS = 120;

  /** The node's limit, less the message's bytes besides its ticket. */
  private static final int TICKET = (4 << 20) - 1024;

  /**
   * The allowed ends: served and refused, refused as too large, or cut off with a connection that
   * sent too much.
   */
  private static final Set<Status.Code> ALLOWED =
      EnumSet.of(
          Status.Code.FAILED_PRECONDITION,
          Status.Code.INVALID_ARGUMENT,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNAUTHENTICATED,
          Status.Code.RESOURCE_EXHAUSTED,
          Status.Code.UNAVAILABLE);

  @TempDir Path directory;

  @Test
  @Tag("attack")
  @DisplayName("more large messages than a node has memory for are refused, and the node stays")
  void moreThanThereIsMemoryFor() throws Exception {
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.6")) {
      node.awaitHealthy();
      Footprint before = node.footprint();
      try (Bystanders others = Bystanders.of(node)) {
        for (FuzzCredential caller : List.of(FuzzCredential.SELF_SIGNED, FuzzCredential.OWNER)) {
          Map<Status.Code, Integer> ends = attack(node, caller);
          System.out.printf(
              "%d messages of 4 MiB at a time of %s ended %s; others had %s%n",
              CONNECTIONS * CALLS_EACH, caller, ends, others);
          node.requireAlive();
          others.check("large messages");
          assertEquals(CONNECTIONS * CALLS_EACH, ends.values().stream().mapToInt(n -> n).sum());
          assertTrue(ALLOWED.containsAll(ends.keySet()), () -> "ended as none may: " + ends);
        }
      }
      node.awaitNoMoreThan(before);
      node.awaitHealthy();
    }
  }

  private static Map<Status.Code, Integer> attack(FaultNode node, FuzzCredential caller)
      throws Exception {
    byte[] message =
        RegisterNodeRequest.newBuilder()
            .setRegisterTicket(ByteString.copyFrom(new byte[TICKET]))
            .build()
            .toByteArray();
    FuzzMethod method =
        FuzzMethod.named("metropolis.node.core.curator.proto.api.Curator/RegisterNode");
    List<ManagedChannel> channels = new ArrayList<>();
    List<Future<Status.Code>> calls = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int connection = 0; connection < CONNECTIONS; connection++) {
        ManagedChannel channel = caller.dial(node, FaultNode.CURATOR);
        channels.add(channel);
        for (int call = 0; call < CALLS_EACH; call++) {
          calls.add(threads.submit(() -> call(channel, method, message)));
        }
      }
    }
    // Closes its connections, too, so that the node can release all that it took.
    channels.forEach(ManagedChannel::shutdownNow);
    Map<Status.Code, Integer> ends = new TreeMap<>();
    for (Future<Status.Code> call : calls) {
      ends.merge(call.get(), 1, Integer::sum);
    }
    return ends;
  }

  private static Status.Code call(ManagedChannel channel, FuzzMethod method, byte[] message) {
    try {
      ClientCalls.blockingUnaryCall(
          channel,
          method.call(),
          CallOptions.DEFAULT.withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS),
          message);
      return Status.Code.OK;
    } catch (StatusRuntimeException refused) {
      return code(refused.getStatus());
    }
  }

  /** The node ends a connection whose bytes no longer fit, which gRPC reports as INTERNAL. */
  private static Status.Code code(Status status) {
    boolean cutOff = String.valueOf(status.getDescription()).contains("of direct memory");
    return cutOff ? Status.Code.UNAVAILABLE : status.getCode();
  }
}
