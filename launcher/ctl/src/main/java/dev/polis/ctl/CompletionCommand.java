package dev.polis.ctl;

import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.ExitCode;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Prints a completion script for shells. */
@Command(
    name = "completion",
    description = {
      "Prints a completion script for the name polisctl, which may be an alias.",
      "both: alias polisctl='${ROOT-COMMAND-NAME}'",
      "bash: source <(${ROOT-COMMAND-NAME} completion bash)",
      "zsh:  autoload -U +X bashcompinit && bashcompinit && source <(${ROOT-COMMAND-NAME} completion zsh)"
    })
final class CompletionCommand extends CtlCommand {

  /** Shells that understand the script; zsh does through its bashcompinit. */
  enum Shell {
    bash,
    zsh
  }

  @Parameters(
      arity = "0..1",
      paramLabel = "SHELL",
      description = "bash or zsh (default: ${DEFAULT-VALUE})")
  Shell shell = Shell.bash;

  @Override
  protected ExitCode run() {
    out().print(AutoComplete.bash("polisctl", Ctl.commandLine(out(), out())));
    out().flush();
    return ExitCode.OK;
  }
}
