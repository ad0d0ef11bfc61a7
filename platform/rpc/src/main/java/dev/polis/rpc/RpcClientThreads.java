package dev.polis.rpc;

import dev.polis.pki.TlsKeys;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Owns the threads that carry the bytes of all channels of {@link RpcClients} in a process, so that
 * a short-lived one can end them. Without it gRPC's own are used, which stay for a second after the
 * last channel; and a JVM that ends waits up to 0.3 s for threads in system calls, such as these.
 *
 * <p>Most of the time that the first channel of a process takes is spent on what is made once: it
 * is made beside whatever the process does before.
 */
public final class RpcClientThreads implements AutoCloseable {

  /** Idle threads end at once; for busy ones the JVM itself would wait this long. */
  private static final int END_MILLISECONDS = 300;

  /** Of the channel that is never connected. */
  private static final InetSocketAddress NOWHERE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  /** The threads of this process; null where gRPC's own are used. */
  private static volatile RpcClientThreads present;

  private final CompletableFuture<EventLoopGroup> group;

  /** Whether a channel has the threads; without one there are none to end. */
  private volatile boolean used;

  private RpcClientThreads(CompletableFuture<EventLoopGroup> group) {
    this.group = group;
  }

  /**
   * Lets all channels that are opened from now on use one thread, until it is closed. The first one
   * waits for what is made beside.
   *
   * @param first done before that, on the same thread
   */
  public static RpcClientThreads open(Runnable first) {
    RpcClientThreads opened =
        new RpcClientThreads(
            CompletableFuture.supplyAsync(
                () -> {
                  first.run();
                  return prepared();
                },
                Thread.ofPlatform().daemon().name("polis-rpc-prepare")::start));
    present = opened;
    return opened;
  }

  /** Makes the threads, and a channel that is never connected. */
  private static EventLoopGroup prepared() {
    EventLoopGroup group =
        new MultiThreadIoEventLoopGroup(
            1, new DefaultThreadFactory("polis-rpc-client", true), NioIoHandler.newFactory());
    TlsKeys none = new TlsKeys(Optional::empty);
    carried(NettyChannelBuilder.forAddress(NOWHERE), group)
        .sslContext(NettyTls.client(none, RpcTrust.anybody().manager()))
        .build()
        .shutdownNow();
    Unpooled.directBuffer().release();
    return group;
  }

  /** Lets a channel use the threads of this process, if there are any. */
  static NettyChannelBuilder assign(Supplier<NettyChannelBuilder> channel) {
    RpcClientThreads threads = present;
    if (threads == null) {
      return channel.get();
    }
    // Before the builder is made: two threads that initialize classes of one library, each from
    // another end, may wait for each other.
    EventLoopGroup group = threads.group.join();
    threads.used = true;
    return carried(channel.get(), group);
  }

  private static NettyChannelBuilder carried(NettyChannelBuilder builder, EventLoopGroup group) {
    return builder.eventLoopGroup(group).channelType(NioSocketChannel.class);
  }

  /** Ends the threads. What a channel still has to send is lost. */
  @Override
  public void close() {
    present = null;
    if (used) {
      group
          .join()
          .shutdownGracefully(0, END_MILLISECONDS, TimeUnit.MILLISECONDS)
          .awaitUninterruptibly(END_MILLISECONDS);
    }
  }
}
