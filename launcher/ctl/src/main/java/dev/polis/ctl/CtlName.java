package dev.polis.ctl;

/** Returns the name of this program, so that the commands it prints can be pasted. */
final class CtlName {
  /** What characters a shell takes as they are. */
  private static final String PLAIN = "[A-Za-z0-9@%+=:,./_-]+";

  private CtlName() {}

  /** Returns the words it was called with; {@code ./polis ctl} says so in the environment. */
  static String called() {
    return System.getenv().getOrDefault("POLIS_COMMAND", "polisctl");
  }

  /** Returns a word for a shell, in quotes if it needs them. */
  static String quoted(Object word) {
    String text = word.toString();
    return text.matches(PLAIN) ? text : "'" + text.replace("'", "'\\''") + "'";
  }
}
