package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.RecoveryStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.storage.RecoveryShare;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;

/** Looks whether the owner can open the volume after a power-off, and where the key lies. */
final class RecoveryCheck {

  private final Root root;
  private final RecoveryShareStore share;
  private final Path keyBeside;

  RecoveryCheck(Root root, RecoveryShareStore share) {
    this.root = root;
    this.share = share;
    // Where "polis up" puts the key that it makes at the first start.
    this.keyBeside = root.path().resolve("owner").resolve("recovery-key.pem");
  }

  /** Looks at the files now; the status of the volume says whether they matter. */
  RecoveryStatus of(DataStatus data) {
    return switch (data) {
      case DataStatus.NotMounted(String reason) -> new RecoveryStatus.Pending(reason);
      case DataStatus.Mounted mounted when mounted.security() == StorageSecurity.INSECURE ->
          new RecoveryStatus.NotNeeded();
      case DataStatus.Mounted _ -> ofEncrypted();
    };
  }

  private RecoveryStatus ofEncrypted() {
    try {
      if (root.esp().enrolmentJournal().exists()) {
        return new RecoveryStatus.Pending("the enrolment is not finished");
      }
    } catch (FileException e) {
      return new RecoveryStatus.Pending(e.getMessage());
    }
    return switch (share.read()) {
      case Stored.None<RecoveryShare> _ -> new RecoveryStatus.Missing();
      case Stored.Present<RecoveryShare>(var path, var present) -> ofShare(path, present);
      case Stored.Corrupted<RecoveryShare>(var path, String reason) ->
          new RecoveryStatus.Damaged(path + ": " + reason);
      case Stored.Unreadable<RecoveryShare>(var path, String reason, var _) ->
          new RecoveryStatus.Damaged(path + ": " + reason);
    };
  }

  private RecoveryStatus ofShare(Path path, RecoveryShare present) {
    byte[] publicKey = present.getRecoveryPublicKey().toByteArray();
    if (publicKey.length != RecoveryShareStore.KEY_LENGTH
        || present.getCiphertext().isEmpty()
        || present.getEncapsulatedKey().isEmpty()) {
      return new RecoveryStatus.Damaged(path + ": a part of it is missing");
    }
    return new RecoveryStatus.Ready(
        HexFormat.of().formatHex(publicKey),
        holdsKeyOf(publicKey) ? Optional.of(keyBeside) : Optional.empty());
  }

  /** Returns whether the private key lies in the state directory; a former one does no harm. */
  private boolean holdsKeyOf(byte[] publicKey) {
    if (!Files.exists(keyBeside)) {
      return false;
    }
    try {
      return Arrays.equals(publicKey, RecoveryKey.publicKey(Files.readString(keyBeside)));
    } catch (IOException | PkiException e) {
      return false; // what cannot be read as a key opens nothing
    }
  }
}
