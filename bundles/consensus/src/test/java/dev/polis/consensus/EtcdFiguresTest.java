package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EtcdFiguresTest {

  private static final String PAGE =
      """
      # HELP etcd_server_has_leader Whether or not a leader exists. 1 is existence, 0 is not.
      # TYPE etcd_server_has_leader gauge
      etcd_server_has_leader 1
      etcd_network_active_peers{Local="dca0931e9a1581df",Remote="baf2f65fec46d33d"} 0
      etcd_network_active_peers{Local="dca0931e9a1581df",Remote="c89b2099d6231953"} 1
      etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 30
      etcd_disk_wal_fsync_duration_seconds_sum 1.5463154260000002e+01
      etcd_disk_wal_fsync_duration_seconds_count 167
      """;

  @Test
  @DisplayName("a page of etcd tells its leader, its active peers and the speed of its disk")
  void page() {
    assertEquals(
        Optional.of(new EtcdFigures(true, Set.of("c89b2099d6231953"), 167, 15.463154260000002)),
        EtcdFigures.parse(PAGE));
    assertEquals(Optional.empty(), EtcdFigures.parse("process_cpu_seconds_total 1\n"));
  }

  @Test
  @DisplayName("a slow disk is named with its mean wait, and a few waits or a usual disk are not")
  void slow() {
    EtcdFigures begin = new EtcdFigures(true, Set.of(), 100, 1);
    String told = new EtcdFigures(true, Set.of(), 110, 10).slowSince(begin).orElseThrow();
    assertTrue(told.contains("10 waits") && told.contains("0.90 s"), told);
    assertEquals(Optional.empty(), new EtcdFigures(true, Set.of(), 102, 4).slowSince(begin));
    assertEquals(Optional.empty(), new EtcdFigures(true, Set.of(), 200, 6).slowSince(begin));
  }
}
