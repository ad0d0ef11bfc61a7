package dev.polis.base.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class SettingCheckTest {

  private final SettingCheck check = SettingCheck.of("dev.polis.demo");

  private static void refused(String message, Executable checked) {
    assertEquals(message, assertThrows(SettingException.class, checked).getMessage());
  }

  @Test
  void acceptedValuesAreReturnedTyped() {
    assertEquals(7835, check.port("port", 7835));
    assertEquals(5L, check.range("count", 5L, 5, 9));
    assertEquals(
        Duration.ofSeconds(3),
        check.seconds("pause", 3, Duration.ofSeconds(1), Duration.ofHours(1)));
    assertEquals("a", check.present("name", "a"));
    assertEquals(InetAddress.ofLiteral("192.0.2.7"), check.address("address", "192.0.2.7"));
    assertEquals(TimeUnit.MILLISECONDS, check.constant("unit", "milliseconds", TimeUnit.class));
    assertEquals(TimeUnit.MILLISECONDS, check.constant("unit", "MILLISECONDS", TimeUnit.class));
  }

  @Test
  void refusalNamesKeyValueAndRange() {
    refused(
        "dev.polis.demo.port is \"0\", which is not within 1 to 65535",
        () -> check.port("port", 0));
    refused(
        "dev.polis.demo.count is \"10\", which is not within 5 to 9",
        () -> check.range("count", 10, 5, 9));
    refused(
        "dev.polis.demo.pause is \"0\", which is not within 1 to 60",
        () -> check.seconds("pause", 0, Duration.ofSeconds(1), Duration.ofMinutes(1)));
    refused("dev.polis.demo.name is \" \", but must be given", () -> check.present("name", " "));
    refused(
        "dev.polis.demo.address is \"localhost\", which is not an IP address;"
            + " write one such as 192.0.2.7 or 2001:db8::7",
        () -> check.address("address", "localhost"));
  }

  @Test
  void refusalSuggestsTheWordThatWasMeant() {
    refused(
        "dev.polis.demo.mode is \"perodic\", which is not known; did you mean \"periodic\"?",
        () -> check.oneOf("mode", "perodic", List.of("periodic", "revision")));
    refused(
        "dev.polis.demo.mode is \"x\", which is not known; there are periodic, revision",
        () -> check.oneOf("mode", "x", List.of("periodic", "revision")));
    refused(
        "dev.polis.demo.unit is \"secnds\", which is not known; did you mean \"seconds\"?",
        () -> check.constant("unit", "secnds", TimeUnit.class));
  }

  @Test
  void refusalIsFoundByPidAndKey() {
    SettingException refusal =
        check.refuse("peer.port", 7833, "which is the client.port too; give each its own");
    assertEquals("dev.polis.demo", refusal.pid());
    assertEquals("peer.port", refusal.key());
  }
}
