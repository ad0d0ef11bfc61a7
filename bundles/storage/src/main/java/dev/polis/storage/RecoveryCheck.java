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
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Checks whether the owner can open the volume after a power-off, and where the recovery key is.
 */
final class RecoveryCheck {

  private final Root root;
  private final RecoveryShareStore share;
  private final Path keyBeside;

  /** The result of the last read, so that each check need not read the private key; null before. */
  private Seen seenOrNull;

  /**
   * Remembers a file and the public half of the key in it.
   *
   * @param modified the time of its last write
   * @param publicKey hexadecimal; empty if the file holds no key
   */
  private record Seen(FileTime modified, String publicKey) {}

  RecoveryCheck(Root root, RecoveryShareStore share) {
    this.root = root;
    this.share = share;
    this.keyBeside = root.owner().recoveryKey().path();
  }

  /** Checks the files now; the status of the volume decides whether they matter. */
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
        return new RecoveryStatus.Pending("the enrolment has not finished");
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
    String sealedTo = HexFormat.of().formatHex(publicKey);
    return keyBeside().filter(sealedTo::equals).isPresent()
        ? new RecoveryStatus.KeyBesideVolume(sealedTo, keyBeside)
        : new RecoveryStatus.Ready(sealedTo);
  }

  /** Returns the public half of the key in the state directory; a former key does no harm. */
  private synchronized Optional<String> keyBeside() {
    try {
      FileTime modified = Files.getLastModifiedTime(keyBeside);
      if (seenOrNull == null || !seenOrNull.modified().equals(modified)) {
        seenOrNull = new Seen(modified, publicKeyIn(Files.readString(keyBeside)));
      }
      return Optional.of(seenOrNull.publicKey());
    } catch (NoSuchFileException e) {
      seenOrNull = null;
      return Optional.empty();
    } catch (IOException e) {
      return Optional.empty(); // a key that is unreadable here has no known public half
    }
  }

  private static String publicKeyIn(String text) {
    try {
      return HexFormat.of().formatHex(RecoveryKey.publicKey(text));
    } catch (PkiException e) {
      return ""; // a file without a key opens nothing
    }
  }
}
