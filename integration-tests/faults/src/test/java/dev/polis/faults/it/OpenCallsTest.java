package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opens very many calls of each method that strangers may call, at all ports of a node at once. */
@Tag("full")
class OpenCallsTest {

  private static final int CONNECTIONS = 16;

  /** Nearly as many as a connection allows; over all ports more than ever ended a node. */
  private static final int CALLS_EACH = 250;

  private static final List<Integer> PORTS =
      List.of(FaultNode.CURATOR, FaultNode.MANAGEMENT, FaultNode.DEBUG);

  @TempDir Path directory;

  /** Counts the ends of calls. */
  private static final class Ends extends ClientCall.Listener<byte[]> {
    private final Map<Status.Code, AtomicInteger> codes;

    Ends(Map<Status.Code, AtomicInteger> codes) {
      this.codes = codes;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      codes.computeIfAbsent(status.getCode(), code -> new AtomicInteger()).incrementAndGet();
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("12,000 open calls of every method that strangers may call end, and the node stays")
  void openCallsOfEveryOpenMethod() throws Exception {
    List<FuzzMethod> open = FuzzMethod.all().stream().filter(FuzzMethod::open).toList();
    Map<Status.Code, AtomicInteger> ends = new ConcurrentHashMap<>();
    List<ManagedChannel> channels = new ArrayList<>();
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.7")) {
      node.awaitHealthy();
      Footprint before = node.footprint();
      try (Bystanders others = Bystanders.of(node)) {
        for (int port : PORTS) {
          FuzzCredential who =
              port == FaultNode.DEBUG ? FuzzCredential.PLAINTEXT : FuzzCredential.SELF_SIGNED;
          for (int connection = 0; connection < CONNECTIONS; connection++) {
            ManagedChannel channel = who.dial(node, port);
            channels.add(channel);
            for (int call = 0; call < CALLS_EACH; call++) {
              begin(channel, open.get(call % open.size()), call % 2 == 0, new Ends(ends));
            }
          }
        }
        int all = PORTS.size() * CONNECTIONS * CALLS_EACH;
        // Strangers have 256 places; a call with a place may stay.
        Await.until(
            "all calls but those with a place to end, of " + all,
            () -> ends.values().stream().mapToInt(AtomicInteger::get).sum() >= all - 256);
        System.out.printf("%d open calls ended %s; others had %s%n", all, ends, others);
        node.requireAlive();
        others.check("open calls");
        assertTrue(ends.containsKey(Status.Code.UNAVAILABLE), ends::toString);
      } finally {
        channels.forEach(ManagedChannel::shutdownNow);
      }
      node.awaitNoMoreThan(before);
      node.awaitHealthy();
    }
  }

  /** Begins a call that is never half-closed, with an empty request or without one. */
  private static void begin(ManagedChannel channel, FuzzMethod method, boolean asks, Ends ends) {
    ClientCall<byte[], byte[]> call = channel.newCall(method.call(), CallOptions.DEFAULT);
    call.start(ends, new Metadata());
    call.request(1);
    if (asks) {
      call.sendMessage(new byte[0]);
    }
  }
}
