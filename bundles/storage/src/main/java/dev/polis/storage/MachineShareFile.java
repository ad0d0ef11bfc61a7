package dev.polis.storage;

import dev.polis.api.storage.MachineShareStore;
import dev.polis.api.storage.Sealer;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;

/** Keeps the machine share in a {@link SealedFile}. */
final class MachineShareFile implements MachineShareStore {

  private final FilePlacement placement;
  private final SealedFile file;

  MachineShareFile(FilePlacement placement, Sealer sealer) {
    this.placement = placement;
    this.file = new SealedFile("machine-share", placement, sealer);
  }

  @Override
  public boolean possible() {
    return file.binds();
  }

  @Override
  public boolean exists() throws FileException {
    return placement.exists();
  }

  @Override
  public Stored<Secret> read() {
    return file.read(Secret::of);
  }

  @Override
  public void write(Secret clusterUnlockKey) throws FileException {
    if (!possible()) {
      throw new IllegalStateException("no sealer binds the machine share to this machine");
    }
    file.write(clusterUnlockKey.reveal(), true);
  }

  /** Seals it again, if it is there. */
  void reseal() throws FileException {
    if (possible() && read() instanceof Stored.Present<Secret>(var _, Secret share)) {
      write(share);
    }
  }

  @Override
  public void erase() throws FileException {
    placement.erase();
  }
}
