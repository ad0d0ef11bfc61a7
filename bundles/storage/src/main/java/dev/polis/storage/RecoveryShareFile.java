package dev.polis.storage;

import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.storage.RecoveryShare;

/** Keeps the recovery share in a {@link RecoverySealedFile}. */
final class RecoveryShareFile implements RecoveryShareStore {

  private final RecoverySealedFile file;

  RecoveryShareFile(FilePlacement file) {
    this.file = new RecoverySealedFile(file, RecoveryKey.Use.SHARE);
  }

  @Override
  public boolean exists() throws FileException {
    return file.exists();
  }

  @Override
  public Stored<RecoveryShare> read() {
    return file.read();
  }

  @Override
  public void seal(Secret clusterUnlockKey, byte[] recoveryPublicKey) throws FileException {
    UnlockKeys.validate("cluster unlock key", clusterUnlockKey);
    file.seal(clusterUnlockKey.reveal(), recoveryPublicKey);
  }

  @Override
  public Secret open(Secret recoveryPrivateKey) throws FileException {
    Secret opened = Secret.take(file.open(recoveryPrivateKey));
    UnlockKeys.validate("cluster unlock key in " + file, opened);
    return opened;
  }
}
