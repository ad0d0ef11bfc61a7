package dev.polis.plugins.manifest;

/** Names who vouches for a plugin. */
public sealed interface Signer {

  /**
   * A key that the cluster trusts.
   *
   * @param key it
   */
  record ClusterKey(TrustedKey key) implements Signer {
    @Override
    public String toString() {
      return "key " + key;
    }
  }

  /** The distribution that the platform came with. */
  record Distribution() implements Signer {
    @Override
    public String toString() {
      return "the distribution";
    }
  }
}
