package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.posix.Mounts.Mount;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LockOutTest {
  @TempDir Path state;
  private NodeDirectory directory;
  private List<Mount> mounts;

  @BeforeEach
  void mountsAreThoseOfAnEncryptedVolume() throws Exception {
    Files.createDirectory(state.resolve("esp"));
    directory = NodeDirectory.of(state);
    mounts = List.of(new Mount(state.resolve("data"), "fuse.gocryptfs", "any"));
  }

  @Test
  void aMountedVolumeWithoutARecoveryShareLocksTheOwnerOut() throws Exception {
    String reason = LockOut.of(directory, mounts).orElseThrow();
    assertTrue(reason.contains("no recovery key opens"), reason);
    assertTrue(reason.contains("--state " + state + " recovery-key enroll"), reason);
    Files.createFile(directory.layout().esp().recoveryShare().path());
    assertTrue(LockOut.of(directory, mounts).isPresent(), "an empty share opens nothing");
  }

  @Test
  void aRecoveryShareOrAJournalOpensTheVolumeAgain() throws Exception {
    Files.writeString(directory.layout().esp().recoveryShare().path(), "a share");
    assertEquals(Optional.empty(), LockOut.of(directory, mounts));
    Files.delete(directory.layout().esp().recoveryShare().path());
    Files.writeString(directory.layout().esp().enrolmentJournal().path(), "a journal");
    assertEquals(Optional.empty(), LockOut.of(directory, mounts));
  }

  @Test
  void whatIsNotMountedIsNotLost() throws Exception {
    assertEquals(Optional.empty(), LockOut.of(directory, List.of()));
    assertEquals(
        Optional.empty(),
        LockOut.of(directory, List.of(new Mount(state.resolve("ephemeral/x"), "fuse", "any"))));
  }
}
