package dev.polis.ctl.session;

import com.google.gson.JsonObject;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Holds what each command has: the options of the command line, its output and its exit code. */
public abstract class CtlCommand implements Callable<Integer> {

  @Spec protected CommandSpec spec;

  @Override
  public final Integer call() throws InterruptedException {
    return run().code();
  }

  /**
   * Runs the command.
   *
   * @throws CtlException if the command fails
   */
  protected abstract ExitCode run() throws InterruptedException;

  /** Returns the options that every command has. */
  protected final CtlOptions options() {
    return ((CtlRoot) spec.root().userObject()).options;
  }

  protected final PrintWriter out() {
    return spec.commandLine().getOut();
  }

  /** Prints a remark to standard error, beside the output of the command. */
  protected final void remark(String text) {
    spec.commandLine().getErr().println("polisctl: " + text);
  }

  /** Prints a document in the format that the operator chose. */
  protected final ExitCode print(Document document) {
    options().output.print(document, out());
    return ExitCode.OK;
  }

  /** Prints a sentence for people, or a document for programs. */
  protected final ExitCode print(String sentence, JsonObject result) {
    if (!options().output.isForPeople()) {
      return print(Document.single(result));
    }
    out().println(sentence);
    return ExitCode.OK;
  }

  /** Refuses an argument of the command. */
  protected final ParameterException misused(String why) {
    return new ParameterException(spec.commandLine(), why);
  }
}
