package dev.polis.cluster.it;

/**
 * A command that has ended.
 *
 * @param code its exit code
 * @param out what it said on standard output
 * @param err what it said on standard error
 */
record Finished(int code, String out, String err) {

  /** Returns the last line it said anywhere, where a refusal stands. */
  String lastLine() {
    String text = (out + "\n" + err).strip();
    return text.substring(text.lastIndexOf('\n') + 1);
  }

  String all() {
    return "exit code %d%nstdout:%n%s%nstderr:%n%s".formatted(code, out, err);
  }
}
