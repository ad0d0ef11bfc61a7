package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RpcHostConfigurationTest {
  private static RpcSettings settings(Map<String, Object> given) {
    return RpcHostComponent.settings(
        (RpcHostConfiguration)
            Proxy.newProxyInstance(
                RpcHostConfiguration.class.getClassLoader(),
                new Class<?>[] {RpcHostConfiguration.class},
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
      "without configuration the well-known ports are used, and the plain one stays on this machine")
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
  @DisplayName("an address that is none is refused by key and value")
  void badAddress() {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> settings(Map.of("debug_address", "localhost")))
            .getMessage();
    assertTrue(message.contains("debug_address is \"localhost\""), message);
  }
}
