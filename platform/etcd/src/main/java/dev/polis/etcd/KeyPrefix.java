package dev.polis.etcd;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Names a directory of keys, such as {@code /nodes/}, whose direct children are records named by an
 * id.
 *
 * @param text one or more non-empty parts, each preceded by a slash, and a slash at the end
 */
public record KeyPrefix(String text) {

  private static final Pattern GRAMMAR = Pattern.compile("(/[^/]+)+/");

  public KeyPrefix {
    if (!GRAMMAR.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "key prefix \""
              + text
              + "\" is refused: it must look like /a/ or /a/b/, with a slash at both ends and no"
              + " empty part");
    }
  }

  public static KeyPrefix of(String text) {
    return new KeyPrefix(text);
  }

  /** Returns the key of the record {@code id}; the id is neither empty nor contains a slash. */
  public String key(String id) {
    if (id.isEmpty() || id.indexOf('/') >= 0) {
      throw new IllegalArgumentException(
          "id \"" + id + "\" under " + text + " is refused: it is not empty and has no slash");
    }
    return text + id;
  }

  /** Returns all keys under this prefix, at each depth. */
  public KeyRange range() {
    // '0' follows '/', so this is the smallest text after every key of this directory.
    return KeyRange.between(text, text.substring(0, text.length() - 1) + '0');
  }

  /** Returns the id if {@code key} is a direct child of this prefix. */
  public Optional<String> extractId(String key) {
    if (!key.startsWith(text)) {
      return Optional.empty();
    }
    String id = key.substring(text.length());
    return id.isEmpty() || id.indexOf('/') >= 0 ? Optional.empty() : Optional.of(id);
  }

  @Override
  public String toString() {
    return text;
  }
}
