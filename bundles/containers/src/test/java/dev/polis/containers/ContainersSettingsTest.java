package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.config.SettingException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks an operator's settings, and expects refusals with a reason. */
class ContainersSettingsTest {

  @Test
  @DisplayName("mirrors are read by registry, with blanks around them")
  void mirrors() {
    assertEquals(
        Map.of(
            "docker.io", URI.create("https://mirror.example"),
            "localhost:5000", URI.create("http://127.0.0.1:5001/v2")),
        ContainersSettings.mirrors(
            " docker.io=https://mirror.example , localhost:5000=http://127.0.0.1:5001/v2,"));
    assertEquals(Map.of(), ContainersSettings.mirrors(""));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "https://mirror.example | does not name a registry",
        "docker.io=mirror.example | is not a URL",
        "docker.io=ftp://mirror.example | is not a URL",
        "../etc=https://mirror.example | does not name a registry",
        "a.io=https://one.example,a.io=https://two.example | second mirror of a.io"
      })
  @DisplayName("a mirror that cannot be used is refused with its value and the correct form")
  void wrongMirrors(String text, String expected) {
    SettingException refused =
        assertThrows(SettingException.class, () -> ContainersSettings.mirrors(text));
    assertTrue(refused.getMessage().contains(expected), refused::getMessage);
    assertTrue(refused.getMessage().contains("registry.mirrors"), refused::getMessage);
  }

  @Test
  @DisplayName("an unknown word for OOM scores is refused with the nearest known one")
  void wrongWord() {
    SettingException refused =
        assertThrows(
            SettingException.class,
            () ->
                new ContainersSettings(
                    "", new TreeMap<>(), "atuo", 0, 512, Duration.ofSeconds(60)));
    assertTrue(refused.getMessage().contains("auto"), refused::getMessage);
  }

  @Test
  @DisplayName("the capability to lower OOM scores is read from the kernel's capability mask")
  void capability() {
    assertTrue(OomScores.hasCapability("Name:\tjava\nCapEff:\t000001ffffffffff\n"));
    assertEquals(false, OomScores.hasCapability("Name:\tjava\nCapEff:\t000001fffeffffff\n"));
  }
}
