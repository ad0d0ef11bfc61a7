package dev.polis.supervision;

import java.util.Set;
import java.util.regex.Pattern;

/** Checks the grammar of one part of a DN. */
final class Names {
  /** The pattern of a whole name: one good character does not make a good name. */
  private static final Pattern GRAMMAR = Pattern.compile("[a-z0-9_-]{1,64}");

  /** The sign between a name and its instance number; given names cannot contain it. */
  private static final String INSTANCE = "~";

  private Names() {}

  static void check(String dn, String name) {
    if (!GRAMMAR.matcher(name).matches()) {
      throw new SupervisionException(
          "'%s' cannot be a name under %s: use 1 to 64 of a-z, 0-9, '_' and '-'"
              .formatted(name, dn));
    }
  }

  /** Returns the name itself, or the first free numbered name if it is taken. */
  static String firstFree(String name, Set<String> taken) {
    String free = name;
    for (int number = 2; taken.contains(free); number++) {
      free = name + INSTANCE + number;
    }
    return free;
  }
}
