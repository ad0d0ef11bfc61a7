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
 * Owns the threads of all channels that {@link RpcClients} opens in a process. A short-lived
 * process ends them at once: gRPC's own threads stay for a second after the last channel, and a JVM
 * that ends waits up to 0.3 s for threads in system calls.
 *
 * <p>It also initializes the library on another thread while the process does its first work, since
 * this takes most of the time of the first channel.
 */
public final class RpcClientThreads implements AutoCloseable {

  /**
   * The time that the end waits for busy threads, as the JVM itself would; idle ones end at once.
   */
  private static final int END_MILLISECONDS = 300;

  /** The address of the channel that never connects. */
  private static final InetSocketAddress NOWHERE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  /** The threads of this process; null where gRPC's own are used. */
  private static volatile RpcClientThreads present;

  private final CompletableFuture<EventLoopGroup> group;

  /** True once a channel uses the threads; only then are there threads to end. */
  private volatile boolean used;

  private RpcClientThreads(CompletableFuture<EventLoopGroup> group) {
    this.group = group;
  }

  /**
   * Lets all channels that are opened from now on share one thread, until it is closed. The first
   * channel waits for the initialization.
   *
   * @param first runs before the initialization, on the same thread
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

  /** Makes the threads and initializes the library with a channel that never connects. */
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
    // Before the builder is made: two threads that initialize classes of one library in different
    // orders may wait for each other.
    EventLoopGroup group = threads.group.join();
    threads.used = true;
    return carried(channel.get(), group);
  }

  private static NettyChannelBuilder carried(NettyChannelBuilder builder, EventLoopGroup group) {
    return builder.eventLoopGroup(group).channelType(NioSocketChannel.class);
  }

  /** Ends the threads; unsent bytes of a channel are lost. */
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
