package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.base.config.SettingException;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConsensusSettingsTest {

  @Test
  @DisplayName("the defaults are accepted")
  void defaults() {
    ConsensusSettings settings = ConsensusSettings.of(config(Map.of()));

    assertEquals(7833, settings.clientPort());
    assertEquals(2L << 30, settings.quotaBytes());
    assertEquals("1h", settings.compactionRetention());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          client_port          | 0       | client.port is "0", which is not within 1 to 65535
          peer_port            | 7833    | peer.port is "7833", which is the client.port too; give each a port of its own
          election_millis      | 249     | election.millis is "249", which is not within 250 to 50000
          quota_bytes          | 1024    | quota.bytes is "1024", which is not within 16777216 to 8589934592
          compaction_mode      | perodic | compaction.mode is "perodic", which is not known; did you mean "periodic"?
          compaction_retention | 1d      | compaction.retention is "1d", which does not fit mode periodic; write 1h for periodic, 10000 for revision
          force_new_cluster    | metro   | force.new.cluster is "metro", which is not the id of an etcd cluster; write the hexadecimal id that polisctl etcd members shows
          restore              | /a.db   | restore is "/a.db", which replaces the records of a cluster that force.new.cluster names; set both
          ready_seconds        | 0       | ready.seconds is "0", which is not within 1 to 3600
          """)
  @DisplayName("an invalid value is refused with the setting and the value")
  void refused(String key, String value, String words) {
    ConsensusConfig config = config(Map.of(key, value));

    SettingException refusal =
        assertThrows(SettingException.class, () -> ConsensusSettings.of(config));

    assertEquals("dev.polis.consensus." + words, refusal.getMessage());
  }

  /** Returns the configuration as the framework makes it: the given keys, else the defaults. */
  static ConsensusConfig config(Map<String, String> keys) {
    return (ConsensusConfig)
        Proxy.newProxyInstance(
            ConsensusConfig.class.getClassLoader(),
            new Class<?>[] {ConsensusConfig.class},
            (proxy, method, arguments) -> {
              String given = keys.get(method.getName());
              Class<?> type = method.getReturnType();
              if (given == null) {
                return method.getDefaultValue();
              }
              return type == int.class
                  ? Integer.valueOf(given)
                  : type == long.class ? Long.valueOf(given) : given;
            });
  }
}
