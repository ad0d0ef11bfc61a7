package dev.polis.storage;

import dev.polis.api.storage.Sealer;
import java.nio.file.Path;

/** Seals nothing: only the file mode protects the content. */
final class SealerNone implements Sealer {

  @Override
  public String name() {
    return NONE;
  }

  @Override
  public byte[] seal(byte[] plain) {
    return plain.clone();
  }

  @Override
  public byte[] unseal(byte[] sealed) {
    return sealed.clone();
  }

  @Override
  public void alsoFor(Path booted, Path next) {
    // Each boot of each machine unseals it.
  }
}
