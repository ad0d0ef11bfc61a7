package dev.polis.rpc;

import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Owns the threads that carry the bytes of all channels of {@link RpcClients} in a process, so that
 * a short-lived one can end them. Without it gRPC's own are used, which stay for a second after the
 * last channel; and a JVM that ends waits up to 0.3 s for threads in system calls, such as these.
 */
public final class RpcClientThreads implements AutoCloseable {

  /** Idle threads end at once; for busy ones the JVM itself would wait this long. */
  private static final int END_MILLISECONDS = 300;

  /** The threads of this process; null where gRPC's own are used. */
  private static volatile RpcClientThreads present;

  private final EventLoopGroup group;

  private RpcClientThreads(EventLoopGroup group) {
    this.group = group;
  }

  /** Lets all channels that are opened from now on use one thread, until it is closed. */
  public static RpcClientThreads open() {
    RpcClientThreads opened =
        new RpcClientThreads(
            new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("polis-rpc-client", true), NioIoHandler.newFactory()));
    present = opened;
    return opened;
  }

  /** Lets a channel use the threads of this process, if there are any. */
  static NettyChannelBuilder assign(NettyChannelBuilder builder) {
    RpcClientThreads threads = present;
    return threads == null
        ? builder
        : builder.eventLoopGroup(threads.group).channelType(NioSocketChannel.class);
  }

  /** Ends the threads. What a channel still has to send is lost. */
  @Override
  public void close() {
    present = null;
    group
        .shutdownGracefully(0, END_MILLISECONDS, TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(END_MILLISECONDS);
  }
}
