package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads counters of lost packets from files of the kernel's form. */
class PacketCheckTest {

  @TempDir private Path proc;
  private PacketCheck check;
  private long sent = 70_000;
  private long again = 9_000;
  private long connects = 100;

  @BeforeEach
  void begin() throws Exception {
    InetAddress peer = InetAddress.ofLiteral("10.0.0.2");
    check = new PacketCheck(proc, () -> List.of(peer));
    assertEquals(Optional.empty(), look(0, 0, 0), "the time before is not counted");
  }

  /** Lets five seconds pass in which so many packets were sent, sent again, and began calls. */
  private Optional<HealthCondition> look(long more, long moreAgain, long moreConnects)
      throws Exception {
    sent += more;
    again += moreAgain;
    connects += moreConnects;
    Path net = Files.createDirectories(proc.resolve("net"));
    Files.writeString(
        net.resolve("snmp"),
        "Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs RetransSegs\nTcp: 200 %d %d\n"
            .formatted(sent, again));
    Files.writeString(
        net.resolve("netstat"),
        "TcpExt: SyncookiesSent TCPSynRetrans\nTcpExt: 7 %d\n".formatted(connects));
    return check.look();
  }

  private Optional<HealthCondition> looks(int times, long more, long moreAgain, long moreConnects)
      throws Exception {
    Optional<HealthCondition> last = Optional.empty();
    for (int look = 0; look < times; look++) {
      last = look(more, moreAgain, moreConnects);
    }
    return last;
  }

  @Test
  @DisplayName(
      "a hundredth of lost packets is named after half a minute with the other machine, until it ends")
  void lost() throws Exception {
    assertEquals(Optional.empty(), looks(4, 300, 4, 0));
    HealthCondition condition = look(300, 4, 0).orElseThrow();
    assertEquals("packets-lost", condition.code());
    assertTrue(
        condition
            .reason()
            .contains(
                "of 1520 that this machine sent over TCP in the last half minute, 20 got no answer and were sent again, at this moment to 10.0.0.2"),
        condition::reason);

    assertTrue(look(300, 0, 0).isPresent(), "one look without a lost packet is chance");
    assertEquals(Optional.empty(), look(300, 0, 0));
  }

  @Test
  @DisplayName(
      "a smaller share, a few packets, a path that is cut for a while, and attempts to connect to a machine that is off are no fault")
  void harmless() throws Exception {
    assertEquals(Optional.empty(), looks(9, 300, 2, 0), "a smaller share");
    assertEquals(Optional.empty(), looks(9, 50, 2, 0), "a few packets");
    assertEquals(Optional.empty(), looks(9, 300, 0, 0), "none");
    assertEquals(Optional.empty(), looks(4, 300, 40, 0), "a path that is cut");
    assertEquals(Optional.empty(), looks(9, 300, 0, 0), "and back");
    assertEquals(Optional.empty(), looks(9, 300, 40, 40), "attempts to connect");
  }

  @Test
  @DisplayName("the counters of this machine's kernel are read")
  void thisMachine() throws Exception {
    assertEquals(
        Optional.empty(),
        new PacketCheck(Path.of("/proc"), List::of).look(),
        "one look measures nothing");
  }
}
