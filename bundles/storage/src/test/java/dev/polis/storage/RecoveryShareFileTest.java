package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.logtree.Secret;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.storage.RecoveryShare;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import org.bouncycastle.crypto.params.X25519PrivateKeyParameters;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("D-04 the owner's recovery key opens a volume without a curator")
class RecoveryShareFileTest {

  @TempDir Path directory;
  private final X25519PrivateKeyParameters owner =
      new X25519PrivateKeyParameters(new SecureRandom());
  private final Secret half = Secret.of("0123456789abcdef0123456789ABCDEF");
  private FilePlacement file;
  private RecoveryShareFile share;

  @BeforeEach
  void open() {
    file = Root.at(directory).esp().recoveryShare();
    share = new RecoveryShareFile(file);
  }

  private Enum<?> refused(Secret key) {
    FileException refusal = assertThrows(FileException.class, () -> share.open(key));
    return refusal instanceof StorageException storage ? storage.refusal() : refusal.problem();
  }

  @Test
  @Tag("attack")
  @DisplayName("only the owner's key opens a sealed share, whose bytes reveal nothing")
  void whatWasSealedIsOpenedByTheOwnerAlone() throws Exception {
    assertFalse(share.exists());
    assertEquals(Problem.ABSENT, refused(Secret.of(owner.getEncoded())));
    share.seal(half, owner.generatePublicKey().getEncoded());
    assertTrue(share.exists());
    assertFalse(Shell.contains(file.path(), "0123456789abcdef"), "the half lies in the open");
    assertEquals(half, share.open(Secret.of(owner.getEncoded())));
    assertEquals(
        Refusal.WRONG_KEY,
        refused(Secret.of(new X25519PrivateKeyParameters(new SecureRandom()).getEncoded())));
    assertEquals(Refusal.BAD_KEY, refused(Secret.of(new byte[31])));
  }

  @Test
  @DisplayName("a share that another key opens may be another node's, which is named")
  void ofAnotherNode() throws Exception {
    share.seal(half, owner.generatePublicKey().getEncoded());
    Secret key = Secret.of(new X25519PrivateKeyParameters(new SecureRandom()).getEncoded());
    String unknown = assertThrows(FileException.class, () -> share.open(key)).getMessage();
    assertTrue(
        unknown.contains("from another node, bring back the esp/ of this node, to which"), unknown);

    ClusterDirectory.Node.Builder node =
        ClusterDirectory.Node.newBuilder()
            .setId("metropolis-y")
            .addAddresses(ClusterDirectory.Node.Address.newBuilder().setHost("192.0.2.9"));
    Files.write(
        file.path().resolveSibling("cluster_directory.pb"),
        ClusterDirectory.newBuilder().addNodes(node).build().toByteArray());
    String named = assertThrows(FileException.class, () -> share.open(key)).getMessage();
    assertTrue(named.contains("begins with node metropolis-y at 192.0.2.9), bring"), named);
  }

  @Test
  void aChangedShareIsCorrupted() throws Exception {
    share.seal(half, owner.generatePublicKey().getEncoded());
    RecoveryShare whole = file.read(RecoveryShare.parser()).orThrow();
    byte[] changed = whole.getCiphertext().toByteArray();
    changed[3] ^= 1;
    file.write(
        whole.toBuilder().setCiphertext(com.google.protobuf.ByteString.copyFrom(changed)).build());
    assertEquals(Problem.CORRUPTED, refused(Secret.of(owner.getEncoded())));
    file.write(whole.toBuilder().clearEncapsulatedKey().build());
    assertEquals(Problem.CORRUPTED, refused(Secret.of(owner.getEncoded())));
  }

  @Test
  void aHalfOrKeyOfAWrongLengthIsNotSealed() {
    assertThrows(
        FileException.class,
        () -> share.seal(Secret.of(new byte[16]), owner.generatePublicKey().getEncoded()));
    assertThrows(FileException.class, () -> share.seal(half, new byte[33]));
    assertThrows(
        FileException.class,
        () -> share.seal(half, new byte[32]),
        "the point zero makes a shared secret of zeros");
  }
}
