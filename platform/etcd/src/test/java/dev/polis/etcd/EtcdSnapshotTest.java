package dev.polis.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import io.etcd.jetcd.api.MaintenanceGrpc;
import io.etcd.jetcd.api.SnapshotRequest;
import io.etcd.jetcd.api.SnapshotResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ClientStreamTracer;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Closes a snapshot with an unread part on the way. */
class EtcdSnapshotTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  private final AtomicInteger arrived = new AtomicInteger();
  private final AtomicInteger released = new AtomicInteger();

  private Server server;
  private ManagedChannel channel;
  private EtcdSnapshot snapshot;

  /** Sends two parts and leaves the stream open. */
  private static final class TwoParts extends MaintenanceGrpc.MaintenanceImplBase {
    @Override
    public void snapshot(SnapshotRequest request, StreamObserver<SnapshotResponse> caller) {
      SnapshotResponse part =
          SnapshotResponse.newBuilder().setBlob(ByteString.copyFrom(new byte[] {1})).build();
      caller.onNext(part);
      caller.onNext(part);
    }
  }

  /** Counts the messages that have arrived, each with buffers that a reader releases. */
  private final class Arrivals extends ClientStreamTracer.Factory implements ClientInterceptor {
    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      return new ClientStreamTracer() {
        @Override
        public void inboundMessageRead(int number, long wire, long plain) {
          arrived.incrementAndGet();
        }
      };
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return next.newCall(method, options.withStreamTracerFactory(this));
    }
  }

  /** Counts the read messages, whose buffers gRPC then releases. */
  private final class Counting implements MethodDescriptor.Marshaller<SnapshotResponse> {
    private final MethodDescriptor<SnapshotRequest, SnapshotResponse> method =
        MaintenanceGrpc.getSnapshotMethod();

    @Override
    public InputStream stream(SnapshotResponse part) {
      return method.streamResponse(part);
    }

    @Override
    public SnapshotResponse parse(InputStream bytes) {
      released.incrementAndGet();
      return method.parseResponse(bytes);
    }
  }

  @BeforeEach
  void readOnePart() throws Exception {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new TwoParts())
            .build()
            .start();
    channel =
        NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getPort()))
            .usePlaintext()
            .build();
    MethodDescriptor<SnapshotRequest, SnapshotResponse> method =
        MaintenanceGrpc.getSnapshotMethod();
    snapshot =
        new EtcdSnapshot(
            EtcdEndpoint.of("127.0.0.1:" + server.getPort()),
            ClientInterceptors.intercept(channel, new Arrivals()),
            method.toBuilder(method.getRequestMarshaller(), new Counting()).build());
    // A reader of one part has requested the next one.
    assertEquals(1, snapshot.next(SOON).orElseThrow().data().length);
    Await.until(SOON, "the second part to arrive", () -> arrived.get() == 2);
    assertEquals(1, released.get(), "gRPC reads on the thread that waits for a part");
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.shutdownNow();
  }

  @Test
  @DisplayName("closing a snapshot in the middle releases the part that was not read")
  void releases() {
    snapshot.close();

    assertEquals(2, released.get());
  }

  @Test
  @DisplayName("a thread that is interrupted while it closes a snapshot stays interrupted")
  void interrupted() {
    Thread.currentThread().interrupt();

    snapshot.close();

    assertTrue(Thread.interrupted());
    assertEquals(2, released.get());
  }
}
