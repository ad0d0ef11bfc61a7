package dev.polis.roles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.base.config.SettingException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RoleSettingsTest {

  @Test
  @DisplayName("the defaults are accepted")
  void defaults() {
    assertEquals(
        new RoleSettings(Duration.ofMillis(2500), 7835), RoleSettings.of(config(Map.of())));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          heartbeat_interval | 99    | heartbeat.interval is "99", which is not within 100 to 5000
          heartbeat_interval | 5001  | heartbeat.interval is "5001", which is not within 100 to 5000
          curator_port       | 0     | curator.port is "0", which is not within 1 to 65535
          curator_port       | 65536 | curator.port is "65536", which is not within 1 to 65535
          """)
  @DisplayName("an invalid value is refused with the setting and the value")
  void refused(String key, int value, String message) {
    RoleConfig config = config(Map.of(key, value));

    SettingException refusal = assertThrows(SettingException.class, () -> RoleSettings.of(config));

    assertEquals("dev.polis.roles." + message, refusal.getMessage());
  }

  /** Makes a configuration as the framework does: the given keys, else the defaults. */
  private static RoleConfig config(Map<String, Integer> keys) {
    return (RoleConfig)
        Proxy.newProxyInstance(
            RoleConfig.class.getClassLoader(),
            new Class<?>[] {RoleConfig.class},
            (proxy, method, arguments) ->
                keys.getOrDefault(method.getName(), (Integer) method.getDefaultValue()));
  }
}
