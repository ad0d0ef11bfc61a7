package dev.polis.rpc;

import io.netty.channel.Channel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Limits the connections of a listener: counts them and closes at once those beyond the limit. */
final class HostSockets {
  private final int most;
  private final HandshakeLog handshakes;
  private final AtomicInteger open = new AtomicInteger();
  private final LongAdder refused = new LongAdder();

  HostSockets(int most, HandshakeLog handshakes) {
    this.most = most;
    this.handshakes = handshakes;
  }

  int open() {
    return open.get();
  }

  long refused() {
    return refused.sum();
  }

  NioServerSocketChannel channel() {
    return new Bounded();
  }

  private boolean admit(Channel connection) {
    if (open.incrementAndGet() > most) {
      open.decrementAndGet();
      refused.increment();
      connection.unsafe().closeForcibly();
      return false;
    }
    connection.closeFuture().addListener(closed -> open.decrementAndGet());
    handshakes.watch(connection);
    return true;
  }

  private final class Bounded extends NioServerSocketChannel {
    @Override
    protected int doReadMessages(List<Object> accepted) throws Exception {
      int read = super.doReadMessages(accepted);
      if (read > 0 && !admit((Channel) accepted.getLast())) {
        accepted.removeLast();
        return 0;
      }
      return read;
    }
  }
}
