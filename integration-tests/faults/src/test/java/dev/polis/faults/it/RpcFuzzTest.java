package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.fixtures.Await;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.plugins.StopRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every method of a running node, called with what nobody in their right mind would send.
 *
 * <p>Two calls are held back, because they rightly end what is tested: a Reboot with a type, and a
 * Stop of a bundle that exists.
 */
class RpcFuzzTest {

  /** What two cores that have other work too do in a minute; {@code -Dpolis.calls} says another. */
  private static final int CALLS =
      Integer.getInteger("polis.calls", Boolean.getBoolean("polis.long") ? 1_000_000 : 10_000);

  /** Enough that all classes are loaded, all code is compiled and all log quotas are in use. */
  private static final int WARM_UP = CALLS / 5;

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  private static final int PROBE_SECONDS = 60;

  @TempDir Path directory;

  private final Random random = new Random(SEED);
  private long heldBack;

  @Test
  @DisplayName("no message ends the node, leaks from it, or gets an answer nobody foresaw")
  void senselessMessages() throws Exception {
    System.out.printf("%d calls with -Dpolis.seed=%d%n", CALLS, SEED);
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.31.2")) {
      node.awaitHealthy();
      List<FuzzMethod> methods = FuzzMethod.all();
      FuzzMessages messages =
          new FuzzMessages(random, methods, List.of(node.id(), node.address()), node.keys());
      FuzzCalls calls = new FuzzCalls(random);
      fire(node, methods, messages, calls, WARM_UP);
      Footprint before = node.footprint();
      long started = System.nanoTime();
      fire(node, methods, messages, calls, CALLS - WARM_UP);
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - started);
      report(calls, seconds);
      requireBounded(node, before);
      assertEquals(Map.of(), calls.offenders(), "calls that ended as none may");
      node.requireAlive();
      node.awaitHealthy();
    }
  }

  /** All connections are the round's own, so that what they hold is gone after it. */
  private void fire(
      FaultNode node, List<FuzzMethod> methods, FuzzMessages messages, FuzzCalls calls, int count)
      throws Exception {
    Map<String, List<ManagedChannel>> listeners = listeners(node);
    Map<FuzzMethod, List<ManagedChannel>> served = new LinkedHashMap<>();
    for (FuzzMethod method : methods) {
      served.put(method, serving(method, listeners));
    }
    List<ManagedChannel> all = listeners.values().stream().flatMap(List::stream).toList();
    for (int call = 0; call < count; call++) {
      FuzzMethod method = methods.get(random.nextInt(methods.size()));
      List<ManagedChannel> channels = random.nextInt(50) == 0 ? all : served.get(method);
      List<byte[]> content = content(method, messages);
      if (endsTheTest(method, content)) {
        heldBack++;
      } else {
        calls.call(channels.get(random.nextInt(channels.size())), method, content);
      }
    }
    calls.settle();
    for (ManagedChannel channel : all) {
      channel.shutdownNow();
      assertTrue(channel.awaitTermination(PROBE_SECONDS, TimeUnit.SECONDS), "a channel stays");
    }
    node.requireAlive();
  }

  private static Map<String, List<ManagedChannel>> listeners(FaultNode node) {
    Map<String, List<ManagedChannel>> listeners = new LinkedHashMap<>();
    for (int port : new int[] {FaultNode.CURATOR, FaultNode.MANAGEMENT}) {
      listeners.put(
          "port " + port,
          List.of(
              node.dial(node.asOwner(), port),
              node.dial(node.asNode(), port),
              node.dial(node.asNobody(), port)));
    }
    listeners.put("debug", List.of(node.dialDebug()));
    return listeners;
  }

  /** The channels to the listener that serves a method. */
  private static List<ManagedChannel> serving(
      FuzzMethod method, Map<String, List<ManagedChannel>> listeners) throws Exception {
    for (List<ManagedChannel> channels : listeners.values()) {
      Status status = probe(method, channels.getLast());
      if (status.getCode() != Status.Code.UNIMPLEMENTED
          || !String.valueOf(status.getDescription()).contains("knows no such method")) {
        return channels;
      }
    }
    throw new AssertionError("no listener of this node serves " + method.name());
  }

  private static Status probe(FuzzMethod method, ManagedChannel channel) throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<byte[], byte[]> call = channel.newCall(method.call(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(byte[] answer) {
            call.cancel("it is served", null);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(new byte[0]);
    call.halfClose();
    return end.get(PROBE_SECONDS, TimeUnit.SECONDS);
  }

  private List<byte[]> content(FuzzMethod method, FuzzMessages messages) {
    int count =
        switch (random.nextInt(40)) {
          case 0 -> 0;
          case 1 -> 2 + random.nextInt(3);
          default -> 1;
        };
    List<byte[]> content = new ArrayList<>();
    for (int message = 0; message < count; message++) {
      content.add(messages.next(method.request()));
    }
    return content;
  }

  private static boolean endsTheTest(FuzzMethod method, List<byte[]> content) {
    return switch (method.name()) {
      case "metropolis.proto.api.NodeManagement/Reboot" ->
          content.stream().anyMatch(RpcFuzzTest::reboots);
      case "polis.node.plugins.Plugins/Stop" -> content.stream().anyMatch(RpcFuzzTest::stops);
      default -> false;
    };
  }

  private static boolean reboots(byte[] message) {
    try {
      return RebootRequest.parseFrom(message).getType() != RebootRequest.Type.TYPE_UNSPECIFIED;
    } catch (InvalidProtocolBufferException unreadable) {
      return false;
    }
  }

  private static boolean stops(byte[] message) {
    try {
      return StopRequest.parseFrom(message).getSymbolicName().contains("polis");
    } catch (InvalidProtocolBufferException unreadable) {
      return false;
    }
  }

  private void report(FuzzCalls calls, long seconds) {
    System.out.printf(
        "%d calls after the warm-up took %d s; held back %d (Reboot with a type, Stop of a bundle); ended %s%n",
        CALLS - WARM_UP, seconds, heldBack, calls.ends());
    System.out.printf("answered or refused by their handlers: %s%n", calls.reached());
    new TreeMap<>(calls.offenders())
        .forEach((kind, example) -> System.out.printf("OFFENDER %s%n  %s%n", kind, example));
  }

  /**
   * What the calls used is given back, soon after the last connection is closed. A few threads and
   * descriptors more are pools that grow to their size, 16 MiB of heap are logs and counters.
   */
  private static void requireBounded(FaultNode node, Footprint before) throws Exception {
    System.out.printf("before %s%n", before);
    List<Footprint> last = new ArrayList<>();
    try {
      Await.until(
          FaultNode.PATIENCE,
          "the node to hold no more than before",
          () -> {
            Footprint now = node.footprint();
            last.add(now);
            return now.threads() <= before.threads() + 16
                && now.virtualThreads() <= before.virtualThreads() + 16
                && now.descriptors() <= before.descriptors() + 16
                && now.heapKib() <= before.heapKib() + (16 << 10)
                && now.residentKib() <= before.residentKib() + (96 << 10);
          });
    } finally {
      System.out.printf("after  %s%n", last.isEmpty() ? "nothing" : last.getLast());
    }
  }
}
