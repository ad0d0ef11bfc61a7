package dev.polis.plugins.manifest;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Holds the keys whose signatures a cluster trusts.
 *
 * @param keys the keys, all with different names and values
 */
public record TrustRoots(List<TrustedKey> keys) {
  /** Trusts no key, and so accepts only the distribution's plugins. */
  public static final TrustRoots NONE = new TrustRoots(List.of());

  /**
   * @throws IllegalArgumentException if two keys have the same name or value
   */
  public TrustRoots {
    keys = List.copyOf(keys);
    Set<Object> seen = new HashSet<>();
    for (TrustedKey key : keys) {
      if (!seen.add(key.name()) || !seen.add(key.id())) {
        throw new IllegalArgumentException("the trusted key " + key + " is there twice");
      }
    }
  }

  /** Finds a key by its identifier. */
  public Optional<TrustedKey> find(KeyId id) {
    return keys.stream().filter(key -> key.id().equals(id)).findFirst();
  }

  @Override
  public String toString() {
    return keys.isEmpty()
        ? "no key"
        : keys.stream().map(TrustedKey::toString).collect(Collectors.joining(", "));
  }
}
