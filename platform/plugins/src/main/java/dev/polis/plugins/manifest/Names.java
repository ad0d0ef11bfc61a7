package dev.polis.plugins.manifest;

import java.util.regex.Pattern;

/** Checks the names in a manifest, so that they are safe in messages, comparisons and paths. */
enum Names {
  /** The symbolic name of a bundle. */
  BUNDLE(
      "symbolic name",
      "[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*",
      // Fits into a file name together with a version.
      200,
      "letters, digits, '_' and '-' between dots"),
  /** The name of an organ. */
  ORGAN(
      "organ name",
      "[a-z][a-z0-9]*([.-][a-z0-9]+)*",
      63,
      "lower-case letters, digits, '.' and '-', beginning with a letter, as in metrics"),
  /** The name of a role, as in the cluster's records. */
  ROLE(
      "role name",
      "[A-Z][A-Za-z0-9]*",
      63,
      "letters and digits, beginning with a capital, as in NightlyBackup"),
  /** The name of a package. */
  PACKAGE("package name", "[A-Za-z_$][\\w$]*(\\.[A-Za-z_$][\\w$]*)*", 255, "as Java writes them"),
  /** The name of a trusted key. */
  KEY(
      "name of a key",
      "[a-z0-9]+([._-][a-z0-9]+)*",
      63,
      "lower-case letters, digits, '.', '_' and '-', as in release-2026");

  /**
   * The length at which an error message cuts a name, so that a hostile one does not flood the log.
   */
  private static final int SHOWN = 80;

  private final String what;
  private final Pattern form;
  private final int longest;
  private final String grammar;

  Names(String what, String form, int longest, String grammar) {
    this.what = what;
    this.form = Pattern.compile(form);
    this.longest = longest;
    this.grammar = grammar;
  }

  /**
   * Returns the name if it is well-formed.
   *
   * @throws IllegalArgumentException with the name and the grammar if it is not
   */
  String require(String name) {
    // The length comes first: the pattern needs a deep stack for a very long name.
    if (name.isEmpty() || name.length() > longest || !form.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is no %s: use 1 to %d characters, %s"
              .formatted(shown(name), what, longest, grammar));
    }
    return name;
  }

  /** Returns a printable form of a foreign text: short, without control characters. */
  static String shown(String text) {
    String cut = text.length() > SHOWN ? text.substring(0, SHOWN) + "…" : text;
    return cut.replaceAll("\\p{Cntrl}", "?");
  }
}
