package dev.polis.supervision;

/**
 * Why something was cancelled.
 *
 * @param wanted whether somebody asked for it, so that nothing that follows from it is a failure
 * @param forGood whether it shall not start again
 * @param reason in words that complete "cancelled because …"
 */
record Cause(boolean wanted, boolean forGood, String reason) {

  static Cause stop(String dn) {
    return new Cause(true, true, dn + " is stopped");
  }

  static Cause restart(String dn, String reason) {
    return new Cause(true, false, "%s asked for a restart: %s".formatted(dn, reason));
  }

  static Cause death(String dn) {
    return new Cause(false, false, dn + " died");
  }
}
