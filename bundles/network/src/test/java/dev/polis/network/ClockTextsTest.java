package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.TimeServers;
import dev.polis.base.config.SettingException;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Writes the configuration of chronyd, and reads what it logs. */
class ClockTextsTest {

  private static final String FOLLOWS =
      "2026-11-27 15:16:20 192.0.2.1          3     -0.127     12.861  1.728e-03 N  1  9.668e-07 -1.466e-07  5.753e-06  1.766e-06  2.846e-04";
  private static final String ALONE =
      "2026-11-27 15:16:19 0.0.0.0          0      0.000 1000000.000  0.000e+00 ?  0  0.000e+00 -0.000e+00  1.000e+00  1.000e+00  1.500e+00";

  @TempDir private Path folder;

  @Test
  @DisplayName(
      "chronyd has no port and no socket, sets the clock only at its start, and later changes its speed by two thousandths at most")
  void configuration() {
    assertEquals(
        List.of(
            "server 192.0.2.1 iburst",
            "server ntp.example.org iburst",
            "makestep 1 3",
            "port 0",
            "cmdport 0",
            "bindcmdaddress /",
            "maxslewrate 1000",
            "maxdrift 1000",
            "rtcsync",
            "driftfile /clock/drift",
            "pidfile /clock/pid",
            "logdir /clock",
            "log tracking",
            "logbanner 0"),
        MachineClock.directives(
            Path.of("/clock"), List.of("192.0.2.1", "ntp.example.org"), "iburst", true));
    assertFalse(
        MachineClock.directives(Path.of("/clock"), List.of("192.0.2.1"), "iburst", false)
            .contains("makestep 1 3"));
  }

  @Test
  @DisplayName("a line of the log has the server and the offset; other lines are none")
  void line() {
    assertEquals(
        Optional.of(
            new Tracking(
                Instant.parse("2026-11-27T15:16:20Z"),
                "192.0.2.1",
                Duration.ofNanos(1_728_147),
                true)),
        Tracking.parse(FOLLOWS));
    assertEquals(Optional.of(false), Tracking.parse(ALONE).map(Tracking::follows));
    for (String other :
        List.of(
            "", "====", "   Date (UTC) Time     IP Address   St   Freq ppm", "a b c d e f g h")) {
      assertEquals(Optional.empty(), Tracking.parse(other), other);
    }
  }

  @Test
  @DisplayName("the last whole lines of the log count, and a long log begins anew with one")
  void log() throws Exception {
    Path file = Tracking.file(folder);
    assertEquals(List.of(), Tracking.last(folder));
    Files.writeString(file, ALONE + "\n" + FOLLOWS + "\n2026-11-27 15:16");
    assertEquals(
        List.of(Tracking.parse(ALONE).orElseThrow(), Tracking.parse(FOLLOWS).orElseThrow()),
        Tracking.last(folder));
    Files.write(file, Collections.nCopies(3000, FOLLOWS));
    assertEquals(Tracking.parse(FOLLOWS).orElseThrow(), Tracking.last(folder).getLast());
    assertEquals(FOLLOWS + "\n", Files.readString(file));
  }

  @Test
  @DisplayName("the node follows no link that chronyd's account puts in the place of the log")
  void link() throws Exception {
    Path other = Files.writeString(folder.resolve("other"), FOLLOWS + "\n");
    Files.createSymbolicLink(Tracking.file(folder), other);
    assertThrows(java.io.IOException.class, () -> Tracking.last(folder));
  }

  @Test
  @DisplayName("a time server is a name or an address, and a refusal names it with the remedy")
  void names() {
    assertEquals(
        Optional.empty(),
        TimeServers.problem(List.of("ntp.example.org", "192.0.2.1", "2001:db8::1")));
    for (String wrong : List.of("ntp.example.org iburst", "", "a\ncmdport 323", "NTP", "-x")) {
      String problem = TimeServers.problem(List.of("192.0.2.1", wrong)).orElseThrow();
      assertTrue(problem.startsWith("the time server \"" + wrong + "\" "), problem);
      assertTrue(problem.contains("write a name such as"), problem);
    }
    assertEquals(
        "9 time servers are too many; name 8",
        TimeServers.problem(Collections.nCopies(9, "192.0.2.1")).orElseThrow());
    String refusal =
        assertThrows(
                SettingException.class,
                () -> new NetworkSettings("", false, Path.of("/r"), "", true, List.of("a b")))
            .getMessage();
    assertTrue(refusal.contains("time.servers") && refusal.contains("\"a b\""), refusal);
  }

  @Test
  @DisplayName(
      "health names the server and the offset, a silent server, and a clock that is not kept")
  void health() {
    assertEquals(Optional.empty(), ClockHealth.of(new ClockStatus.NotKept("", "")));
    assertEquals(
        Optional.empty(), ClockHealth.of(new ClockStatus.Searching("asking 192.0.2.1", false)));
    HealthCondition kept =
        ClockHealth.of(
                new ClockStatus.Synchronised(
                    "192.0.2.1", Duration.ofNanos(-1_728_000), Instant.EPOCH))
            .orElseThrow();
    assertEquals(
        "this machine's clock follows the time server 192.0.2.1, and differed by -1.728 ms at 1970-01-01T00:00:00Z",
        kept.reason());
    HealthCondition far =
        ClockHealth.of(
                new ClockStatus.Synchronised("192.0.2.1", Duration.ofMinutes(-2), Instant.EPOCH))
            .orElseThrow();
    assertEquals(HealthLevel.DEGRADED, far.level());
    assertTrue(far.reason().contains("differed by -120000.000 ms"), far.reason());
    HealthCondition late =
        ClockHealth.of(new ClockStatus.Searching("no time server answers", true)).orElseThrow();
    assertEquals(HealthLevel.DEGRADED, late.level());
    assertEquals("clock-not-synchronised", late.code());
    HealthCondition none =
        ClockHealth.of(new ClockStatus.NotKept("no server", "name some")).orElseThrow();
    assertEquals(List.of("clock-not-kept", "name some"), List.of(none.code(), none.remedy()));
    assertEquals(HealthLevel.UP, none.level());
  }
}
