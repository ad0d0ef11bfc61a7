package dev.polis.ctl;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * Runs a command line, and holds its exit code and output.
 *
 * @param code the exit code
 * @param out standard output
 * @param err standard error
 */
public record CtlRun(int code, String out, String err) {

  public static CtlRun of(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Ctl.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
    return new CtlRun(code, out.toString(), err.toString());
  }
}
