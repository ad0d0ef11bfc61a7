package dev.polis.ctl;

import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.ExitCode;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Prints a completion script for shells. */
@Command(
    name = "completion",
    description = {
      "Prints a completion script for the name polisctl, which may be an alias.",
      "both: alias polisctl='${ROOT-COMMAND-NAME}'",
      "bash: source <(${ROOT-COMMAND-NAME} completion bash)",
      "zsh:  autoload -U +X bashcompinit && bashcompinit && source <(${ROOT-COMMAND-NAME} completion zsh)"
    },
    mixinStandardHelpOptions = true)
final class CompletionCommand implements Callable<Integer> {

  /** Shells that understand the script; zsh does through its bashcompinit. */
  enum Shell {
    bash,
    zsh
  }

  @ParentCommand CtlRoot ctl;
  @Spec CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "SHELL",
      description = "bash or zsh (default: ${DEFAULT-VALUE})")
  Shell shell = Shell.bash;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    out.print(AutoComplete.bash("polisctl", Ctl.commandLine(out, out)));
    out.flush();
    return ExitCode.OK.code();
  }
}
