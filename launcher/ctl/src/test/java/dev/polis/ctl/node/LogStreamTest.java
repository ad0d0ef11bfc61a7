package dev.polis.ctl.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRegistration;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.logtree.LogEntry;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** Follows the log of a host whose service for logs is replaced. */
@Timeout(240)
final class LogStreamTest {
  private static final int SWAPS = Integer.getInteger("polis.swaps", 200);

  /** The lines between two swaps, fewer than a follower may lag behind. */
  private static final int LINES = 20;

  private final LogTree logs = LogTree.create();
  private LocalRpcHost host;
  private ManagedChannel channel;

  /** Answers requests for logs, like each version of the debug organ. */
  private class Endpoint extends NodeDebugServiceGrpc.NodeDebugServiceImplBase {
    final CallStreams streams = new CallStreams();

    @Override
    public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
      new LogCalls(logs, streams, 16).serve(request, caller);
    }
  }

  @BeforeEach
  void listen() {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(RpcHost.CURATOR, any, true),
                    new RpcSettings.Listener(RpcHost.MANAGEMENT, any, true),
                    new RpcSettings.Listener(RpcHost.DEBUG, any, false)),
                RpcSettings.Limits.DEFAULT),
            LogTree.create());
  }

  @AfterEach
  void close() {
    channel.shutdownNow();
    host.close();
  }

  private LogStream stream() {
    LogsRequest request =
        LogsRequest.newBuilder()
            .setDn("test")
            .setBacklogMode(LogsRequest.BacklogMode.BACKLOG_MODE_ALL)
            .setStreamMode(LogsRequest.StreamMode.STREAM_MODE_UNBUFFERED)
            .build();
    return new LogStream(NodeDebugServiceGrpc.newBlockingV2Stub(channel)::logs, request);
  }

  private static Stream<Integer> numbers(LogsResponse response) {
    return Stream.concat(
            response.getBacklogEntriesList().stream(), response.getStreamEntriesList().stream())
        .map(LogEntry::getLeveled)
        .map(leveled -> Integer.valueOf(leveled.getLines(0)));
  }

  @Test
  @DisplayName("a follower gets each line once, in order, while the service behind it is replaced")
  void followersGoOn() throws Exception {
    Endpoint present = new Endpoint();
    RpcRegistration served = host.serve(RpcHost.DEBUG, present);
    channel = RpcClients.plaintext(host.address(RpcHost.DEBUG));
    List<List<Integer>> seen = List.of(new CopyOnWriteArrayList<>(), new ArrayList<>());
    List<AtomicInteger> newest = List.of(new AtomicInteger(), new AtomicInteger());
    List<FutureTask<Void>> followers = new ArrayList<>();
    int all = SWAPS * LINES;
    for (int i = 0; i < seen.size(); i++) {
      List<Integer> lines = seen.get(i);
      AtomicInteger last = newest.get(i);
      FutureTask<Void> follower =
          new FutureTask<>(
              () -> {
                stream()
                    .read(
                        response -> {
                          numbers(response).forEach(lines::add);
                          last.set(lines.size());
                          return lines.size() < all;
                        });
                return null;
              });
      Thread.startVirtualThread(follower);
      followers.add(follower);
    }
    for (int swap = 0; swap < SWAPS; swap++) {
      for (int line = 0; line < LINES; line++) {
        logs.log("test").info("%d", swap * LINES + line);
      }
      Endpoint next = new Endpoint();
      RpcRegistration follows = host.serve(RpcHost.DEBUG, next);
      served.close();
      present.streams.close();
      present = next;
      served = follows;
      int logged = (swap + 1) * LINES;
      // Lines that a slow follower misses do not matter here.
      for (AtomicInteger each : newest) {
        Await.until("each line to arrive", () -> each.get() >= logged);
      }
    }
    for (FutureTask<Void> follower : followers) {
      follower.get();
    }
    List<Integer> wanted = IntStream.range(0, all).boxed().toList();
    for (List<Integer> lines : seen) {
      assertEquals(wanted, List.copyOf(lines));
    }
  }

  @Test
  @DisplayName(
      "a name without a log is refused with the name that was meant; a name whose entries are all"
          + " filtered out prints nothing")
  void aNameWithoutALog() throws Exception {
    host.serve(RpcHost.DEBUG, new Endpoint());
    channel = RpcClients.plaintext(host.address(RpcHost.DEBUG));
    logs.log("root.consensus.etcd").info("started");

    CtlException refusal = assertThrows(CtlException.class, () -> printed("root.consenus"));
    assertEquals(ExitCode.NOT_FOUND, refusal.exitCode());
    assertEquals(
        "the node has no log \"root.consenus\"; did you mean \"root.consensus\"?",
        refusal.getMessage());

    assertEquals("", printed("root.consensus"));
    assertEquals("", printed("root.consensus.etcd", "--severity", "ERROR"));
    assertTrue(printed("root.consensus.etcd").contains("started"));
  }

  private String printed(String dn, String... options) throws Exception {
    LogPrinter printer = new LogPrinter();
    CommandLine line = new CommandLine(printer);
    List<String> all = new ArrayList<>(List.of("--dn", dn, "--exact"));
    all.addAll(List.of(options));
    line.parseArgs(all.toArray(String[]::new));
    StringWriter out = new StringWriter();
    LogPrinter.print(
        printer.request(line),
        NodeDebugServiceGrpc.newBlockingV2Stub(channel)::logs,
        new PrintWriter(out, true));
    return out.toString();
  }

  @Test
  @DisplayName("a stream continues after a time without a service, and ends for any other reason")
  void aGapInServiceIsNoEnd() throws Exception {
    RpcRegistration served = host.serve(RpcHost.DEBUG, new Endpoint());
    channel = RpcClients.plaintext(host.address(RpcHost.DEBUG));
    List<Integer> lines = new CopyOnWriteArrayList<>();
    FutureTask<Void> follower =
        new FutureTask<>(
            () -> {
              stream()
                  .read(
                      response -> {
                        numbers(response).forEach(lines::add);
                        return true;
                      });
              return null;
            });
    logs.log("test").info("1");
    Thread.startVirtualThread(follower);
    Await.until("the first line", () -> lines.size() == 1);
    served.close();
    logs.log("test").info("2");
    RpcRegistration again = host.serve(RpcHost.DEBUG, new Endpoint());
    Await.until("the second line", () -> lines.equals(List.of(1, 2)));
    again.close();
    host.serve(
        RpcHost.DEBUG,
        new Endpoint() {
          @Override
          public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
            caller.onError(Status.PERMISSION_DENIED.asRuntimeException());
          }
        });
    StatusException end =
        (StatusException) assertThrows(ExecutionException.class, follower::get).getCause();
    assertEquals(Status.Code.PERMISSION_DENIED, end.getStatus().getCode());
  }
}
