package dev.polis.supervision;

import java.util.regex.Pattern;

/** Checks the grammar of one part of a DN. */
final class Names {
  /** The whole name, not a part of it: one good character does not make a good name. */
  private static final Pattern GRAMMAR = Pattern.compile("[a-z0-9_-]{1,64}");

  private Names() {}

  static void check(String dn, String name) {
    if (!GRAMMAR.matcher(name).matches()) {
      throw new SupervisionException(
          "'%s' cannot be a name under %s: use 1 to 64 of a-z, 0-9, '_' and '-'"
              .formatted(name, dn));
    }
  }
}
