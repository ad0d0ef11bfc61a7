package dev.polis.ctl.owner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.ctl.CtlRun;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.storage.RecoveryShare;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the commands that need no node: they move and check a key beside a state directory. */
class RecoveryKeyCommandTest {

  @TempDir Path folder;
  private final String key = RecoveryKey.generate();
  private Path state;
  private Path original;

  @BeforeEach
  void aStateDirectoryWithAKeyAndAShare() throws Exception {
    state = folder.resolve("state");
    original = Files.createDirectories(state.resolve("owner")).resolve("recovery-key.pem");
    Files.writeString(original, key);
    Files.createDirectories(state.resolve("esp"));
    writeShare(key);
  }

  private void writeShare(String pem) throws Exception {
    RecoveryKey.Sealed sealed = RecoveryKey.seal(RecoveryKey.publicKey(pem), new byte[32]);
    Files.write(
        state.resolve("esp/recovery_share.pb"),
        RecoveryShare.newBuilder()
            .setRecoveryPublicKey(ByteString.copyFrom(RecoveryKey.publicKey(pem)))
            .setEncapsulatedKey(ByteString.copyFrom(sealed.encapsulatedKey()))
            .setCiphertext(ByteString.copyFrom(sealed.ciphertext()))
            .build()
            .toByteArray());
  }

  private CtlRun run(String command, Path file) {
    return CtlRun.of("--state=" + state, "recovery-key", command, file.toString());
  }

  @Test
  void move_copiesForTheOwnerAloneAndErasesTheOriginal() throws Exception {
    Path safe = folder.resolve("safe/key.pem");
    CtlRun run = run("move", safe);
    assertEquals(0, run.code(), run.err());
    assertEquals(key, Files.readString(safe));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(safe)));
    assertFalse(Files.exists(original), "the key is still beside the volume");
    assertTrue(run.out().contains("--recovery-key " + safe), run.out());
    assertTrue(run.err().contains("on the same file system"), run.err());
  }

  @Test
  void move_toAFolderKeepsTheName() throws Exception {
    Path safe = Files.createDirectory(folder.resolve("safe"));
    assertEquals(0, run("move", safe).code());
    assertEquals(key, Files.readString(safe.resolve("recovery-key.pem")));
  }

  @Test
  void move_goesOnAfterAnInterruption() throws Exception {
    Path safe = Files.writeString(folder.resolve("key.pem"), key);
    assertEquals(0, run("move", safe).code(), "the copy was complete");
    assertFalse(Files.exists(original));
    Files.write(original, new byte[key.length()]);
    assertEquals(0, run("move", safe).code(), "the original was overwritten and not yet removed");
    assertFalse(Files.exists(original));
    assertEquals(0, run("move", safe).code(), "all was done");
    assertEquals(key, Files.readString(safe));
  }

  @Test
  void move_refusesAFileThatHoldsSomethingElseAndAPlaceBesideTheVolume() throws Exception {
    Path other = Files.writeString(folder.resolve("other.pem"), "something else");
    CtlRun taken = run("move", other);
    assertEquals(1, taken.code());
    assertTrue(taken.err().contains("has other content"), taken.err());
    assertEquals("something else", Files.readString(other));
    CtlRun beside = run("move", state.resolve("key.pem"));
    assertEquals(2, beside.code());
    assertTrue(beside.err().contains("beside the volume"), beside.err());
    assertEquals(key, Files.readString(original), "the original was touched");
  }

  @Test
  void check_tellsTheRightKeyFromAnotherWithoutANode() throws Exception {
    CtlRun right = run("check", original);
    assertEquals(0, right.code(), right.err());
    assertTrue(right.out().contains("opens the data volume"), right.out());
    Path other = Files.writeString(folder.resolve("other.pem"), RecoveryKey.generate());
    CtlRun wrong = run("check", other);
    assertEquals(5, wrong.code());
    assertTrue(wrong.err().contains("does not open the recovery share"), wrong.err());
    Path none = Files.writeString(folder.resolve("none.pem"), "no key");
    assertEquals(1, run("check", none).code());
  }

  @Test
  void check_findsADamagedShareAndAMissingOne() throws Exception {
    Path file = state.resolve("esp/recovery_share.pb");
    RecoveryShare share = RecoveryShare.parseFrom(Files.readAllBytes(file));
    byte[] changed = share.getCiphertext().toByteArray();
    changed[3] ^= 1;
    Files.write(
        file, share.toBuilder().setCiphertext(ByteString.copyFrom(changed)).build().toByteArray());
    CtlRun damaged = run("check", original);
    assertEquals(5, damaged.code());
    assertTrue(damaged.err().contains("the share is damaged"), damaged.err());
    Files.delete(file);
    CtlRun missing = run("check", original);
    assertEquals(4, missing.code());
    assertTrue(missing.err().contains("recovery-key enroll"), missing.err());
  }
}
