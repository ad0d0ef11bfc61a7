package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.logtree.LogTree;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.wire.api.ManagementGrpc;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class CallRouterTest {
  private final LogTree logs = LogTree.create();
  private final EventLoopGroup events =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final HeapRoom heap = new HeapRoom(logs.log("rpc"));
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private final List<Status> ends = new ArrayList<>();
  private final CallRouter router =
      new CallRouter(
          RpcHost.CURATOR,
          new CallIdentity(InstantSource.system(), LogTree.create().log("rpc")),
          new CallLog(
              logs, new CallAudit(AuditLog.discarding(logs.log("rpc.audit"))), RpcHost.CURATOR),
          new Semaphore(1),
          RpcSettings.Limits.DEFAULT,
          heap,
          new RequestRoom(1 << 20, most -> RpcException.invalid("more than " + most)),
          waiting::add,
          events);

  @AfterEach
  void stop() throws Exception {
    heap.close();
    events.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
  }

  /** Stands for a call without a connection, and keeps its end. */
  private final class Call extends ServerCall<Object, Object> {
    private final MethodDescriptor<Object, Object> method;
    private final Attributes attributes;

    Call(MethodDescriptor<Object, Object> method, Attributes attributes) {
      this.method = method;
      this.attributes = attributes;
    }

    @Override
    public void request(int messages) {}

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(Object message) {}

    @Override
    public void close(Status status, Metadata trailers) {
      ends.add(status);
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public MethodDescriptor<Object, Object> getMethodDescriptor() {
      return method;
    }

    @Override
    public Attributes getAttributes() {
      return attributes;
    }
  }

  // The router does not use its methods' types.
  @SuppressWarnings("unchecked")
  private ServerStreamTracer begin(ConnectionGate.Pass pass) throws Exception {
    ServerMethodDefinition<Object, Object> method =
        (ServerMethodDefinition<Object, Object>)
            router.lookupMethod(ManagementGrpc.getGetNodesMethod().getFullMethodName(), "");
    Attributes attributes = Attributes.newBuilder().set(ConnectionGate.Pass.KEY, pass).build();
    ServerStreamTracer tracer =
        new RequestBytes.Factory().newServerStreamTracer("", new Metadata());
    Context counting = tracer.filterContext(Context.current());
    events
        .submit(
            counting.wrap(
                () -> {
                  method
                      .getServerCallHandler()
                      .startCall(
                          new Call(method.getMethodDescriptor(), attributes), new Metadata());
                }))
        .get();
    return tracer;
  }

  private ConnectionGate.Pass enter() {
    StrangerRoom room =
        new StrangerRoom(
            ConnectionLimits.DEFAULT, new StrangerCalls(4, 4, 1, 1 << 20, Duration.ofHours(1)));
    return new ConnectionGate(room)
        .enter(InetAddress.getLoopbackAddress(), displaced -> {})
        .orElseThrow();
  }

  private void admit() {
    for (Runnable next = waiting.poll(); next != null; next = waiting.poll()) {
      next.run();
    }
  }

  @Test
  @DisplayName(
      "a call that gRPC has ended with a status of its own, as for a request that is too large, gets no second one, which would end the connection")
  void endedByGrpc() throws Exception {
    router.add(
        RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()).bindService(), Set.of(), 0);
    begin(enter()).streamClosed(Status.RESOURCE_EXHAUSTED);
    admit();
    assertEquals(List.of(), ends);
    assertEquals(0, router.open());
  }

  @Test
  @Tag("attack")
  @DisplayName("no memory is kept of a stranger's call that is displaced before it is admitted")
  void displacedBeforeItIsAdmitted() throws Exception {
    router.add(
        RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()).bindService(), Set.of(), 0);
    ConnectionGate.Pass pass = enter();
    begin(pass);
    begin(pass);
    assertEquals(List.of(Status.Code.UNAVAILABLE), ends.stream().map(Status::getCode).toList());
    admit();
    assertEquals(
        List.of(Status.Code.UNAVAILABLE, Status.Code.UNAUTHENTICATED),
        ends.stream().map(Status::getCode).toList());
    assertEquals(0, router.open());
  }
}
