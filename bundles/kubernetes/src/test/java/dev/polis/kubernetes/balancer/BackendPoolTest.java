package dev.polis.kubernetes.balancer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BackendPoolTest {
  @Test
  @DisplayName("each API server has its turn, also after more connections than an int counts")
  void turnsBeyondInt() {
    Set<InetSocketAddress> servers =
        Set.of(
            InetSocketAddress.createUnresolved("a", 1),
            InetSocketAddress.createUnresolved("b", 1),
            InetSocketAddress.createUnresolved("c", 1));
    BackendPool pool = new BackendPool(Integer.MAX_VALUE);
    pool.set(servers);

    pool.inTurn();
    Set<InetSocketAddress> first = new HashSet<>();
    for (int connection = 0; connection < servers.size(); connection++) {
      first.add(pool.inTurn().getFirst());
    }

    assertEquals(servers, first);
  }
}
