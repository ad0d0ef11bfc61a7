package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.logtree.LogTree;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EtcdMaintenanceTest {

  private static final int MEBIBYTE = 1 << 20;
  private static final Duration MINUTE = Duration.ofMinutes(1);

  @Test
  @DisplayName("a database file that is mostly free is shrunk at a quiet time, and only then")
  void defragments() throws Exception {
    try (EtcdFixture etcd = EtcdFixture.start(1);
        EtcdClient client =
            EtcdClient.connect(EtcdAccess.plaintext(etcd.endpoints().toArray(String[]::new)))) {
      var admin = client.admin();
      var endpoint = admin.endpoints().getFirst();
      var maintenance =
          new EtcdMaintenance(
              admin, endpoint, ConsensusHarness.settings(), LogTree.create().log("test"));
      for (int i = 0; i < 12; i++) {
        client.kv().put("/big/" + i, new byte[MEBIBYTE]);
      }
      client.kv().delete(KeyRange.prefix("/big/"));
      admin.compact(admin.status(endpoint).revision());
      Await.until(
          "etcd to count the pages as free, which it does when it commits later writes",
          () -> {
            client.kv().put("/later", new byte[1]);
            return admin.status(endpoint).databaseBytesInUse() < MEBIBYTE;
          });
      long full = admin.status(endpoint).databaseBytes();
      assertTrue(full > 12L * MEBIBYTE, () -> "database has " + full);

      // The first check cannot know yet how much is written.
      assertEquals(full, maintenance.check(Duration.ZERO).status().databaseBytes());
      for (int i = 0; i < 20; i++) {
        client.kv().put("/busy", new byte[1]);
      }
      assertEquals(full, maintenance.check(Duration.ofSeconds(1)).status().databaseBytes());

      EtcdMaintenance.Findings quiet = maintenance.check(MINUTE);

      assertTrue(quiet.status().databaseBytes() < MEBIBYTE, quiet::toString);
      assertEquals(List.of(), quiet.alarms());
    }
  }
}
