package dev.polis.plugins.manifest;

/** Names the guarantor of a plugin. */
public sealed interface Signer {

  /**
   * Is a key that the cluster trusts.
   *
   * @param key the key
   */
  record ClusterKey(TrustedKey key) implements Signer {
    @Override
    public String toString() {
      return "key " + key;
    }
  }

  /** Is the platform's distribution. */
  record Distribution() implements Signer {
    @Override
    public String toString() {
      return "the distribution";
    }
  }
}
