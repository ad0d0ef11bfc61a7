package dev.polis.storage;

import dev.polis.api.storage.Sealer;

/** Binds to nothing: the content lies in the open, protected by its file mode alone. */
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
}
