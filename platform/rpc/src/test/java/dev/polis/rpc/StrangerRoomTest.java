package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.rpc.ConnectionGate.Pass;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class StrangerRoomTest {
  private static final X509Certificate MEMBER =
      CertificateAuthority.create("Test cluster CA")
          .issueUser("owner", Ed25519.generate().getPublic());

  private static final Duration TIME = Duration.ofSeconds(60);

  private final AtomicLong now = new AtomicLong();
  private final List<String> ended = new ArrayList<>();
  private final StrangerRoom room =
      new StrangerRoom(
          new ConnectionLimits(8, 8, 8, 100), new StrangerCalls(2, 3, 5, 100, TIME), now::get);
  private final ConnectionGate gate = new ConnectionGate(room);

  private Pass connect(String address) {
    try {
      return gate.enter(InetAddress.getByName(address), displaced -> {}).orElseThrow();
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(address, e);
    }
  }

  private StrangerRoom.Call begin(Pass pass, String name) {
    return pass.begin(StrangerRoom.Kind.CALL, why -> ended.add(name + ": " + why.getMessage()));
  }

  private static void assertRefused(String words, Runnable begin) {
    RpcException refused = assertThrows(RpcException.class, begin::run);
    assertTrue(refused.getMessage().contains(words), refused.getMessage());
    assertTrue(refused.getMessage().contains("certificate that this cluster issued"));
    assertTrue(refused.retryAfter().isPresent());
  }

  @Test
  @DisplayName("a connection and a source beyond their limit are refused, with limit and remedy")
  void limitsOfConnectionAndSource() {
    Pass first = connect("192.0.2.1");
    Pass second = connect("192.0.2.1");
    StrangerRoom.Call one = begin(first, "one");
    begin(first, "two");
    assertRefused("may have 2 calls open on one connection", () -> begin(first, "three"));
    begin(second, "three");
    assertRefused(
        "may have 3 calls open from one address, and 192.0.2.1 has them",
        () -> begin(second, "four"));
    one.over();
    one.over();
    begin(second, "four");
    assertEquals(List.of(), ended);
    assertEquals(new TurnedAway.Pressure(2, 2, "192.0.2.1"), gate.calls().pressure());
    assertEquals(3, gate.statistics("test").calls());
    assertEquals(2, gate.statistics("test").callsTurnedAway());
  }

  @Test
  @DisplayName("when all places are taken, the oldest call of the source with the most calls ends")
  void greediestGivesWay() {
    Pass greedy = connect("192.0.2.1");
    begin(greedy, "greedy 1");
    begin(greedy, "greedy 2");
    begin(connect("192.0.2.1"), "greedy 3");
    begin(connect("192.0.2.2"), "other");
    begin(connect("192.0.2.3"), "another");
    begin(connect("192.0.2.4"), "newest");
    assertEquals(1, ended.size());
    assertTrue(ended.getFirst().startsWith("greedy 1: "), ended::toString);
    assertTrue(ended.getFirst().contains("have room for 5 calls"), ended::toString);
  }

  @Test
  @DisplayName("where all callers have one address, neither the source nor the time is limited")
  void onOneMachine() {
    for (int connection = 0; connection < 2; connection++) {
      Pass local = connect("127.0.0.1");
      for (int call = 0; call < 2; call++) {
        local.begin(StrangerRoom.Kind.LOCAL, why -> ended.add("local"));
      }
    }
    now.addAndGet(TIME.toNanos() * 100);
    room.endLate();
    assertEquals(List.of(), ended);
  }

  @Test
  @DisplayName("a call ends after its time, and its place is free")
  void callsHaveATime() {
    Pass pass = connect("192.0.2.1");
    begin(pass, "late");
    now.addAndGet(TIME.toNanos());
    begin(pass, "new");
    room.endLate();
    assertEquals(List.of(), ended);
    now.addAndGet(1);
    room.endLate();
    assertEquals(1, ended.size());
    assertTrue(ended.getFirst().startsWith("late: "), ended::toString);
    assertTrue(ended.getFirst().contains("open for 60 s; call again"), ended::toString);
    assertEquals(1, gate.statistics("test").calls());
  }

  @Test
  @DisplayName(
      "when requests take too much memory, the call with the most ends, and others continue")
  void requestsAreBounded() {
    StrangerRoom.Call large = begin(connect("192.0.2.1"), "large");
    StrangerRoom.Call small = begin(connect("192.0.2.2"), "small");
    large.requests().arriving(70);
    small.requests().arriving(20);
    small.requests().arrived();
    small.requests().read(10);
    assertEquals(List.of(), ended);
    small.requests().arriving(1);
    assertEquals(1, ended.size());
    assertTrue(ended.getFirst().startsWith("large: "), ended::toString);
    assertTrue(ended.getFirst().contains("may take 100 bytes"), ended::toString);
    assertEquals(31, room.bytes());
    large.requests().arriving(1000);
    assertEquals(31, room.bytes());
    small.requests().taken();
    assertEquals(1, room.bytes());
    small.over();
    assertEquals(0, room.bytes());
  }

  @Test
  @DisplayName("a stranger counts as idle while it has no call, a member never does")
  void quiet() {
    Pass stranger = connect("192.0.2.1");
    stranger.greeted();
    now.addAndGet(5);
    assertEquals(Duration.ofNanos(5), stranger.quiet());
    StrangerRoom.Call call = begin(stranger, "call");
    now.addAndGet(5);
    assertEquals(Duration.ZERO, stranger.quiet());
    call.over();
    now.addAndGet(5);
    assertEquals(Duration.ofNanos(5), stranger.quiet());
    stranger.member(MEMBER);
    assertEquals(Duration.ZERO, stranger.quiet());
    assertEquals(1, gate.statistics("test").members());
  }
}
