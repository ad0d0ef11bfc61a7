package dev.polis.plugins.store;

import java.util.Objects;

/**
 * Identifies a bundle in the store.
 *
 * @param symbolicName its symbolic name, without white space
 * @param version its version as in its manifest, without white space
 * @param digest the digest of its file
 */
public record StoredPlugin(String symbolicName, String version, Digest digest) {

  /**
   * @throws IllegalArgumentException if a name is empty or contains white space
   */
  public StoredPlugin {
    requireWord("symbolic name", symbolicName);
    requireWord("version", version);
    Objects.requireNonNull(digest, "digest");
  }

  private static void requireWord(String what, String value) {
    Objects.requireNonNull(value, what);
    if (value.isEmpty() || value.chars().anyMatch(Character::isWhitespace)) {
      throw new IllegalArgumentException(
          "the " + what + " of a plugin is one word, this is \"" + value + "\"");
    }
  }
}
