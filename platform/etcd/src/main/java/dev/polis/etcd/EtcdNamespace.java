package dev.polis.etcd;

import java.util.ArrayList;
import java.util.List;

/**
 * Names the part of the key space that a client sees. The root has no prefix; {@code
 * ROOT.sub("a").sub("b")} puts every key under {@code namespaced:a:b/}. A part may contain neither
 * {@code ':'}, which joins parts, nor {@code '/'}, which ends them: so two namespaces overlap only
 * if one contains the other by name.
 *
 * @param parts the parts from outermost to innermost
 */
public record EtcdNamespace(List<String> parts) {

  /** The whole key space, without a prefix. */
  public static final EtcdNamespace ROOT = new EtcdNamespace(List.of());

  private static final String MARK = "namespaced:";

  public EtcdNamespace {
    parts = List.copyOf(parts);
    parts.forEach(EtcdNamespace::check);
  }

  /** Returns the namespace of the given parts. */
  public static EtcdNamespace of(String... parts) {
    return new EtcdNamespace(List.of(parts));
  }

  /** Returns the namespace {@code part} within this one. */
  public EtcdNamespace sub(String part) {
    List<String> longer = new ArrayList<>(parts);
    longer.add(part);
    return new EtcdNamespace(longer);
  }

  /** Returns whether this is the whole key space. */
  public boolean isRoot() {
    return parts.isEmpty();
  }

  /** Returns the prefix of each key, {@code ""} for the root, else {@code namespaced:a:b/}. */
  public String prefix() {
    return isRoot() ? "" : MARK + String.join(":", parts) + "/";
  }

  @Override
  public String toString() {
    return isRoot() ? "(root)" : prefix();
  }

  private static void check(String part) {
    if (part.isEmpty() || part.indexOf(':') >= 0 || part.indexOf('/') >= 0) {
      throw new IllegalArgumentException(
          "namespace part \""
              + part
              + "\" is refused: a part is not empty and holds neither ':' nor '/'");
    }
  }
}
