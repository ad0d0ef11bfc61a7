package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.cluster.ClusterState;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterHealthTest {

  @TempDir private Path state;

  private static NodeCredentials node() {
    CertificateAuthority cluster = CertificateAuthority.create("a cluster");
    KeyPair pair = Ed25519.generate();
    return new NodeCredentials(
        pair.getPrivate(), cluster.issueNode(pair.getPublic()), cluster.certificate());
  }

  private static void write(FilePlacement file, String text) throws Exception {
    file.write(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  @DisplayName("a node that waits for its approval says what to do")
  void waitsForApproval() {
    HealthCondition told =
        ClusterHealth.of(
                ClusterSnapshot.outside(
                    ClusterState.FOREIGN, "approve it at a member: polisctl node approve X"))
            .orElseThrow();
    assertEquals("waits-for-approval", told.code());
    assertEquals(HealthLevel.WAITING, told.level());
    assertTrue(told.remedy().contains("polisctl node approve X"), told.remedy());
  }

  @Test
  @DisplayName("a member without contact to consensus is shown as SPLIT")
  void split() {
    HealthCondition told =
        ClusterHealth.of(ClusterSnapshot.outside(ClusterState.SPLIT, "no leader known"))
            .orElseThrow();
    assertEquals("no-contact-to-consensus", told.code());
    assertTrue(told.reason().startsWith("the node is SPLIT: "), told.reason());
  }

  @Test
  @DisplayName(
      "credentials that were changed under a running node are reported before its next start")
  void changedCredentials() throws Exception {
    Root.Credentials files = Root.at(state).data().node().credentials();
    NodeCredentials own = node();
    write(files.key(), Pem.encode(own.privateKey()));
    write(files.certificate(), Pem.encode(own.certificate()));
    write(files.clusterCa(), own.ca().pem());
    assertEquals(Optional.empty(), ClusterHealth.credentials(files, own));

    write(files.certificate(), Pem.encode(node().certificate()));

    HealthCondition told = ClusterHealth.credentials(files, own).orElseThrow();
    assertTrue(told.reason().contains(files.path().toString()), told.reason());
    assertTrue(told.remedy().startsWith("restore that folder"), told.remedy());
    files.certificate().delete();
    assertTrue(ClusterHealth.credentials(files, own).isPresent());
  }
}
