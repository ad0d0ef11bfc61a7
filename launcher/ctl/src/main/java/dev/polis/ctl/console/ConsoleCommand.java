package dev.polis.ctl.console;

import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import java.io.IOError;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Optional;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Shows one node on the whole screen. */
@Command(
    name = "console",
    description = {
      "Shows a node on the whole screen: why it does not come HOME, what it waits for, its organs and roles, and its log."
          + " The page follows the node, also while it does not run.",
      "It asks the node's debug service, without credentials, so use it on the machine of the node."
    })
public final class ConsoleCommand extends CtlCommand {

  @Option(names = "--stay", description = "no key ends the page, as on the screen of a machine")
  boolean stay;

  @Option(
      names = "--recovery-key-to",
      paramLabel = "FILE",
      description =
          "offer to type the owner's recovery key, and write it to FILE for the next start of the node")
  Path recoveryKey;

  @Override
  protected ExitCode run() throws InterruptedException {
    options().target(); // refuses a wrong --state before the screen is cleared
    try (Terminal terminal = opened()) {
      new ConsoleScreen(
              terminal,
              new ConsoleDebug(options()),
              Clock.systemUTC(),
              Optional.ofNullable(recoveryKey),
              stay)
          .run();
    } catch (IOException | IOError gone) {
      // A terminal that is gone cannot be closed in order; the page has ended.
      return ExitCode.OK;
    }
    return ExitCode.OK;
  }

  private Terminal opened() throws IOException {
    Terminal terminal;
    try {
      terminal = terminal();
    } catch (IOException | IOError | IllegalStateException e) {
      throw noTerminal(e);
    }
    if (terminal.getType().startsWith(Terminal.TYPE_DUMB)) {
      terminal.close();
      throw noTerminal(null);
    }
    return terminal;
  }

  /**
   * Opens the terminal of this process by its programs, so that no native library is needed.
   *
   * @throws IllegalStateException if this process has none
   */
  private static Terminal terminal() throws IOException {
    return TerminalBuilder.builder()
        .system(true)
        .provider(TerminalBuilder.PROP_PROVIDER_EXEC)
        .encoding(StandardCharsets.UTF_8)
        .dumb(false)
        .build();
  }

  private CtlException noTerminal(Throwable causeOrNull) {
    return new CtlException(
        ExitCode.USAGE,
        "the console needs a terminal for its input and output; '%s' prints the same as lines"
            .formatted(options().command("health")),
        causeOrNull);
  }
}
