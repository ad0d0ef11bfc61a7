package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import io.grpc.CallOptions;
import io.grpc.ClientStreamTracer;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Ends a stream with an unread answer on the way. */
class BlockingStreamsTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  private final AtomicInteger arrived = new AtomicInteger();
  private final AtomicInteger released = new AtomicInteger();
  private final MethodDescriptor<byte[], byte[]> method =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
          .setFullMethodName("test.Stream/Answers")
          .setRequestMarshaller(new Bytes(new AtomicInteger()))
          .setResponseMarshaller(new Bytes(released))
          .build();

  private Server server;
  private ManagedChannel channel;

  /** Counts the read messages, whose buffers gRPC then releases. */
  private record Bytes(AtomicInteger read) implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        byte[] value = stream.readAllBytes();
        read.incrementAndGet();
        return value;
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  @BeforeEach
  void start() throws Exception {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(
                ServerServiceDefinition.builder("test.Stream")
                    .addMethod(
                        method,
                        ServerCalls.asyncServerStreamingCall(
                            (request, caller) -> {
                              caller.onNext(request);
                              caller.onNext(request);
                            }))
                    .build())
            .build()
            .start();
    channel =
        NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getPort()))
            .usePlaintext()
            .build();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.shutdownNow();
  }

  private BlockingClientCall<byte[], byte[]> openedWithAnAnswer() throws Exception {
    ClientStreamTracer tracer =
        new ClientStreamTracer() {
          @Override
          public void inboundMessageRead(int number, long wire, long plain) {
            arrived.incrementAndGet();
          }
        };
    CallOptions options =
        CallOptions.DEFAULT.withStreamTracerFactory(
            new ClientStreamTracer.Factory() {
              @Override
              public ClientStreamTracer newClientStreamTracer(
                  ClientStreamTracer.StreamInfo info, Metadata headers) {
                return tracer;
              }
            });
    BlockingClientCall<byte[], byte[]> call =
        ClientCalls.blockingV2ServerStreamingCall(channel, method, options, new byte[] {1});
    // A reader of one answer has requested the next one.
    assertEquals(1, call.read(SOON.toSeconds(), TimeUnit.SECONDS).length);
    Await.until(SOON, "the second answer to arrive", () -> arrived.get() == 2);
    assertEquals(1, released.get(), "gRPC reads on the thread that waits for an answer");
    return call;
  }

  @Test
  @DisplayName("an unread answer is released when the stream is ended")
  void releases() throws Exception {
    BlockingClientCall<byte[], byte[]> call = openedWithAnAnswer();
    BlockingStreams.end(call, "enough");

    assertEquals(2, released.get());
  }

  @Test
  @DisplayName("a thread that is interrupted while it ends a stream stays interrupted")
  void interrupted() throws Exception {
    BlockingClientCall<byte[], byte[]> call = openedWithAnAnswer();
    Thread.currentThread().interrupt();

    BlockingStreams.end(call, "cancelled");

    assertTrue(Thread.interrupted());
    assertFalse(Thread.currentThread().isInterrupted());
    assertEquals(2, released.get());
  }
}
