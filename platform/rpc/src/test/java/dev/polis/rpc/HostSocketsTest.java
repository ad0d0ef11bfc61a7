package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HostSocketsTest {
  private static final int CONNECTIONS = 20;
  private static final int ROOM = 2;

  @Test
  @Tag("attack")
  @DisplayName(
      "no memory is kept of connections that are displaced before a busy thread has accepted them")
  void displacedBeforeTheyAreServed() throws Exception {
    ConnectionGate gate =
        new ConnectionGate(
            new StrangerRoom(
                new ConnectionLimits(1, ROOM, ROOM, CONNECTIONS), StrangerCalls.DEFAULT));
    HandshakeLog log = new HandshakeLog(LogTree.create().log("test"), Duration.ofHours(1));
    HostSockets sockets = new HostSockets(gate, log, session -> Optional.empty(), false);
    EventLoopGroup acceptors = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    EventLoopGroup events = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    CountDownLatch busy = new CountDownLatch(1);
    List<Socket> open = new ArrayList<>();
    try {
      events.execute(() -> await(busy));
      Channel server =
          new ServerBootstrap()
              .group(acceptors, events)
              .channelFactory(sockets::channel)
              .childHandler(new Nothing())
              .bind(InetAddress.getLoopbackAddress(), 0)
              .sync()
              .channel();
      for (int connection = 0; connection < CONNECTIONS; connection++) {
        Socket socket = new Socket();
        socket.connect(server.localAddress());
        open.add(socket);
      }
      Await.until(
          "all but those with a place to be displaced",
          () -> gate.statistics("test").displaced() == CONNECTIONS - ROOM);
      busy.countDown();
      Await.until("those with a place to be kept alone", () -> sockets.kept() == ROOM);
      for (Socket socket : open) {
        socket.close();
      }
      Await.until("nothing to be kept", () -> sockets.kept() == 0);
      assertEquals(0, gate.statistics("test").strangers());
    } finally {
      busy.countDown();
      for (Socket socket : open) {
        socket.close();
      }
      acceptors.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
      events.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ignores accepted connections. */
  @Sharable
  private static final class Nothing extends ChannelInboundHandlerAdapter {}
}
