package dev.polis.node.options;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.node.TestDistribution;
import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.metatype.UnfitSettingException;
import java.nio.file.Path;
import java.util.Dictionary;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigurationKeysTest {
  private static final String PID = "dev.polis.cluster";
  @TempDir Path folder;
  private ConfigurationKeys keys;

  @BeforeEach
  void read() throws Exception {
    keys =
        ConfigurationKeys.read(
            List.of(new TestDistribution(folder.resolve("distribution")).bundle("cluster")));
  }

  @Test
  @DisplayName("Values get the types that their metatype declares")
  void valuesAreTyped() throws Exception {
    assertEquals("a b", keys.value(PID, "parameters", "a b"));
    assertEquals(7835, keys.value(PID, "port", "7835"));
    assertEquals(8L << 30, keys.value(PID, "quota.bytes", "8589934592"));
    assertEquals(true, keys.value(PID, "strict", "true"));
    assertArrayEquals(
        new String[] {"=ERROR", "root.etcd=WARNING"},
        (String[]) keys.value(PID, "console", "=ERROR, root.etcd=WARNING"));
    assertArrayEquals(new String[0], (String[]) keys.value(PID, "console", ""));
  }

  @Test
  @DisplayName("A value that does not fit is refused with the value")
  void misfitsAreRefused() {
    assertRefused("dev.polis.cluster.port: \"many\" is no whole number", "port", "many");
    assertRefused("dev.polis.cluster.port: 0 is not within 1 to 65535", "port", "0");
    assertRefused("dev.polis.cluster.strict: \"yes\" is neither true nor false", "strict", "yes");
    assertRefused(
        "dev.polis.cluster has no key \"parmeters\"; did you mean \"parameters\"?",
        "parmeters",
        "x");
    assertRefused(
        "dev.polis.cluster has no key \"zzzzzz\"; there are console, parameters, port, quota.bytes, strict",
        "zzzzzz",
        "x");
    UnfitSettingException refusal =
        assertThrows(
            UnfitSettingException.class, () -> keys.value("dev.polis.clutser", "port", "1"));
    assertEquals(
        "nothing is configured by \"dev.polis.clutser\"; did you mean \"dev.polis.cluster\"?",
        refusal.getMessage());
  }

  @Test
  @DisplayName(
      "An assignment finds the PID although PID and key contain dots, and the last one counts")
  void assignments() throws Exception {
    NodeSettings settings = new NodeSettings();
    settings.assign("dev.polis.cluster.quota.bytes=1", keys);
    settings.assign("dev.polis.cluster.quota.bytes=2", keys);

    Dictionary<String, Object> dictionary = settings.resolve(keys).get(PID);

    assertEquals(2L, dictionary.get("quota.bytes"));
    assertEquals(1, dictionary.size());
    assertEquals(
        Exit.USAGE, assertThrows(Refusal.class, () -> settings.assign("port", keys)).exitCode());
  }

  private void assertRefused(String words, String key, String value) {
    assertEquals(
        words,
        assertThrows(UnfitSettingException.class, () -> keys.value(PID, key, value)).getMessage());
  }
}
