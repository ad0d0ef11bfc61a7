package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.rpc.ConnectionGate.Pass;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ConnectionGateTest {
  private static final X509Certificate MEMBER =
      CertificateAuthority.create("Test cluster CA")
          .issueUser("owner", Ed25519.generate().getPublic());

  private final AtomicLong now = new AtomicLong();
  private final List<String> closed = new ArrayList<>();

  private StrangerRoom room(int members, int strangers, int perSource, int perSecond) {
    return new StrangerRoom(
        new ConnectionLimits(members, strangers, perSource, perSecond),
        StrangerCalls.DEFAULT,
        now::get);
  }

  private ConnectionGate gate(int members, int strangers, int perSource, int perSecond) {
    return new ConnectionGate(room(members, strangers, perSource, perSecond));
  }

  private Optional<Pass> enter(ConnectionGate gate, String address, String name) {
    try {
      return gate.enter(InetAddress.getByName(address), displaced -> closed.add(name));
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(address, e);
    }
  }

  @Test
  @DisplayName(
      "a source beyond its limit loses its oldest connection, one without a handshake first")
  void limitOfSource() {
    ConnectionGate gate = gate(8, 8, 2, 100);
    enter(gate, "192.0.2.1", "greeted").orElseThrow().greeted();
    enter(gate, "192.0.2.1", "silent");
    enter(gate, "192.0.2.2", "other");
    enter(gate, "192.0.2.1", "newest");
    assertEquals(List.of("silent"), closed);
  }

  @Test
  @DisplayName("a stranger beyond the limit displaces a connection of the source with the most")
  void greediestGivesWay() {
    ConnectionGate gate = gate(8, 4, 4, 100);
    enter(gate, "192.0.2.1", "quiet");
    enter(gate, "192.0.2.2", "greedy 1");
    enter(gate, "192.0.2.2", "greedy 2");
    enter(gate, "192.0.2.2", "greedy 3");
    enter(gate, "192.0.2.3", "newcomer");
    enter(gate, "192.0.2.4", "another");
    assertEquals(List.of("greedy 1", "greedy 2"), closed);
    assertEquals(4, gate.statistics("test").strangers());
    assertEquals(2, gate.statistics("test").displaced());
  }

  @Test
  @DisplayName(
      "members are never displaced, and a member beyond the members' limit counts as a stranger")
  void membersHaveRoom() {
    ConnectionGate gate = gate(1, 1, 1, 100);
    enter(gate, "192.0.2.1", "member").orElseThrow().member(MEMBER);
    Pass second = enter(gate, "192.0.2.1", "member without room").orElseThrow();
    second.member(MEMBER);
    enter(gate, "192.0.2.1", "stranger");
    assertEquals(List.of("member without room"), closed);
    second.left();
    RpcStatistics.Port now = gate.statistics("test");
    assertEquals(1, now.members());
    assertEquals(1, now.strangers());
  }

  @Test
  @DisplayName(
      "a source that opens too many connections in a second is refused; others and members are accepted")
  void rateOfSource() {
    ConnectionGate gate = gate(1000, 1000, 1000, 1);
    for (int i = 0; i < 100; i++) {
      enter(gate, "192.0.2.9", "member").orElseThrow().member(MEMBER);
    }
    for (int i = 0; i < 2; i++) {
      assertTrue(enter(gate, "192.0.2.1", "burst").isPresent());
    }
    assertTrue(enter(gate, "192.0.2.1", "too many").isEmpty());
    assertTrue(enter(gate, "192.0.2.2", "another source").isPresent());
    now.addAndGet(Duration.ofSeconds(1).toNanos());
    assertTrue(enter(gate, "192.0.2.1", "a second later").isPresent());
    assertTrue(enter(gate, "192.0.2.1", "too many again").isEmpty());
    assertEquals(2, gate.statistics("test").refused());
    assertEquals(new TurnedAway.Pressure(2, 2, "192.0.2.1"), gate.connections().pressure());
    assertEquals(new TurnedAway.Pressure(0, 0, ""), gate.connections().pressure());
  }

  @Test
  @DisplayName("all ports share the places: a newcomer at one port displaces a flood at another")
  void portsShareTheRoom() {
    StrangerRoom room = room(8, 4, 4, 100);
    ConnectionGate flooded = new ConnectionGate(room);
    ConnectionGate other = new ConnectionGate(room);
    for (int each = 1; each <= 4; each++) {
      enter(flooded, "192.0.2.1", "flood " + each);
    }
    enter(other, "192.0.2.2", "newcomer");
    enter(other, "192.0.2.1", "the same source at another port");
    assertEquals(List.of("flood 1", "flood 2"), closed);
    assertEquals(2, flooded.statistics("test").displaced());
    assertEquals(0, other.statistics("test").displaced());
    assertEquals(2, flooded.statistics("test").strangers());
    assertEquals(2, other.statistics("test").strangers());
  }

  @Test
  @DisplayName("a share uses strangers' places of other ports, and has a size of its own")
  void shareHasASize() {
    StrangerRoom room = room(8, 3, 3, 100);
    StrangerRoom.Share share = room.share(2);
    ConnectionGate gate = new ConnectionGate(room);
    for (int each = 1; each <= 3; each++) {
      enter(gate, "192.0.2." + each, "stranger " + each);
    }
    assertTrue(share.tryTake());
    assertTrue(share.tryTake());
    assertFalse(share.tryTake());
    assertEquals(List.of("stranger 1", "stranger 2"), closed);
    enter(gate, "192.0.2.4", "newcomer");
    assertEquals("stranger 3", closed.getLast());
    share.giveBack();
    enter(gate, "192.0.2.5", "has room");
    assertEquals(3, closed.size());
  }

  @Test
  @DisplayName("addresses of one IPv6 network with a 64-bit prefix are one source")
  void subscribersOfIpv6() {
    ConnectionGate gate = gate(8, 8, 1, 100);
    enter(gate, "2001:db8::1", "first");
    enter(gate, "2001:db8::2:2", "second");
    enter(gate, "2001:db8:0:1::1", "another network");
    assertEquals(List.of("first"), closed);
  }

  @Test
  @DisplayName("places are free again after connections have left, in any state")
  void roomIsFreed() {
    ConnectionGate gate = gate(4, 4, 2, 1000);
    for (int round = 0; round < 100; round++) {
      Pass member = enter(gate, "192.0.2.1", "member").orElseThrow();
      member.member(MEMBER);
      assertFalse(member.isNew());
      Pass stranger = enter(gate, "192.0.2.1", "stranger").orElseThrow();
      assertTrue(stranger.isNew());
      stranger.left();
      stranger.left();
      member.left();
    }
    assertEquals(List.of(), closed);
    assertEquals(new RpcStatistics.Port("test", 0, 0, 0, 0, 0, 0), gate.statistics("test"));
  }

  @Test
  @DisplayName("ten thousand sources take no more memory than four thousand")
  void sourcesAreBounded() {
    StrangerRoom room = room(8, 16, 4, 10);
    ConnectionGate gate = new ConnectionGate(room);
    for (int i = 0; i < 10_000; i++) {
      enter(gate, "10.0.%d.%d".formatted(i >> 8, i & 255), "each").orElseThrow();
    }
    assertEquals(16, gate.statistics("test").strangers());
    assertEquals(4096, room.sources());
  }

  @Test
  @DisplayName("a flood from this machine is reported with the process that makes it")
  void floodFromHere() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.ofLiteral("127.9.8.1"));
        Socket client = new Socket()) {
      client.bind(new InetSocketAddress("127.9.8.2", 0));
      client.connect(server.getLocalSocketAddress());
      ConnectionGate gate = gate(8, 8, 1, 1);
      FloodWatch watch =
          new FloodWatch("test", "connections: %d", gate.connections(), server::getLocalPort);
      for (int i = 0; i < 60; i++) {
        enter(gate, "127.9.8.2", "flood");
      }
      assertTrue(watch.look(LogTree.create().log("test")));
      assertTrue(
          watch
              .words()
              .endsWith(
                  "59 of them from 127.9.8.2, which is this machine: process %d (java), which has 1 open"
                      .formatted(ProcessHandle.current().pid())),
          watch.words());
    }
  }

  @Test
  @DisplayName("a flood is reported once, and is over after half a minute without one")
  void floodBeginsAndEnds() {
    ConnectionGate gate = gate(8, 8, 1, 1);
    Log log = LogTree.create().log("test");
    FloodWatch watch =
        new FloodWatch("test", "connections: %d were closed", gate.connections(), () -> 1);
    assertFalse(watch.look(log));
    for (int i = 0; i < 60; i++) {
      enter(gate, "192.0.2.1", "flood");
    }
    assertTrue(watch.look(log));
    assertTrue(watch.words().contains("59 of them from 192.0.2.1"), watch.words());
    for (int look = 0; look < 5; look++) {
      assertFalse(watch.look(log));
    }
    assertTrue(watch.look(log));
    assertEquals("", watch.words());
  }
}
