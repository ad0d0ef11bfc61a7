package dev.polis.storage;

import com.google.protobuf.ByteString;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.storage.RecoveryShare;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Keeps bytes in a file that the owner's recovery key alone opens; always replaces the whole file.
 */
final class RecoverySealedFile {

  private final FilePlacement file;
  private final RecoveryKey.Use use;

  RecoverySealedFile(FilePlacement file, RecoveryKey.Use use) {
    this.file = file;
    this.use = use;
  }

  boolean exists() throws FileException {
    return file.exists();
  }

  Stored<RecoveryShare> read() {
    return file.read(RecoveryShare.parser());
  }

  /** Seals bytes over the former ones, and erases the array. */
  void seal(byte[] plain, byte[] recoveryPublicKey) throws FileException {
    try {
      requireLength("recovery public key", recoveryPublicKey.length);
      RecoveryKey.Sealed sealed = RecoveryKey.seal(use, recoveryPublicKey, plain);
      // What stays on the disk would still open the volume with a former recovery key.
      file.replaceErasing(
          RecoveryShare.newBuilder()
              .setCiphertext(ByteString.copyFrom(sealed.ciphertext()))
              .setEncapsulatedKey(ByteString.copyFrom(sealed.encapsulatedKey()))
              .setRecoveryPublicKey(ByteString.copyFrom(recoveryPublicKey))
              .build()
              .toByteArray());
    } catch (PkiException e) {
      throw new StorageException(
          Refusal.BAD_KEY,
          "the recovery public key "
              + HexFormat.of().formatHex(recoveryPublicKey)
              + " cannot be used",
          "give the X25519 public key made by the owner; nothing was changed",
          e);
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  /** Opens the file; ABSENT, CORRUPTED, BAD_KEY, or WRONG_KEY if it was sealed to another key. */
  byte[] open(Secret recoveryPrivateKey) throws FileException {
    requireLength("recovery private key", recoveryPrivateKey.length());
    RecoveryShare share = read().orThrow();
    byte[] raw = recoveryPrivateKey.reveal();
    try {
      requireSealedTo(RecoveryKey.publicKey(raw), share.getRecoveryPublicKey().toByteArray());
      return RecoveryKey.open(
          use,
          raw,
          new RecoveryKey.Sealed(
              share.getEncapsulatedKey().toByteArray(), share.getCiphertext().toByteArray()));
    } catch (PkiException e) {
      throw new FileException(
          Problem.CORRUPTED,
          file + " is corrupted: it is sealed to this recovery key, but the key does not open it",
          "restore it from a copy; nothing was changed",
          e);
    } finally {
      Arrays.fill(raw, (byte) 0);
    }
  }

  private void requireSealedTo(byte[] given, byte[] wanted) throws FileException {
    if (!Arrays.equals(given, wanted)) {
      throw new StorageException(
          Refusal.WRONG_KEY,
          "%s is sealed to the recovery key %s, but the given key is %s"
              .formatted(file, HexFormat.of().formatHex(wanted), HexFormat.of().formatHex(given)),
          "if the file was copied or restored from another node%s, bring back the esp/ of this node, to which the volume and the given key belong; else give the private key of the key in the file; nothing was changed"
              .formatted(named()));
    }
  }

  /** Names the node that the folder of the file is of, as a clause; empty if that is not known. */
  private String named() {
    try {
      Path beside = file.path().resolveSibling("cluster_directory.pb");
      ClusterDirectory.Node node =
          ClusterDirectory.parseFrom(Files.readAllBytes(beside)).getNodes(0);
      return " (the cluster directory beside it begins with node %s at %s)"
          .formatted(node.getId(), node.getAddresses(0).getHost());
    } catch (IOException | IndexOutOfBoundsException unknown) {
      return "";
    }
  }

  private static void requireLength(String name, int length) throws FileException {
    if (length != RecoveryShareStore.KEY_LENGTH) {
      throw new StorageException(
          Refusal.BAD_KEY,
          "the %s has %d bytes; it must have %d"
              .formatted(name, length, RecoveryShareStore.KEY_LENGTH),
          "give a raw X25519 key; nothing was changed");
    }
  }

  @Override
  public String toString() {
    return file.toString();
  }
}
