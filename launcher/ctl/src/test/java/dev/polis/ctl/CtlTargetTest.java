package dev.polis.ctl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.wire.common.ClusterDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CtlTargetTest {

  @TempDir Path state;

  private void directory(byte[] content) throws Exception {
    Files.createDirectories(state.resolve("esp"));
    Files.write(state.resolve("esp/cluster_directory.pb"), content);
  }

  @Test
  void givenAStateDirectoryThatNeverWasHome_thenItsNodeIsOnTheLoopback() {
    CtlTarget target = CtlTarget.ofState(state);
    assertEquals("127.0.0.1", target.endpoint());
    assertEquals(state.resolve("owner/owner-key.pem"), target.ownerKey());
    assertEquals(state.resolve("owner/owner.pem"), target.ownerCertificate());
  }

  @Test
  void givenAClusterDirectory_thenItsAddressIsAsked_unlessAnotherIsNamed() throws Exception {
    directory(
        ClusterDirectory.newBuilder()
            .addNodes(
                ClusterDirectory.Node.newBuilder()
                    .addAddresses(ClusterDirectory.Node.Address.newBuilder().setHost("127.0.9.9")))
            .build()
            .toByteArray());
    assertEquals("127.0.9.9", CtlTarget.ofState(state).endpoint());
    assertEquals("10.0.0.1", CtlTarget.ofState(state).at("10.0.0.1").endpoint());
  }

  @Test
  void aDamagedClusterDirectory_isRefusedAndNotGuessed() throws Exception {
    directory(new byte[] {(byte) 0xff, 1, 2});
    CtlException refused = assertThrows(CtlException.class, () -> CtlTarget.ofState(state));
    assertEquals(ExitCode.FAILED, refused.exitCode());
    assertTrue(refused.getMessage().contains("cluster_directory.pb"), refused.getMessage());
    assertTrue(refused.getMessage().contains("--endpoint"), refused.getMessage());
  }

  @Test
  void aMissingStateDirectory_isRefused() {
    CtlException refused =
        assertThrows(CtlException.class, () -> CtlTarget.ofState(state.resolve("nothing")));
    assertEquals(ExitCode.NOT_FOUND, refused.exitCode());
  }
}
