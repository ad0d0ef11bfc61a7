package dev.polis.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * Runs a program as another account of the machine, through util-linux' setpriv. It changes the
 * account and then becomes the program, so the process id stays what the start returned.
 */
public final class RunAs {

  /** id reads a file; a directory service in the network may need a second. */
  private static final Duration LOOKUP = Duration.ofSeconds(5);

  private RunAs() {}

  /**
   * Returns the command that runs another one as an account.
   *
   * @param account its name; empty for the user of this node
   * @param command with the program's absolute path
   * @return the same command if no account is named, or if this is not root, which alone can change
   *     the account
   * @throws ProcessException if there is no such account, or no setpriv
   * @throws InterruptedException if interrupted
   */
  public static List<String> command(String account, List<String> command)
      throws InterruptedException {
    if (account.isEmpty() || !isRoot()) {
      return List.copyOf(command);
    }
    List<String> change =
        List.of(
            setpriv(),
            "--reuid=" + account,
            "--regid=" + group(account),
            "--init-groups",
            "--no-new-privs");
    return Stream.concat(change.stream(), command.stream()).toList();
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  private static String setpriv() {
    Path program = Path.of(Commands.located(List.of("setpriv")).getFirst());
    if (!program.isAbsolute() || !Files.isExecutable(program)) {
      throw new ProcessException("there is no setpriv in PATH; install util-linux");
    }
    return program.toString();
  }

  private static String group(String account) throws InterruptedException {
    try {
      Commands.Result found = new Commands().run(LOOKUP, List.of("id", "--group", "--", account));
      if (!found.ok()) {
        throw new ProcessException(
            "this machine has no account \"%s\" to run a program as; make it with \"useradd --system %s\", or name another"
                .formatted(account, account));
      }
      return found.output();
    } catch (IOException e) {
      throw new ProcessException(
          "cannot look up the account " + account + ": " + e.getMessage(), e);
    }
  }
}
