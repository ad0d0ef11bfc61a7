package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.config.SettingException;
import java.lang.annotation.Annotation;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CuratorSettingsTest {

  private record Config(int leader_ttl, int port) implements CuratorConfig {
    @Override
    public Class<? extends Annotation> annotationType() {
      return CuratorConfig.class;
    }
  }

  @Test
  void givenUsableValues_thenTheyAreTyped() {
    assertEquals(
        new CuratorSettings(Duration.ofSeconds(10), 7835),
        CuratorSettings.of(new Config(10, 7835)));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 7835, 'dev.polis.curator.leader.ttl is \"1\", which is not within 2 to 60'",
    "61, 7835, 'dev.polis.curator.leader.ttl is \"61\"'",
    "10, 0, 'dev.polis.curator.port is \"0\", which is not within 1 to 65535'",
    "10, 65536, 'dev.polis.curator.port is \"65536\"'"
  })
  void givenAValueThatCannotBeUsed_thenItIsRefusedWithItsKeyAndTheAllowedRange(
      int ttl, int port, String reason) {
    String message =
        assertThrows(SettingException.class, () -> CuratorSettings.of(new Config(ttl, port)))
            .getMessage();
    assertTrue(message.contains(reason), message);
  }
}
