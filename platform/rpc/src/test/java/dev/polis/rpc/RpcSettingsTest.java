package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RpcSettingsTest {
  private static RpcSettings settings(Map<String, Object> given) {
    return RpcSettings.of(
        (RpcHostConfig)
            Proxy.newProxyInstance(
                RpcHostConfig.class.getClassLoader(),
                new Class<?>[] {RpcHostConfig.class},
                (proxy, method, arguments) ->
                    given.getOrDefault(method.getName(), method.getDefaultValue())));
  }

  private static List<String> listeners(RpcSettings settings) {
    return settings.listeners().stream()
        .map(
            each ->
                each.name()
                    + " "
                    + each.address().getAddress().getHostAddress()
                    + ":"
                    + each.address().getPort()
                    + (each.tls() ? " tls" : " plain"))
        .toList();
  }

  @Test
  @DisplayName(
      "without configuration the well-known ports are used, and the plain-text one is local to this machine")
  void defaults() {
    RpcSettings settings = settings(Map.of());
    assertEquals(
        List.of(
            "curator 0.0.0.0:7835 tls",
            "management 0.0.0.0:7839 tls",
            "debug 127.0.0.1:7837 plain"),
        listeners(settings));
    assertEquals(RpcSettings.Limits.DEFAULT, settings.limits());
  }

  @Test
  @DisplayName("a node on a loopback address of its own has all its listeners there")
  void loopbackNode() {
    assertEquals(
        List.of(
            "curator 127.0.3.1:7835 tls",
            "management 127.0.3.1:7839 tls",
            "debug 127.0.3.1:7837 plain"),
        listeners(settings(Map.of("address", "127.0.3.1"))));
  }

  @Test
  @DisplayName("an invalid address is refused with key and value")
  void badAddress() {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> settings(Map.of("debug_address", "localhost")))
            .getMessage();
    assertTrue(message.contains("debug.address is \"localhost\""), message);
  }

  @Test
  @DisplayName("a number outside of its range is refused with key, value and range")
  void badNumbers() {
    assertRefused("dev.polis.rpc.curator.port is \"70000\"", Map.of("curator_port", 70_000));
    assertRefused("dev.polis.rpc.hold.ms is \"-1\"", Map.of("hold_ms", -1L));
    assertRefused("dev.polis.rpc.member.connections is \"0\"", Map.of("member_connections", 0));
    assertRefused("dev.polis.rpc.message.bytes is \"0\"", Map.of("message_bytes", 0));
  }

  private static void assertRefused(String words, Map<String, Object> given) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> settings(given)).getMessage();
    assertTrue(message.startsWith(words) && message.contains("not within"), message);
  }
}
